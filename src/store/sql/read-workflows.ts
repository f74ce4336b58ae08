/**
 * Reading: what people and the engine ask about workflows, without locks.
 */
import type {
  ActiveExecution,
  EndedExecution,
  EventRecord,
  ExecutionKind,
  HeroKey,
  WorkflowRecord,
  WorkflowState,
} from '../records.ts'
import { attemptsBefore, isOfThisRound, type Rounds } from '../rounds.ts'
import type { EndOfWorkflow, FirstOutputs, Store, WorkflowFilter, WorkflowSnapshot } from '../store.ts'
import { activeColumns, endedColumns, eventColumns, workflowColumns } from './columns.ts'
import type { SqlContext } from './context.ts'
import {
  activeExecution,
  ancestry,
  endedExecution,
  eventRecord,
  int,
  json,
  optionalInt,
  text,
  workflowRecord,
} from './decode.ts'
import type { Row } from './dialect.ts'
import { endedStates } from './ended-states.ts'
import { rareStateCondition, rareStates } from './rare-states.ts'
import { join, oneOf, raw, type Sql, sql } from './sql.ts'

/** 1 or 0. As a scalar, because a planner may answer EXISTS by reading all active rows. */
function performing(context: SqlContext): Sql {
  return sql`coalesce((select 1 from ${context.tables.active} p
    where p.workflow_id = w.id and p.state = 'in_progress' and p.kind <> 'timer' limit 1), 0)`
}

export function snapshot(row: Row): WorkflowSnapshot {
  return { workflow: workflowRecord(row), performing: int(row, 'performing') === 1 }
}

/** Of workflows under alias `w`. */
export function selectSnapshots(context: SqlContext, where: Sql): Sql {
  return sql`select ${workflowColumns}, ${performing(context)} as performing
    from ${context.tables.workflows} w where ${where}`
}

export async function findWorkflow(context: SqlContext, id: string): Promise<WorkflowSnapshot | null> {
  const rows = await context.read(selectSnapshots(context, sql`w.id = ${context.id(id)}`))
  return rows[0] ? snapshot(rows[0]) : null
}

/** Several processes take ids in blocks, so only the time tells which workflow was started last. */
export async function findByHero(
  context: SqlContext,
  types: readonly string[] | null,
  hero: HeroKey | null,
): Promise<WorkflowSnapshot | null> {
  const own = types === null ? about(hero) : sql`${oneOf(raw('w.type'), types)} and ${about(hero)}`
  const rows = await context.read(
    sql`${selectSnapshots(context, own)}
      order by case when w.state in ${raw(endedStates)} then 1 else 0 end, w.created_at desc, w.id desc limit 1`,
  )
  return rows[0] ? snapshot(rows[0]) : null
}

function about(hero: HeroKey | null): Sql {
  return hero === null ? raw('w.hero_type is null') : sql`w.hero_type = ${hero.type} and w.hero_id = ${hero.idText}`
}

/** Newest ids first; `before` is the last id of the page that came before. */
export async function listWorkflows(context: SqlContext, filter: WorkflowFilter): Promise<WorkflowSnapshot[]> {
  const rows = await context.read(
    sql`${selectSnapshots(context, workflowConditions(context, filter))} order by w.id desc limit ${filter.limit}`,
  )
  return rows.map(snapshot)
}

/** What a filter says of a workflow under alias `w`. */
export function workflowConditions(context: SqlContext, filter: Omit<WorkflowFilter, 'limit'>): Sql {
  const { active, tags } = context.tables
  const all: Sql[] = [raw('1 = 1')]
  if (filter.types) all.push(oneOf(raw('w.type'), filter.types))
  if (filter.states) all.push(stateCondition(context, filter.states))
  if (filter.hero !== undefined) all.push(about(filter.hero))
  if (filter.before !== undefined) all.push(sql`w.id < ${context.id(filter.before)}`)
  if (filter.at !== undefined) all.push(sql`(${standsAt(context, filter.at, active)})`)
  if (filter.tag !== undefined) {
    all.push(sql`exists (select 1 from ${tags} t where t.workflow_id = w.id and t.tag = ${filter.tag})`)
  }
  return join(all, ' and ')
}

