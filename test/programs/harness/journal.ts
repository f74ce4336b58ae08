/**
 * What really ran. Every body writes a durable row before it does anything else, in the same database but outside the
 * engine. In the same statement it looks whether an outcome of its step is recorded already, so that "ran again after
 * its outcome was recorded" is a fact of the database and not a comparison of clocks.
 */
import type { PlainAccess } from './plain-access.ts'

const name = 'crash_journal'

/** One call of a body. */
export interface JournalEntry {
  readonly workflowId: string
  readonly executionId: string
  readonly step: string
  readonly attempt: number
  readonly pid: number
  /** The outcome of the step stood in the history when the body began. */
  readonly tooLate: boolean
  readonly at: number
}

export async function createJournal(access: PlainAccess): Promise<void> {
  const columns = `workflow_id bigint not null, execution_id bigint not null, step varchar(50) not null,
    attempt bigint not null, pid bigint not null, recorded bigint not null, began_at bigint not null`
  await access.query(`create table if not exists ${access.table(name)} (${columns})`)
}

export type Call = Pick<JournalEntry, 'workflowId' | 'executionId' | 'step' | 'attempt'>

/** Durable when it resolves. Several calls that begin at once may share the write. */
export async function writeEntries(access: PlainAccess, calls: readonly Call[]): Promise<void> {
  const history = access.table('geneva_drive_step_executions')
  // PostgreSQL does not guess the types of bare parameters in a select list.
  const number = access.kind === 'postgres' ? 'cast(? as bigint)' : '?'
  const text = access.kind === 'postgres' ? 'cast(? as text)' : '?'
  const select = `select ${number}, ${number}, ${text}, ${number}, ${number}, (select count(*) from ${history} h
    where h.workflow_id = ? and h.node = ? and h.outcome = 'success'), ${access.now}`
  await access.query(
    `insert into ${access.table(name)} (workflow_id, execution_id, step, attempt, pid, recorded, began_at)
     ${calls.map(() => select).join(' union all ')}`,
    calls.flatMap(({ workflowId, executionId, step, attempt }) => {
      const workflow = Number(workflowId)
      return [workflow, Number(executionId), step, attempt, process.pid, workflow, step]
    }),
  )
}

export function writeEntry(access: PlainAccess, call: Call): Promise<void> {
  return writeEntries(access, [call])
}

export async function readJournal(access: PlainAccess): Promise<JournalEntry[]> {
  const rows = await access.query(`select * from ${access.table(name)} order by began_at`)
  return rows.map(row => ({
    workflowId: String(row.workflow_id),
    executionId: String(row.execution_id),
    step: String(row.step),
    attempt: Number(row.attempt),
    pid: Number(row.pid),
    tooLate: Number(row.recorded) > 0,
    at: Number(row.began_at),
  }))
}
