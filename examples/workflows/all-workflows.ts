/** Every process of an application registers the same classes, whether it starts workflows or works on them. */
import { Invoice } from './invoice.ts'
import { Order } from './order.ts'
import { Payment } from './payment.ts'
import { Signup } from './signup.ts'

export const allWorkflows = [Signup, Payment, Order, Invoice]
