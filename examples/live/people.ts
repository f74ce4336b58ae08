/** The records that the live workflows are about. */
import { defineHero } from '../../src/index.ts'

export interface Person {
  readonly id: string
  readonly email: string
}

const names = ['ann', 'ben', 'cleo', 'dora', 'emil', 'finn', 'gwen', 'hugo', 'iris', 'jan']

/** Somebody, the same for the same number. */
export function personAt(index: number): string {
  return names[index % names.length] ?? 'ann'
}

export const People = defineHero('Person', {
  id: (person: Person) => person.id,
  load: id => ({ id: String(id), email: `${id}@example.com` }),
})
