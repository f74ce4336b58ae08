/**
 * The second look of a change: what is only known to be needed once the counters are read. A fan-in that is about to start
 * needs the hashes of all its parents; a place that falls free needs a row that waits for one.
 */
import type { StartResult, WorkflowFacts } from '../change.ts'
import type { ChangeCall, CloserLook } from '../store.ts'
import { activeColumns, latestColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import { activeExecution, latestEnding, text, workflowRecord } from './decode.ts'
import type { Executor } from './dialect.ts'
import { isLatest } from './latest-attempt.ts'
import { byNode, grouped } from './lock-facts.ts'
import { join, raw, type Sql, sql } from './sql.ts'
import { startAll } from './start-workflows.ts'
import { decisionsOn, signalsFor } from './stored-messages.ts'
import { undoFacts } from './undo-rows.ts'

/** How many ended attempts one change removes at most. */
const maxOutworn = 1000

export async function lookCloser(
  context: SqlContext,
  transaction: Executor,
  facts: readonly WorkflowFacts[],
  call: ChangeCall,
): Promise<readonly WorkflowFacts[]> {
  const looks = new Map<string, CloserLook>()
  for (const fact of facts) {
    const look = call.look?.(fact) ?? null
    if (look !== null) looks.set(fact.workflow.id, look)
  }
  if (looks.size === 0) return facts
  const ask = async (statement: Sql | null) => (statement === null ? [] : transaction.query(statement))
  const past = facts.filter(fact => looks.get(fact.workflow.id)?.others)
  const undoing = new Map([...looks].flatMap(([id, { undo }]) => (undo ? [[id, undo] as const] : [])))
  const [decisions, signals, undo, parents, waiting, states, going, old] = await Promise.all([
    decisionsOn(
      context,
      ask,
      [...looks.values()].flatMap(look => look.decided ?? []),
    ),
    signalsFor(context, ask, looks),
    undoFacts(context, transaction, undoing),
    ask(selectParents(context, looks)),
    ask(selectWaiting(context, looks)),
    ask(selectStates(context, looks)),
    ask(selectOthers(context, past)),
    ask(selectOutworn(context, looks)),
  ])
  const goOn = new Set(going.map(row => text(row, 'workflow_id')))
  const others = new Map(states.map(row => [text(row, 'w_id'), workflowRecord(row)]))
  const orders = [...looks.values()].flatMap(look => look.starts)
  const results = orders.length === 0 ? [] : await startAll(context, transaction, orders, new Map())
  const started = new Map(orders.map((order, index) => [order.id, results[index] as StartResult]))
  const parentsOf = grouped(parents, latestEnding)
  const waitingIn = grouped(waiting, activeExecution)
  const outworn = grouped(old, row => text(row, 'id'))
  return facts.map(fact => ({
    ...fact,
    parents: byNode(parentsOf.get(fact.workflow.id) ?? []),
    started,
    others,
    undo: undo.get(fact.workflow.id) ?? null,
    outworn: outworn.get(fact.workflow.id) ?? [],
    decisions: decisions.filter(decision => decision.workflowId === fact.workflow.id),
    signals: signals.filter(signal => signal.workflowId === fact.workflow.id),
    othersGoOn: past.includes(fact) ? goOn.has(fact.workflow.id) : fact.othersGoOn,
    active: [...fact.active, ...(waitingIn.get(fact.workflow.id) ?? [])],
  }))
}

/** Looks past the rows that are known, and stops at the first one that goes on. */
function selectOthers(context: SqlContext, facts: readonly WorkflowFacts[]): Sql | null {
  const { active, workflows } = context.tables
  const probes = facts.map((fact, index) => {
    const known = fact.active.map(row => sql`${row.slot}`)
    const unknown = known.length === 0 ? raw('') : sql` and o.slot not in (${join(known, ', ')})`
    // In a workflow that is being stopped, a node that waits for its child is waited for.
    return sql`select * from (select o.workflow_id from ${active} o join ${workflows} w on w.id = o.workflow_id
      where o.workflow_id = ${context.id(fact.workflow.id)} and o.kind <> 'timer'${unknown}
        and (o.state in ('scheduled', 'in_progress', 'suspended')
          or (o.state = 'waiting' and (w.state = 'rolling_back' or w.finishing = 1)))
      order by o.slot limit 1) ${raw(`o${index}`)}`
  })
  return probes.length === 0 ? null : join(probes, ' union all ')
}

/**
 * Said of each row of a set: a condition that holds for all of them would let a planner that takes history for small go through the whole
 * of an index by it.
 */
const forward = 'forward'

function selectParents(context: SqlContext, looks: ReadonlyMap<string, CloserLook>): Sql | null {
  const keys = [...looks].flatMap(([workflowId, look]) =>
    look.parents.map(node => [workflowId, node, forward] as const),
  )
  if (keys.length === 0) return null
  const { history } = context.tables
  const rows = context.rows('r', { columns: { workflow_id: 'id', node: 'text', kind: 'text' }, rows: keys })
  return sql`select ${latestColumns} from ${rows}
    ${context.dialect.keyedJoin} ${history} e on ${context.dialect.sameKey('e.workflow_id', 'r.workflow_id')} and e.node = r.node and e.kind = r.kind
    where ${isLatest(context)}`
}

/** No more than one change can remove; the rest is found the next time. */
function selectOutworn(context: SqlContext, looks: ReadonlyMap<string, CloserLook>): Sql | null {
  const keys = [...looks].flatMap(([workflowId, look]) =>
    look.outworn.map(({ node, after, upTo }) => [workflowId, node, forward, after, upTo]),
  )
  if (keys.length === 0) return null
  const rows = context.rows('r', {
    columns: { workflow_id: 'id', node: 'text', kind: 'text', behind: 'int', up_to: 'int' },
    rows: keys,
  })
  return sql`select e.workflow_id, e.id from ${rows} ${context.dialect.keyedJoin} ${context.tables.history} e
    on ${context.dialect.sameKey('e.workflow_id', 'r.workflow_id')} and e.node = r.node and e.kind = r.kind
      and e.attempt > r.behind and e.attempt <= r.up_to
    limit ${maxOutworn}`
}

function selectStates(context: SqlContext, looks: ReadonlyMap<string, CloserLook>): Sql | null {
  const ids = [...looks.values()].flatMap(look => look.states)
  if (ids.length === 0) return null
  return sql`select ${workflowColumns} from ${context.tables.workflows} w where ${context.among(raw('w.id'), ids)}`
}

/** Rows in the order of their slots, which are part of the key: what has ended is gone and is not looked at. */
function selectWaiting(context: SqlContext, looks: ReadonlyMap<string, CloserLook>): Sql | null {
  const probes = [...looks].flatMap(([workflowId, look]) =>
    look.waiting.map(({ prefix, count }, index) => {
      const alias = raw(`p${workflowId.replaceAll('-', '')}_${index}`)
      return sql`select * from (select ${activeColumns} from ${context.tables.active} a
        where a.workflow_id = ${context.id(workflowId)} and a.slot >= ${prefix} and a.slot < ${`${prefix}\u{10ffff}`}
          and a.state = 'waiting' order by a.slot limit ${count}) ${alias}`
    }),
  )
  return probes.length === 0 ? null : join(probes, ' union all ')
}
