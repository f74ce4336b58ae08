/** Keeps the live demo alive: a first set of workflows, and then a new one every few seconds until it is stopped. */
import type { Geneva } from '../../src/index.ts'
import { BulkImport } from './bulk-import.ts'
import { Expense } from './expense.ts'
import { Newsletter } from './newsletter.ts'
import { OrderSaga } from './order-saga.ts'
import { Payout } from './payout.ts'
import { People, personAt } from './people.ts'
import { Welcome } from './welcome.ts'

const everyMs = 4000
const goods = [['lamp'], ['chair', 'table'], ['tea', 'cup', 'spoon']]

/** Everything that the dashboard is to show, once. */
export async function startScenes(geneva: Geneva): Promise<void> {
  await geneva.start(Newsletter, { input: { readers: 1000 } })
  await geneva.start(BulkImport, { input: { rows: 4000, msPerRow: 30 } })
  await geneva.start(Expense, { hero: People.ref('ann'), input: { cents: 48_000, what: 'A new bicycle' } })
  await geneva.start(Expense, { hero: People.ref('ben'), input: { cents: 7_500, what: 'Train to Delft' } })
  await geneva.start(Payout, { hero: People.ref('cleo'), input: { account: 'unknown', cents: 12_900 } })
  await geneva.start(OrderSaga, order(0, 'the moon'))
  await geneva.start(Welcome, { hero: People.ref('dora'), input: { newsletter: true } })
}

/** Returns what ends it. A start that meets a workflow of the same person is left out: that is what heroes are for. */
export function keepStarting(geneva: Geneva): () => void {
  let round = 0
  const timer = setInterval(() => {
    round++
    const started =
      round % 3 === 0
        ? geneva.start(Welcome, { hero: People.ref(personAt(round)), input: { newsletter: round % 2 === 0 } })
        : geneva.start(OrderSaga, order(round, round % 4 === 1 ? 'the moon' : 'Delft'))
    started.catch(() => {})
  }, everyMs)
  return () => clearInterval(timer)
}

function order(round: number, to: string) {
  const items = goods[round % goods.length] ?? []
  return { hero: People.ref(personAt(round)), input: { items: [...items], cents: 1900 + round * 130, to } }
}
