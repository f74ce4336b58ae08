/** The records that the example workflows are about. A real application would load them from its own tables. */
import { defineHero } from '../../src/index.ts'

export interface Customer {
  readonly id: string
  readonly email: string
  readonly country: string
  readonly hasLoggedIn: boolean
}

export const customers: readonly Customer[] = [
  { id: 'ann', email: 'ann@example.com', country: 'NL', hasLoggedIn: false },
  { id: 'ben', email: 'ben@example.com', country: 'FR', hasLoggedIn: true },
]

/** What is stored with a workflow is `Customer` and the id; the record is loaded anew for each step. */
export const Customers = defineHero('Customer', {
  id: (customer: Customer) => customer.id,
  load: id => customers.find(customer => customer.id === id),
})
