/** What the compiler knows of schedules; each marked line must fail to compile. */
import { defineSchedule } from '../../src/index.ts'
import { InvoiceWorkflow, Nightly, Orders, OrderWorkflow } from './api.ts'

export const good = [
  defineSchedule('a', { cron: '0 9 * * 1-5', timeZone: 'Europe/Amsterdam', workflow: Nightly }),
  defineSchedule('b', { every: '10 min', workflow: Nightly, catchUp: 'all', overlap: 'skip' }),
  defineSchedule('c', {
    cron: '@daily',
    workflow: InvoiceWorkflow,
    start: { hero: Orders.ref(1), input: { currency: 'EUR' } },
  }),
  defineSchedule('d', {
    every: { hours: 1 },
    workflow: OrderWorkflow,
    start: async tick => ({ hero: Orders.ref(tick.at.getTime()) }),
  }),
]

export const mistakes = [
  // @ts-expect-error a class that needs a hero cannot be started with nothing
  defineSchedule('e', { every: '10 min', workflow: InvoiceWorkflow }),
  // @ts-expect-error a cron expression or an interval, not both
  defineSchedule('f', { cron: '* * * * *', every: '10 min', workflow: Nightly }),
  // @ts-expect-error neither is no schedule
  defineSchedule('g', { workflow: Nightly }),
  // @ts-expect-error an interval has no time zone
  defineSchedule('h', { every: '10 min', timeZone: 'UTC', workflow: Nightly }),
  // @ts-expect-error a catch-up that there is not
  defineSchedule('i', { every: '10 min', workflow: Nightly, catchUp: 'some' }),
  defineSchedule('j', {
    every: '10 min',
    workflow: InvoiceWorkflow,
    // @ts-expect-error an input of another type, also from a function
    start: () => ({ hero: Orders.ref(1), input: { currency: 'GBP' } }),
  }),
  // @ts-expect-error months differ in length
  defineSchedule('k', { every: '1 month', workflow: Nightly }),
]
