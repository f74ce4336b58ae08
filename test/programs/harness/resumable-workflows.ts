/**
 * The resumable steps of the crash tests. What surrounds an item (a table of what was done, the channel to the test) is
 * set by the process that runs it, and is nothing in a process that only starts them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Iteration, Workflow } from '../../../src/index.ts'
import type { PlainAccess } from './plain-access.ts'

export interface ItemSurroundings {
  /** Writes down that an item was done, on a connection of its own. */
  write(workflowId: string, item: number): Promise<void>
  tell(message: object): void
}

let around: ItemSurroundings = { write: async () => {}, tell: () => {} }

export function surroundItems(surroundings: ItemSurroundings): void {
  around = surroundings
}

const itemTable = 'done_items'

export async function createItemTable(access: PlainAccess): Promise<void> {
  await access.query(
    `create table ${access.table(itemTable)} (workflow_id bigint not null, item integer not null, pid integer not null)`,
  )
}

export function insertItem(table: string, workflowId: string, item: number): string {
  return `insert into ${table} (workflow_id, item, pid) values (${workflowId}, ${item}, ${process.pid})`
}

export async function writeItem(access: PlainAccess, workflowId: string, item: number): Promise<void> {
  await access.query(insertItem(access.table(itemTable), workflowId, item))
}

export interface DoneItem {
  readonly workflowId: string
  readonly item: number
  readonly pid: number
}

/** Who did which item, in order of the items. */
export async function doneItems(access: PlainAccess): Promise<DoneItem[]> {
  const rows = await access.query(`select workflow_id, item, pid from ${access.table(itemTable)} order by item`)
  return rows.map(row => ({ workflowId: String(row.workflow_id), item: Number(row.item), pid: Number(row.pid) }))
}

/** A hundred items, each written down: by itself, or in one transaction with its checkpoint. */
export class Import extends Workflow<null, { inTransactions: boolean; ms: number }> {
  static {
    this.resumableStep('rows', { checkpoint: 'each', onException: 'reattempt' })
  }
  async rows(iter: Iteration<number>) {
    around.tell({ began: this.id, at: iter.cursor, resumed: iter.resumed })
    for await (const item of iter.over(Array.from({ length: 100 }, (_, index) => index + 1))) {
      if (this.input.inTransactions) {
        await iter.transaction(tx => tx.query(insertItem(itemTable, this.id, item)))
      } else {
        await around.write(this.id, item)
      }
      around.tell({ item })
      await pause(this.input.ms)
    }
  }
}

/** A million items that take no time, and how many of them each run has done. */
export class Million extends Workflow {
  static {
    this.resumableStep('count')
  }
  async count(iter: Iteration<number>) {
    const from = iter.cursor ?? 0
    let count = 0
    try {
      for await (const _ of iter.over(upTo(1_000_000))) {
        count++
        if (count % 100_000 === 0) around.tell({ count })
      }
    } finally {
      around.tell({ run: { from, count } })
    }
  }
}

function* upTo(end: number): Generator<number> {
  for (let i = 0; i < end; i++) yield i
}

export const resumableWorkflows = [Import, Million] as const
