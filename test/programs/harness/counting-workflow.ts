/**
 * A workflow whose every step, and every item of its last one, adds one to a counter in the application's own table, in a
 * transaction. Some of them fail on purpose after they have done so.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Iteration, type Transaction, Workflow } from '../../../src/index.ts'
import type { PlainAccess } from './plain-access.ts'

/** What a step throws on purpose. */
export class CountingTrouble extends Error {
  override readonly name = 'CountingTrouble'
}

/** The part of a transaction that is the same in all the ways in which it is opened here. */
interface Queries {
  query(text: string): Promise<unknown>
}

export const countedSteps = ['one', 'two', 'left', 'right', 'last'] as const
export const countedItems = 3
/** What each workflow adds to the counters. */
export const countedPerWorkflow = countedSteps.length + countedItems

const shards = 4
const retry = { attempts: 20, backoff: 'fixed', delay: 5, jitter: false } as const

export async function createCounters(access: PlainAccess): Promise<void> {
  await access.query(`create table ${access.table('counters')} (id integer primary key, total integer not null)`)
  await access.query(
    `create table ${access.table('counted')} (workflow_id varchar(40) not null, what varchar(40) not null)`,
  )
  for (let id = 0; id < shards; id++) {
    await access.query(`insert into ${access.table('counters')} (id, total) values (${id}, 0)`)
  }
}

/** How long each takes, at least and at most. */
let bodyMs: readonly [number, number] = [0, 0]

export function countFor(ms: readonly [number, number]): void {
  bodyMs = ms
}

async function count(tx: unknown, workflowId: string, what: string): Promise<void> {
  const { query } = bound(tx)
  const shard = Number(workflowId.slice(-3)) % shards
  await query(`insert into counted (workflow_id, what) values ('${workflowId}', '${what}')`)
  const [least, most] = bodyMs
  await pause(least + Math.random() * (most - least))
  // The last statement, so that others do not wait long for the row.
  await query(`update counters set total = total + 1 where id = ${shard}`)
  if (Math.random() < 0.05) throw new CountingTrouble('It was drawn to fail.')
}

/** `query` as drivers have it, or through the connection of a file, which has none. */
function bound(tx: unknown): Queries {
  const { query, exec } = tx as { query?: Queries['query']; exec?: (text: string) => void }
  if (query !== undefined) return { query: text => query.call(tx, text) }
  return { query: async text => exec?.call(tx, text) }
}

export class Counting extends Workflow {
  static {
    this.defaults({ retry })
    this.transactionalStep('one')
    this.transactionalStep('two')
    this.fork('both', { left: b => b.transactionalStep('left'), right: b => b.transactionalStep('right') })
    this.transactionalStep('last')
    this.resumableStep('items')
  }
  one(tx: Transaction) {
    return count(tx, this.id, 'one')
  }
  two(tx: Transaction) {
    return count(tx, this.id, 'two')
  }
  left(tx: Transaction) {
    return count(tx, this.id, 'left')
  }
  right(tx: Transaction) {
    return count(tx, this.id, 'right')
  }
  last(tx: Transaction) {
    return count(tx, this.id, 'last')
  }
  async items(iter: Iteration<number>) {
    for await (const item of iter.over(Array.from({ length: countedItems }, (_, index) => index))) {
      await iter.transaction(tx => count(tx, this.id, `item ${item}`))
    }
  }
}