/** A workflow stands at its active nodes and at the one that has failed; a paused one without any at the node that ended last. */
function standsAt(context: SqlContext, node: string, active: Sql): Sql {
  const { history } = context.tables
  const named = (alias: string) => sql`(${raw(`${alias}.node`)} = ${node} or ${raw(`${alias}.node_name`)} = ${node})`
  return sql`exists (select 1 from ${active} n where n.workflow_id = w.id and ${named('n')}) or w.blocked_by = ${node}
    or exists (select 1 from ${history} b where b.workflow_id = w.id and b.node = w.blocked_by and b.node_name = ${node})
    or (w.state = 'paused' and not exists (select 1 from ${active} n where n.workflow_id = w.id and n.kind <> 'timer')
      and exists (select 1 from ${history} e where e.workflow_id = w.id and ${named('e')} and e.ordinal =
        (select max(l.ordinal) from ${history} l where l.workflow_id = w.id)))`
}

/** States are written out, not bound: an index over some states serves only those that are known beforehand. */
function stateCondition(context: SqlContext, states: readonly WorkflowState[]): Sql {
  const stored = states.filter(state => state !== 'ready' && state !== 'performing')
  const parts: Sql[] = stored.map(state => raw(`w.state = '${state.replace(/[^a-z_]/g, '')}'`))
  const ready = states.includes('ready')
  const running = states.includes('performing')
  if (ready && running) parts.push(raw(`w.state = 'ready'`))
  else if (ready) parts.push(sql`(w.state = 'ready' and ${performing(context)} = 0)`)
  else if (running) parts.push(sql`(w.state = 'ready' and ${performing(context)} = 1)`)
  if (parts.length === 0) return raw('1 = 0')
  const rare = stored.length === states.length && stored.every(state => rareStates.includes(state))
  return sql`(${join(parts, ' or ')})${rare ? raw(` and w.${rareStateCondition}`) : raw('')}`
}

export async function workflowStates(
  context: SqlContext,
  ids: readonly string[],
): Promise<Map<string, WorkflowRecord>> {
  if (ids.length === 0) return new Map()
  const rows = await context.read(
    sql`select ${workflowColumns} from ${context.tables.workflows} w where ${context.among(raw('w.id'), ids)}`,
  )
  return new Map(rows.map(row => [text(row, 'w_id'), workflowRecord(row)]))
}

export async function activeExecutions(context: SqlContext, workflowId: string): Promise<ActiveExecution[]> {
  const rows = await context.read(
    sql`select ${activeColumns} from ${context.tables.active} a
      where a.workflow_id = ${context.id(workflowId)} order by a.ordinal, a.slot`,
  )
  return rows.map(activeExecution)
}

export async function history(context: SqlContext, workflowId: string): Promise<EndedExecution[]> {
  const rows = await context.read(
    sql`select ${endedColumns} from ${context.tables.history} e
      where e.workflow_id = ${context.id(workflowId)} order by e.ordinal, e.ended_at, e.attempt`,
  )
  return rows.map(endedExecution)
}

export async function events(context: SqlContext, workflowId: string): Promise<EventRecord[]> {
  const rows = await context.read(
    sql`select ${eventColumns} from ${context.tables.events} v
      where v.workflow_id = ${context.id(workflowId)} order by v.id`,
  )
  return rows.map(eventRecord)
}

/** Told by the outcome: a rollback moves the state of what has completed. */
const successes = "('success', 'resolved', 'confirmed')"

/** What has completed, last first, of one workflow. Items of an `each` node are parts of one; forks and joins never start. */
const completed = `e.kind = 'forward' and e.outcome in ${successes} and e.node not like '%/%'
  and (e.started_at is not null or e.outcome = 'resolved') order by e.ordinal desc, e.ended_at desc`
const lastCompleted = raw(`${completed} limit 1`)

/** Workflows that have ended, each with what it completed last. */
export async function findEnds(context: SqlContext, ids: readonly string[]): Promise<Map<string, EndOfWorkflow>> {
  const { history, workflows } = context.tables
  const rows = await context.read(
    sql`select ${workflowColumns},
      (select e.output from ${history} e where e.workflow_id = w.id and ${lastCompleted}) as output
      from ${workflows} w where ${context.among(raw('w.id'), ids)}`,
  )
  const ends = await Promise.all(rows.map(row => endOf(context, row)))
  return new Map(ends.map(end => [end.workflow.id, end]))
}

