/** The attempts of one workflow with everything that is stored about them, a page at a time. Payloads stay encoded. */
import type { AttemptRead, AttemptRecord } from '../../view-store.ts'
import { activeColumns, endedColumns } from '../columns.ts'
import type { SqlContext } from '../context.ts'
import { activeExecution, endedExecution, int, json } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { raw, type Sql, sql } from '../sql.ts'

/** Ended ones first, as they ended; those under way follow on the page on which the others end. */
export async function readAttempts(context: SqlContext, read: AttemptRead): Promise<AttemptRecord[]> {
  const { active, history } = context.tables
  const of = (alias: string): Sql => {
    const own = sql`${raw(`${alias}.workflow_id`)} = ${context.id(read.workflowId)} and ${raw(`${alias}.kind`)} <> 'timer'`
    return read.node === undefined
      ? own
      : sql`${own} and (${raw(`${alias}.node`)} = ${read.node} or ${raw(`${alias}.node_name`)} = ${read.node})`
  }
  const [ended = [], count = []] = await context.snapshot([
    sql`select ${endedColumns}, e.input, e.output from ${history} e where ${of('e')}
      order by e.ended_at, e.ordinal, e.id limit ${read.limit} offset ${read.offset}`,
    sql`select count(*) as total from ${history} e where ${of('e')}`,
  ])
  if (ended.length === read.limit) return ended.map(endedAttempt)
  const skipped = Math.max(0, read.offset - (count[0] ? int(count[0], 'total') : 0))
  const open = await context.read(
    sql`select ${activeColumns} from ${active} a where ${of('a')} order by a.ordinal, a.slot
      limit ${read.limit - ended.length} offset ${skipped}`,
  )
  return [...ended.map(endedAttempt), ...open.map(activeAttempt)]
}

function endedAttempt(row: Row): AttemptRecord {
  const { progress, ancestry, ...ended } = endedExecution(row)
  return {
    ...ended,
    input: json(row, 'input'),
    output: json(row, 'output'),
    ...flattened(progress),
    ancestry: ancestry.hash,
    parents: ancestry.parents,
  }
}

function activeAttempt(row: Row): AttemptRecord {
  const { progress, ancestry, input, ...open } = activeExecution(row)
  return {
    ...open,
    outcome: null,
    endedAt: null,
    error: null,
    reason: null,
    input,
    output: null,
    ...flattened(progress),
    ancestry: ancestry.hash,
    parents: ancestry.parents,
  }
}

function flattened(progress: ReturnType<typeof endedExecution>['progress']) {
  const { cursor, completedIterations, total, runs } = progress
  return { cursor, completed: completedIterations, total, runs }
}
