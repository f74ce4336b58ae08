/** The rows of one workflow, read straight from the tables on a connection of its own, beside all code of the engine. */
import type { PlainAccess, PlainRow } from '../programs/harness/plain-access.ts'

export interface TableRow {
  readonly id: string
  /** By the name that people gave it. */
  readonly node: string
  readonly attempt: number
  readonly state: string
}

export interface ActiveRow extends TableRow {
  readonly owner: string | null
  readonly heldFrom: string | null
  readonly failures: number
  readonly crashes: number
  readonly claimable: boolean
}

export interface HistoryRow extends TableRow {
  readonly outcome: string
}

export interface LetterRow extends TableRow {
  readonly reason: string
}

export interface WorkflowTables {
  readonly state: string
  readonly pauseCause: string | null
  readonly finishing: boolean
  readonly active: readonly ActiveRow[]
  readonly timers: readonly string[]
  readonly history: readonly HistoryRow[]
  /** Dead letters, those of a node in the order in which they were opened. */
  readonly letters: readonly LetterRow[]
  /** How many of them are open, by what the workflow's own row says. */
  readonly openLetters: number
  /** How many parents of a node are open; under the empty name, how many leaves of the graph. */
  readonly counters: ReadonlyMap<string, number>
}

export interface EventRow {
  readonly type: string
  readonly executionId: string | null
  readonly node: string | null
}

/** Turns what stands in the rows into names: graphs that are built at run time have ids beside them. */
export type NameOf = (id: string) => string

const prefix = 'geneva_drive_'

export async function readTables(access: PlainAccess, id: string, nameOf: NameOf): Promise<WorkflowTables> {
  const rowsOf = (table: string, key = 'workflow_id') =>
    access.query(`select * from ${access.table(prefix + table)} where ${key} = ?`, [id])
  // One after the other: a plain access has one connection.
  const [workflow] = await rowsOf('workflows', 'id')
  const active = await rowsOf('active_executions')
  const history = await rowsOf('step_executions')
  const counters = await rowsOf('fan_ins')
  const letters = await rowsOf('dead_letters')
  const base = (row: PlainRow) => ({
    id: String(row.id),
    node: nameOf(String(row.node)),
    attempt: Number(row.attempt),
    state: String(row.state),
  })
  return {
    state: String(workflow?.state),
    pauseCause: textOf(workflow?.pause_cause),
    finishing: Number(workflow?.finishing) === 1,
    active: active
      .filter(row => row.kind !== 'timer')
      .map(row => ({
        ...base(row),
        owner: textOf(row.owner),
        heldFrom: textOf(row.held_from),
        failures: Number(row.failures),
        crashes: Number(row.crashes),
        claimable: row.sort_key !== null,
      })),
    timers: active.filter(row => row.kind === 'timer').map(row => String(row.slot)),
    history: history.map(row => ({ ...base(row), outcome: String(row.outcome) })),
    letters: letters
      .map(row => ({ ...base(row), reason: String(row.reason) }))
      .toSorted((a, b) => a.attempt - b.attempt),
    openLetters: Number(workflow?.open_letters),
    counters: new Map(counters.map(row => [nameOf(String(row.node)), Number(row.open_parents)])),
  }
}

export async function readEvents(access: PlainAccess, id: string, nameOf: NameOf): Promise<EventRow[]> {
  const rows = await access.query(
    `select * from ${access.table(`${prefix}events`)} where workflow_id = ? order by id`,
    [id],
  )
  return rows.map(row => ({
    type: String(row.type),
    executionId: textOf(row.execution_id),
    node: row.node === null ? null : nameOf(String(row.node)),
  }))
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}