async function endOf(context: SqlContext, row: Row): Promise<EndOfWorkflow> {
  const workflow = workflowRecord(row)
  if (workflow.rounds === null) return { workflow, output: json(row, 'output') }
  const found = await findOutput(context, workflow.id, null, workflow.rounds)
  return { workflow, output: found?.output ?? null }
}

export async function findOutput(
  context: SqlContext,
  workflowId: string,
  node: string | null,
  rounds: Rounds,
): Promise<{ output: string | null } | null> {
  const only =
    node === null
      ? await lastOfRound(context, workflowId, rounds)
      : sql`e.kind = 'forward' and e.outcome in ${raw(successes)} and e.node = ${node}
          and e.attempt > ${attemptsBefore(rounds, node)} order by e.attempt desc limit 1`
  if (only === null) return null
  const rows = await context.read(
    sql`select e.output from ${context.tables.history} e where e.workflow_id = ${context.id(workflowId)} and ${only}`,
  )
  return rows[0] ? { output: json(rows[0], 'output') } : null
}

/** Few workflows are sent back, so that a look at all that they have completed is cheap enough for them; `null`: nothing has. */
async function lastOfRound(context: SqlContext, workflowId: string, rounds: Rounds): Promise<Sql | null> {
  if (rounds === null) return lastCompleted
  const rows = await context.read(
    sql`select e.id, e.node, e.attempt from ${context.tables.history} e
      where e.workflow_id = ${context.id(workflowId)} and ${raw(completed)}`,
  )
  const last = rows.find(row => isOfThisRound(rounds, attemptIn(row)))
  return last === undefined ? null : sql`e.id = ${context.id(text(last, 'id'))}`
}

function attemptIn(row: Row): { readonly node: string; readonly attempt: number } {
  return { node: text(row, 'node'), attempt: int(row, 'attempt') }
}

/** Active rows are few, and are not looked up by id but by people: no index is kept for it. */
export async function findActive(context: SqlContext, executionId: string): Promise<ActiveExecution | null> {
  const rows = await context.read(
    sql`select ${activeColumns} from ${context.tables.active} a where a.id = ${context.id(executionId)}`,
  )
  return rows[0] ? activeExecution(rows[0]) : null
}

export async function findAncestors(context: SqlContext, ids: readonly string[]): ReturnType<Store['findAncestors']> {
  if (ids.length === 0) return []
  const rows = await context.read(
    sql`select e.id, e.node, e.ancestry_hash, e.parents from ${context.tables.history} e where ${context.among(raw('e.id'), ids)}`,
  )
  return rows.map(row => ({ id: text(row, 'id'), node: text(row, 'node'), parents: ancestry(row).parents }))
}

export async function findEnded(context: SqlContext, executionId: string): ReturnType<Store['findEnded']> {
  const rows = await context.read(
    sql`select e.node, e.kind, e.attempt, e.input, e.output from ${context.tables.history} e where e.id = ${context.id(executionId)}`,
  )
  return rows[0]
    ? {
        node: text(rows[0], 'node'),
        kind: text(rows[0], 'kind') as ExecutionKind,
        attempt: int(rows[0], 'attempt'),
        input: json(rows[0], 'input'),
        output: json(rows[0], 'output'),
      }
    : null
}

/** One range of the key that keeps attempts unique. */
export function findOutputs(
  context: SqlContext,
  workflowId: string,
  prefix: string,
  rounds: Rounds,
): Promise<Map<string, string | null>> {
  const { history } = context.tables
  const within = sql`${history} e where e.workflow_id = ${context.id(workflowId)}
    and e.node >= ${prefix} and e.node < ${`${prefix}\u{10ffff}`} and e.kind = 'forward'`
  return outputsBehind(context, { prefix, within }, rounds)
}

