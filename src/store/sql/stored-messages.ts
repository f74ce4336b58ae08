/**
 * What comes from outside: the decisions of people, and signals, which are kept until a node waits for them. Both are written
 * under the lock of their workflow, and never changed but for who has taken a signal.
 */
import type { NewDecision, NewSignal, TakenSignal } from '../change.ts'
import type { DecisionRecord, SignalRecord } from '../records.ts'
import type { CloserLook } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, json, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { type Columns, rowSet } from './row-set.ts'
import { join, raw, type Sql, sql } from './sql.ts'

/** How it is asked: inside a transaction or not. */
export type Ask = (statement: Sql) => Promise<Row[]>

type Keyed<T> = T & { readonly workflowId: string }

const decisionColumns: Columns<Keyed<NewDecision>> = {
  id: ['id', decision => decision.id],
  workflow_id: ['id', decision => decision.workflowId],
  execution_id: ['id', decision => decision.executionId],
  node: ['text', decision => decision.node],
  decided_by: ['text', decision => decision.by],
  decision: ['text', decision => decision.decision],
  comment_text: ['text', decision => decision.comment],
  data: ['json', decision => decision.data],
}

export function insertDecisions(context: SqlContext, decisions: readonly Keyed<NewDecision>[]): Sql {
  const names = Object.keys(decisionColumns)
  return sql`insert into ${context.tables.decisions} (${raw(names.join(', '))}, decided_at)
    select ${raw(names.map(name => `r.${name}`).join(', '))}, ${context.now}
    from ${context.rows('r', rowSet(decisionColumns, decisions))}`
}

const signalColumns: Columns<Keyed<NewSignal>> = {
  id: ['id', signal => signal.id],
  workflow_id: ['id', signal => signal.workflowId],
  node: ['text', signal => signal.node],
  payload: ['json', signal => signal.payload],
  sent_by: ['text', signal => signal.by],
  dedup_key: ['text', signal => signal.key],
  taken_by: ['id', signal => signal.takenBy],
}

export function insertSignals(context: SqlContext, signals: readonly Keyed<NewSignal>[]): Sql {
  const names = Object.keys(signalColumns)
  return sql`insert into ${context.tables.signals} (${raw(names.join(', '))}, sent_at)
    select ${raw(names.map(name => `r.${name}`).join(', '))}, ${context.now}
    from ${context.rows('r', rowSet(signalColumns, signals))}`
}

export function takeSignals(context: SqlContext, taken: readonly TakenSignal[]): Sql {
  const set = rowSet<TakenSignal>(
    { id: ['id', signal => signal.id], taken_by: ['id', signal => signal.executionId] },
    taken,
  )
  return context.dialect.updateFrom(
    context.tables.signals,
    context.rows('r', set),
    context.dialect.sameKey('a.id', 'r.id'),
    [['taken_by', raw('r.taken_by')]],
  )
}

/** The decisions on these executions, in the order in which they were made. */
export async function decisionsOn(
  context: SqlContext,
  ask: Ask,
  executionIds: readonly string[],
): Promise<DecisionRecord[]> {
  if (executionIds.length === 0) return []
  const rows = await ask(
    sql`select d.* from ${context.tables.decisions} d where ${context.among(raw('d.execution_id'), executionIds)} order by d.id`,
  )
  return rows.map(decisionRecord)
}

/** Signals that nobody has taken, and those that a look asks for all the same, oldest first. */
export async function signalsFor(
  context: SqlContext,
  ask: Ask,
  looks: ReadonlyMap<string, CloserLook>,
): Promise<SignalRecord[]> {
  const any = [...looks].flatMap(([workflowId, look]) => {
    const wanted = isWanted(context, look)
    return (look.signaled ?? []).map(
      node => sql`(s.workflow_id = ${context.id(workflowId)} and s.node = ${node} and (${wanted}))`,
    )
  })
  if (any.length === 0) return []
  const rows = await ask(sql`select s.* from ${context.tables.signals} s where ${join(any, ' or ')} order by s.id`)
  return rows.map(signalRecord)
}

function isWanted(context: SqlContext, { signalKey = null, signals = [] }: CloserLook): Sql {
  const wanted = [sql`s.taken_by is null`]
  if (signalKey !== null) wanted.push(sql`s.dedup_key = ${signalKey}`)
  if (signals.length > 0) wanted.push(context.among(raw('s.id'), signals))
  return join(wanted, ' or ')
}

export async function findSignal(context: SqlContext, id: string): Promise<SignalRecord | null> {
  const rows = await context.read(sql`select s.* from ${context.tables.signals} s where s.id = ${context.id(id)}`)
  return rows[0] ? signalRecord(rows[0]) : null
}

export async function signalsOf(context: SqlContext, workflowId: string): Promise<SignalRecord[]> {
  const rows = await context.read(
    sql`select s.* from ${context.tables.signals} s where s.workflow_id = ${context.id(workflowId)} order by s.id`,
  )
  return rows.map(signalRecord)
}

export async function decisionsOf(context: SqlContext, workflowId: string): Promise<DecisionRecord[]> {
  const rows = await context.read(
    sql`select d.* from ${context.tables.decisions} d where d.workflow_id = ${context.id(workflowId)} order by d.id`,
  )
  return rows.map(decisionRecord)
}

function decisionRecord(row: Row): DecisionRecord {
  return {
    id: text(row, 'id'),
    workflowId: text(row, 'workflow_id'),
    executionId: text(row, 'execution_id'),
    node: text(row, 'node'),
    by: text(row, 'decided_by'),
    decision: text(row, 'decision') as DecisionRecord['decision'],
    comment: optionalText(row, 'comment_text'),
    data: json(row, 'data'),
    at: int(row, 'decided_at'),
  }
}

function signalRecord(row: Row): SignalRecord {
  return {
    id: text(row, 'id'),
    workflowId: text(row, 'workflow_id'),
    node: text(row, 'node'),
    payload: json(row, 'payload'),
    by: optionalText(row, 'sent_by'),
    key: optionalText(row, 'dedup_key'),
    takenBy: optionalText(row, 'taken_by'),
    at: int(row, 'sent_at'),
  }
}
