/**
 * Executions of all workflows by state, in bounded looks along a key: active rows by that of their table, newest workflow first;
 * ended ones by their id, newest first. No index is kept for states, so a look goes through a stretch of the key and takes what
 * fits; a state that is rare takes more looks, never a longer one.
 */
import type { ExecutionFilter, ExecutionPlace, ExecutionRecord, ExecutionScan } from '../../execution-filter.ts'
import type { SqlContext } from '../context.ts'
import { heroKey, int, optionalInt, optionalText, text } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { join, oneOf, raw, type Sql, sql } from '../sql.ts'

interface Bounds {
  readonly limit: number
  readonly window: number
}

export async function scanExecutions(
  context: SqlContext,
  filter: ExecutionFilter,
  { limit, window }: Bounds,
): Promise<ExecutionScan> {
  const walk = filter.source === 'ended' ? walkHistory(context, filter) : walkActive(context, filter)
  const [end] = await context.read(sql`${walk.keys} limit 1 offset ${window - 1}`)
  const last = end === undefined ? null : walk.placeOf(end)
  const rows = await context.read(sql`${walk.select(last)} limit ${limit}`)
  const found = rows.map(row => record(row, walk.placeOf(row)))
  return { found, next: found.length === limit ? (found.at(-1)?.place ?? null) : last }
}

/** A way along a key, from where the look before ended. */
interface Walk {
  /** The keys of the way, in order. */
  readonly keys: Sql
  /** What fits up to a place, in the same order; `null`: to the end. */
  select(last: ExecutionPlace | null): Sql
  placeOf(row: Row): ExecutionPlace
}

function walkActive(context: SqlContext, filter: ExecutionFilter): Walk {
  const { active, workflows, history } = context.tables
  const { before } = filter
  const below = before === undefined ? raw('1 = 1') : beside(context, before, '<')
  // What runs is little, and has an index.
  const own = filter.states.every(state => state === 'in_progress') ? raw(' and a.owner is not null') : raw('')
  const order = raw('order by a.workflow_id desc, a.slot desc')
  // The attempt that is undone stands in history; the row that undoes it says which workflows to look at.
  const isUndone = filter.source === 'undone'
  const undone = sql`${context.dialect.keyedJoin} ${history} e on ${context.dialect.sameKey('e.workflow_id', 'a.workflow_id')} and e.state = 'compensating'`
  return {
    keys: sql`select a.workflow_id, a.slot from ${active} a where ${below}${own} ${order}`,
    select:
      last => sql`select a.workflow_id as place_id, a.slot, ${isUndone ? endedColumns : activeColumns}, ${workflowColumns}
      from ${active} a ${isUndone ? undone : raw('')}
      ${context.dialect.keyedJoin} ${workflows} w${context.dialect.byKey} on ${context.dialect.sameKey('w.id', 'a.workflow_id')}
      where ${below}${own} and ${last === null ? raw('1 = 1') : beside(context, last, '>=')}
        and ${isUndone ? raw(`a.kind = 'compensate'`) : raw(`a.kind <> 'timer'`)} and ${conditions(context, filter)} ${order}`,
    placeOf: row => ({
      workflowId: text(row, row.place_id === undefined ? 'workflow_id' : 'place_id'),
      slot: text(row, 'slot'),
    }),
  }
}

function walkHistory(context: SqlContext, filter: ExecutionFilter): Walk {
  const { history, workflows } = context.tables
  const { before } = filter
  const from = (place: ExecutionPlace, sign: '<' | '>=') =>
    sql`e.id ${raw(sign)} ${context.id('id' in place ? place.id : place.workflowId)}`
  const below = before === undefined ? raw('1 = 1') : from(before, '<')
  const order = raw('order by e.id desc')
  return {
    keys: sql`select e.id from ${history} e where ${below} ${order}`,
    select: last => sql`select ${endedColumns}, ${workflowColumns} from ${history} e
      ${context.dialect.keyedJoin} ${workflows} w${context.dialect.byKey} on ${context.dialect.sameKey('w.id', 'e.workflow_id')}
      where ${below} and ${last === null ? raw('1 = 1') : from(last, '>=')} and ${conditions(context, filter)} ${order}`,
    placeOf: row => ({ id: text(row, 'id') }),
  }
}

/** One column bounds the stretch, for planners that do not compare pairs; the other one cuts it off exactly. */
function beside(context: SqlContext, place: ExecutionPlace, side: '<' | '>='): Sql {
  const [id, slot] = 'id' in place ? [place.id, ''] : [place.workflowId, place.slot]
  const strict = raw(side.slice(0, 1))
  return sql`(a.workflow_id ${strict}= ${context.id(id)} and (a.workflow_id ${strict} ${context.id(id)} or a.slot ${raw(side)} ${slot}))`
}

function conditions(context: SqlContext, { source, states, types, node, queue, due }: ExecutionFilter): Sql {
  const row = source === 'active' ? 'a' : 'e'
  const all: Sql[] = [oneOf(raw(`${row}.state`), states)]
  if (types !== undefined) all.push(oneOf(raw('w.type'), types))
  if (queue !== undefined) all.push(sql`a.queue = ${queue}`)
  if (due !== undefined) all.push(sql`a.due_at ${raw(due ? '<=' : '>')} ${context.now}`)
  if (node !== undefined) {
    // The items of a node stand between its name with a slash and that with the next character.
    const name = raw(`${row}.node`)
    all.push(
      sql`(${name} = ${node} or ${raw(`${row}.node_name`)} = ${node} or (${name} >= ${`${node}/`} and ${name} < ${`${node}0`}))`,
    )
  }
  return join(all, ' and ')
}

const workflowColumns = raw('w.id as w_id, w.type, w.hero_type, w.hero_id, w.hero_id_kind')

const shared = (alias: string) =>
  [
    'id',
    'node',
    'node_name',
    'kind',
    'attempt',
    'state',
    'created_at',
    'due_at',
    'started_at',
    'owner',
    'completed_iterations',
    'total_iterations',
    'runs',
  ]
    .map(name => `${alias}.${name}`)
    .join(', ')

const activeColumns = raw(`${shared('a')}, a.queue, a.priority`)
const endedColumns = raw(`${shared('e')}, e.outcome, e.ended_at, e.reason, e.error_class, e.error_message`)

function record(row: Row, place: ExecutionPlace): ExecutionRecord {
  const className = optionalText(row, 'error_class')
  return {
    place,
    id: text(row, 'id'),
    workflowId: text(row, 'w_id'),
    type: text(row, 'type'),
    hero: heroKey(row),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    kind: text(row, 'kind') as ExecutionRecord['kind'],
    attempt: int(row, 'attempt'),
    state: text(row, 'state') as ExecutionRecord['state'],
    outcome: optionalText(row, 'outcome') as ExecutionRecord['outcome'],
    queue: optionalText(row, 'queue'),
    priority: optionalInt(row, 'priority'),
    createdAt: int(row, 'created_at'),
    dueAt: int(row, 'due_at'),
    startedAt: optionalInt(row, 'started_at'),
    endedAt: optionalInt(row, 'ended_at'),
    owner: optionalText(row, 'owner'),
    reason: optionalText(row, 'reason'),
    error: className === null ? null : { className, message: text(row, 'error_message') },
    completed: int(row, 'completed_iterations'),
    total: optionalInt(row, 'total_iterations'),
    runs: int(row, 'runs'),
  }
}