/** Numbers are no range of names: `10` comes before `2`. Each is looked up by its key, however few others there seem to be. */
export function findFirstOutputs(
  context: SqlContext,
  workflowId: string,
  { prefix, count }: FirstOutputs,
  rounds: Rounds,
): Promise<Map<string, string | null>> {
  const { dialect, tables } = context
  const names = context.rows('r', {
    columns: { workflow_id: 'id', node: 'text', kind: 'text' },
    rows: Array.from({ length: count }, (_, index) => [workflowId, `${prefix}${index}`, 'forward']),
  })
  const within = sql`${names} ${dialect.keyedJoin} ${tables.history} e
    on ${dialect.sameKey('e.workflow_id', 'r.workflow_id')} and e.node = r.node and e.kind = r.kind where 1 = 1`
  return outputsBehind(context, { prefix, within }, rounds)
}

async function outputsBehind(
  context: SqlContext,
  { prefix, within }: { readonly prefix: string; readonly within: Sql },
  rounds: Rounds,
): Promise<Map<string, string | null>> {
  const rows = await context.read(
    sql`select e.node, e.attempt, e.output from ${within} and e.outcome in ${raw(successes)} order by e.node, e.attempt`,
  )
  const current = rows.filter(row => isOfThisRound(rounds, attemptIn(row)))
  return new Map(current.map(row => [text(row, 'node').slice(prefix.length), json(row, 'output')]))
}

/** Only the names of items have a slash. */
export async function findItems(
  context: SqlContext,
  workflowId: string,
  rounds: Rounds,
): Promise<Map<string, string | null>> {
  const rows = await context.read(
    sql`select e.node, e.attempt, e.input from ${context.tables.history} e where e.workflow_id = ${context.id(workflowId)}
      and e.node like '%/%' and e.kind = 'forward' and e.outcome in ${raw(successes)} order by e.node, e.attempt`,
  )
  const current = rows.filter(row => isOfThisRound(rounds, attemptIn(row)))
  return new Map(current.map(row => [text(row, 'node'), json(row, 'input')]))
}

export async function workflowInput(context: SqlContext, workflowId: string): Promise<string | null> {
  const rows = await context.read(
    sql`select w.input from ${context.tables.workflows} w where w.id = ${context.id(workflowId)}`,
  )
  return rows[0] ? json(rows[0], 'input') : null
}

export async function workflowTags(context: SqlContext, workflowId: string): Promise<string[]> {
  const rows = await context.read(
    sql`select t.tag from ${context.tables.tags} t where t.workflow_id = ${context.id(workflowId)} order by t.tag`,
  )
  return rows.map(row => text(row, 'tag'))
}

export async function nextDueAt(context: SqlContext, workflowId?: string): Promise<number | null> {
  const only = workflowId === undefined ? raw('') : sql` and a.workflow_id = ${context.id(workflowId)}`
  const rows = await context.read(
    sql`select min(a.due_at) as due from ${context.tables.active} a where a.state in ('scheduled', 'suspended')${only}`,
  )
  return rows[0] ? optionalInt(rows[0], 'due') : null
}

export async function queuesOf(context: SqlContext, handlers: readonly string[]): Promise<string[]> {
  if (handlers.length === 0) return []
  const rows = await context.read(
    sql`select distinct a.queue from ${context.tables.active} a where ${oneOf(raw('a.handler'), handlers)}`,
  )
  return rows.map(row => text(row, 'queue'))
}

/** From the side of the rows, which are few: finished workflows are never looked at. JSON cannot be compared, so ids are. */
export async function findOutdated(
  context: SqlContext,
  generations: ReadonlyMap<string, number>,
  limit: number,
): Promise<WorkflowRecord[]> {
  if (generations.size === 0) return []
  const older = join(
    [...generations].map(([type, generation]) => sql`(a.handler = ${type} and w.generation < ${generation})`),
    ' or ',
  )
  const rows = await context.read(
    sql`select ${workflowColumns} from (select distinct a.workflow_id from ${context.tables.active} a
        join ${context.tables.workflows} w on w.id = a.workflow_id
        where (${older}) and w.frozen is null and w.state in ('ready', 'paused') limit ${limit}) o
      join ${context.tables.workflows} w on w.id = o.workflow_id`,
  )
  return rows.map(workflowRecord)
}
