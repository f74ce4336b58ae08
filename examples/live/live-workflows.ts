/** Every class of the live demo. */
import { BulkImport } from './bulk-import.ts'
import { Cleanup } from './cleanup.ts'
import { Expense } from './expense.ts'
import { Newsletter } from './newsletter.ts'
import { OrderSaga } from './order-saga.ts'
import { Payout } from './payout.ts'
import { Welcome } from './welcome.ts'

export const liveWorkflows = [Welcome, OrderSaga, Newsletter, BulkImport, Expense, Payout, Cleanup]
