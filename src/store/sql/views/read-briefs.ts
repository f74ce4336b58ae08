/** How the nodes of one workflow stand: every attempt in a few narrow columns, for graphs of ten thousand nodes. */
import type { ExecutionState, Outcome } from '../../records.ts'
import type { AttemptBrief } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { int, optionalInt, optionalText, text } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { raw, sql } from '../sql.ts'

const shared = (alias: string) =>
  raw(
    [
      'id',
      'node',
      'kind',
      'attempt',
      'state',
      'due_at',
      'started_at',
      'completed_iterations',
      'total_iterations',
      'runs',
    ]
      .map(name => `${alias}.${name}`)
      .join(', '),
  )

/** Ended ones in their order, then those under way. One that ends meanwhile is shown once, because both are of one moment. */
export async function readBriefs(context: SqlContext, workflowId: string): Promise<AttemptBrief[]> {
  const { active, history } = context.tables
  const [ended = [], open = []] = await context.snapshot([
    sql`select ${shared('e')}, e.outcome, e.ended_at, e.error_class, e.error_message from ${history} e
      where e.workflow_id = ${context.id(workflowId)} and e.kind <> 'timer' order by e.ordinal, e.ended_at, e.attempt`,
    sql`select ${shared('a')} from ${active} a
      where a.workflow_id = ${context.id(workflowId)} and a.kind <> 'timer' order by a.ordinal, a.slot`,
  ])
  return [...ended, ...open].map(attemptBrief)
}

function attemptBrief(row: Row): AttemptBrief {
  const className = optionalText(row, 'error_class')
  return {
    id: text(row, 'id'),
    node: text(row, 'node'),
    kind: text(row, 'kind') as AttemptBrief['kind'],
    attempt: int(row, 'attempt'),
    state: text(row, 'state') as ExecutionState,
    outcome: optionalText(row, 'outcome') as Outcome | null,
    dueAt: int(row, 'due_at'),
    startedAt: optionalInt(row, 'started_at'),
    endedAt: optionalInt(row, 'ended_at'),
    error: className === null ? null : { className, message: text(row, 'error_message') },
    completed: int(row, 'completed_iterations'),
    total: optionalInt(row, 'total_iterations'),
    runs: int(row, 'runs'),
  }
}
