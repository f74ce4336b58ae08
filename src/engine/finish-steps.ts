/**
 * Records what steps came to, many in one transaction. Fences are matched first; what follows a step is written only
 * where its claim still holds. A late report by a worker that lost its claim is refused.
 */
import type { AssumedFacts, NewExecution, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution, ClaimedExecution, CustomEventType, WorkflowRecord } from '../store/records.ts'
import type { EndOfWorkflow, Store } from '../store/store.ts'
import type { Decided } from './arrivals.ts'
import { assumedFacts, isAsAssumed } from './assume.ts'
import { ChangeDraft } from './change-draft.ts'
import { claimedNext } from './claimed-next.ts'
import { type Course, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import { decideFinish } from './decide-finish.ts'
import { type Engine, holds, isSameClaim } from './engine.ts'
import { type FinishRequest, type FinishResult, withProgress } from './finish-request.ts'
import { closerLook, needsHealing, targetFor, usualFollowers } from './finish-targets.ts'
import { type IdPool, withEnoughIds } from './id-pool.ts'
import { isSelective } from './joins.ts'
import type { RunOn } from './plan.ts'
import { settleReport } from './settle-report.ts'
import type { StepReport } from './step-report.ts'

/** Whoever reports tries again, and on fewer workflows at once: nobody waits for what another workflow is locked by. */
const patienceMs = 1500

/** How often the graph of a workflow may change between the look at it and the lock. */
const maxRounds = 10

/** Is told of what is durable while the rest is not: that may wait for others, or be rejected. */
export type OnRecorded = (recorded: ReadonlyMap<FinishRequest, FinishResult>) => void

export async function finishSteps(
  engine: Engine,
  workerId: string,
  requests: readonly FinishRequest[],
  onRecorded: OnRecorded = () => {},
): Promise<FinishResult[]> {
  const results = new Map<FinishRequest, FinishResult>()
  let open = byWorkflow(requests)
  for (let round = 0; open.size > 0 && round < maxRounds; round++) {
    const courses = await engine.courses.of([...open.values()].map(group => group.workflow))
    const { store } = engine
    const call = { engine, workerId, open, courses, results, versions: new Map(), store }
    const moved = await finishGroups(call, onRecorded)
    open = new Map(moved.map(workflow => [workflow.id, { workflow, requests: open.get(workflow.id)?.requests ?? [] }]))
  }
  return requests.map(request => results.get(request) ?? { kind: 'refused' })
}

/**
 * The same for one step, in a transaction that somebody else commits. Nothing may be noted before that. Runs out of ids where
 * more are needed than were reserved: then the whole transaction is begun again.
 */
export async function finishInside(
  engine: Engine,
  store: Pick<Store, 'change'>,
  workerId: string,
  request: FinishRequest,
): Promise<{ readonly result: FinishResult; readonly changes: readonly WorkflowChange[] }> {
  const results = new Map<FinishRequest, FinishResult>()
  const changes: WorkflowChange[] = []
  let workflow: WorkflowRecord | undefined = request.claimed.workflow
  for (let round = 0; workflow !== undefined && round < maxRounds; round++) {
    const open = new Map([[workflow.id, { workflow, requests: [request] }]])
    const courses = await engine.courses.of([workflow])
    const finished = await finishLooking({ engine, workerId, open, courses, results, versions: new Map(), store })
    changes.push(...finished.changes)
    workflow = finished.moved[0]
  }
  return { result: results.get(request) ?? { kind: 'refused' }, changes }
}

/** Whether what was `written` was recorded, where the answer was lost; `open`: it was not, and the claim still holds. */
export async function readBack(
  engine: Engine,
  workerId: string,
  request: FinishRequest,
  written: readonly WorkflowChange[],
): Promise<FinishResult | 'open'> {
  const { execution } = request.claimed
  const found: { answer: FinishResult | 'open' } = { answer: { kind: 'refused' } }
  const target = { workflowId: execution.workflowId, settle: [execution.id], repeated: true }
  await engine.store.change([target], facts => {
    found.answer = holds(facts, execution) ? 'open' : settleReport(facts, request, workerId, written)
    return null
  })
  return found.answer
}

/** Ids for whatever a step may come to, for it alone. More where an earlier try has run out of them. */
export async function reserveFor(engine: Engine, claimed: ClaimedExecution, ids: IdPool): Promise<void> {
  const { workflow } = claimed
  const graph = (await engine.courses.of([workflow])).get(workflow.id)?.graph
  const restart: StepReport = { kind: 'restart', input: null, lane: '', waitMs: 0 }
  const most = spareIds + (graph ? usualFollowers(graph, [{ claimed, report: restart }]) : 0)
  await ids.fill(ids.ranOut ? ids.ids.length * 4 : most)
  ids.ranOut = false
}

/** For what steps rarely lead to: timers, compensations. */
const spareIds = 10
/** No group is about more workflows than that. */
const spareForOthers = 250

/** Ids for what may follow the steps, so that the transaction is hardly ever begun again for want of them. */
export async function reserveIds(
  engine: Engine,
  reports: readonly Pick<FinishRequest, 'claimed' | 'report'>[],
): Promise<void> {
  const groups = [...byWorkflow(reports).values()]
  const courses = await engine.courses.of(groups.map(group => group.workflow))
  let count = 0
  for (const { workflow, requests } of groups) {
    const graph = courses.get(workflow.id)?.graph
    if (graph) count += usualFollowers(graph, requests)
  }
  // Another group may be under way, and take some before this one does; where reports come one by one there is none.
  await engine.ids.ensure(reports.length > 1 ? count + Math.min(count, spareForOthers) : count)
}

interface Group<Request = FinishRequest> {
  readonly workflow: WorkflowRecord
  readonly requests: readonly Request[]
}

interface FinishCall {
  readonly engine: Engine
  readonly workerId: string
  readonly open: ReadonlyMap<string, Group>
  readonly courses: ReadonlyMap<string, Course>
  readonly results: Map<FinishRequest, FinishResult>
  /** Of each workflow, once what was decided is written. */
  readonly versions: Map<string, number>
  /** Where the change is made. */
  readonly store: Pick<Store, 'change'>
}

/** Tells which workflows have taken another course meanwhile; nothing was written for those. */
async function finishGroups(call: FinishCall, onRecorded: OnRecorded): Promise<WorkflowRecord[]> {
  const { ids } = call.engine
  // Each is made again by itself when it runs out of ids: what the first has recorded must not be reported once more.
  const done = await withEnoughIds(ids, () => finishKnown(call))
  if (done.size === call.open.size) return []
  // What follows that is this worker's already, and would count as forgotten if nobody began it.
  if (call.results.size > 0) onRecorded(call.results)
  const open = new Map([...call.open].filter(([id]) => !done.has(id)))
  const { moved, changes } = await withEnoughIds(ids, () => finishLooking({ ...call, open }))
  for (const decided of decidedIn(call, changes)) call.engine.arrivals.note(decided)
  call.engine.ends.noteAll(changes)
  return moved
}

/** What can be decided on without a look is, and the database says whether that was right. Tells for which it was. */
async function finishKnown(call: FinishCall): Promise<ReadonlySet<string>> {
  const { engine, workerId, open, courses, results } = call
  const revision = revisionOf(open)
  const facts: AssumedFacts[] = []
  const changes: WorkflowChange[] = []
  await whatIsLate(call)
  // From here on in one turn, until all of it is counted: what is assumed must be what is decided on.
  for (const group of revision === undefined ? [] : open.values()) {
    const course = courses.get(group.workflow.id)
    const assumed = course ? assumedFacts(course, group.requests, engine.arrivals.of(group.workflow.id)) : null
    if (!course || assumed === null || assumed === 'later') continue
    const change = decideGroup(call, assumed, { group, course, revision: revision ?? 0 })
    // Its timer stands in a row that nobody has looked at.
    const isTimed = assumed.workflow.deadlineAt !== null && change?.update !== null
    if (change === null || isTimed || !isAsAssumed(course, assumed, change)) {
      forget(results, group)
      continue
    }
    facts.push(assumed)
    changes.push(change)
  }
  if (changes.length === 0) return new Set()
  const now = await engine.arrivals.during(decidedIn(call, changes), () =>
    engine.store.changeAssumed(facts, changes, { workerId, revision: revision ?? null }),
  )
  if (now === null) {
    for (const group of open.values()) forget(results, group)
    return new Set()
  }
  engine.ends.noteAll(changes, endsIn(facts, changes, { courses, now }))
  const done = new Set(changes.map(change => change.workflowId))
  for (const id of done) {
    for (const request of open.get(id)?.requests ?? []) {
      const result = results.get(request)
      // Nobody has seen the rows yet.
      if (result?.kind !== 'recorded' || result.next === null) continue
      for (const { execution } of [result.next, ...result.also])
        Object.assign(execution, { createdAt: now, dueAt: now, startedAt: now })
    }
  }
  return done
}

/** Once what is under way has been recorded, more may be known. Whoever does not wait for it here waits for its lock. */
async function whatIsLate({ engine: { arrivals }, open, courses }: FinishCall): Promise<void> {
  const late: Promise<void>[] = []
  for (const { workflow, requests } of open.values()) {
    const settled = arrivals.settled(workflow.id)
    const course = courses.get(workflow.id)
    if (settled === null || course === undefined) continue
    if (assumedFacts(course, requests, arrivals.of(workflow.id)) === 'later') late.push(settled)
  }
  if (late.length > 0) await Promise.all(late)
}

/** What others on the way to the same fan-ins may go by. Where joins select, everybody looks. */
function decidedIn({ courses, versions }: FinishCall, changes: readonly WorkflowChange[]): Decided[] {
  return changes.flatMap(change => {
    const graph = courses.get(change.workflowId)?.graph
    const version = versions.get(change.workflowId)
    if (graph === undefined || version === undefined || graph.isChain || isSelective(graph)) return []
    return { change, graph, version }
  })
}

/** Nothing was written: what was decided does not hold, and if the workflow is gone, nobody decides on them again. */
function forget(results: FinishCall['results'], { requests }: Group): void {
  for (const request of requests) results.delete(request)
}

/**
 * What is known of the workflows that have ended by one step. It is the last of all, unless it does not come after others: a way was not taken, or
 * they lead to nothing, or to something that does nothing itself. Then whoever asks has to read which one is.
 */
function endsIn(
  facts: readonly AssumedFacts[],
  changes: readonly WorkflowChange[],
  { courses, now }: { readonly courses: FinishCall['courses']; readonly now: number },
): Map<string, EndOfWorkflow> {
  const ends = new Map<string, EndOfWorkflow>()
  changes.forEach((change, index) => {
    const { workflowId, update, endings, continuation } = change
    const known = facts[index]
    if (known?.active.length !== 1 || update?.state !== 'finished' || continuation !== null) return
    // Where others have ended before, what follows all of them may have done nothing itself.
    if (known.counted.length > 0 || courses.get(workflowId)?.graph.hasConditions !== false) return
    const last = endings.find(({ execution }) => execution.id === known.active[0]?.id)
    const workflow = { ...workflowAfter(known.workflow, change), endedAt: now }
    ends.set(workflowId, { workflow, output: last?.output ?? null })
  })
  return ends
}

/** Of the limits that all go by, `null` where none begins anything; `undefined` where they do not agree. */
function revisionOf(open: FinishCall['open']): number | null | undefined {
  let revision: number | null = null
  for (const { requests } of open.values()) {
    for (const { runOn } of requests) {
      if (runOn === null) continue
      if (revision !== null && revision !== (runOn.revision ?? 0)) return undefined
      revision = runOn.revision ?? 0
    }
  }
  return revision
}

async function finishLooking(call: FinishCall): Promise<{ moved: WorkflowRecord[]; changes: WorkflowChange[] }> {
  const { workerId, open, courses, store } = call
  const moved = new Map<string, WorkflowRecord>()
  const decide = (facts: WorkflowFacts, revision: number | null): WorkflowChange | null => {
    const group = open.get(facts.workflow.id)
    const course = courses.get(facts.workflow.id)
    if (!group || !course) return null
    // The transaction may be tried more than once.
    moved.delete(facts.workflow.id)
    if (!isOnCourse(course, facts.workflow)) {
      moved.set(facts.workflow.id, facts.workflow)
      forget(call.results, group)
      return null
    }
    return decideGroup(call, facts, { group, course, revision })
  }
  const targets = [...open.values()].flatMap(({ workflow, requests }) => {
    const course = courses.get(workflow.id)
    return course ? targetFor(course, requests) : []
  })
  const look = (facts: WorkflowFacts) => {
    const group = open.get(facts.workflow.id)
    const course = courses.get(facts.workflow.id)
    return group && course && isOnCourse(course, facts.workflow) ? closerLook(course, facts, group.requests) : null
  }
  const mayStart = [...open.values()].some(({ requests }) => requests.some(({ report }) => report?.kind === 'child'))
  const changes = await store.change(targets, decide, { workerId, look, mayStart, patienceMs })
  return { moved: [...moved.values()], changes }
}

interface Decision {
  readonly group: Group
  readonly course: Course
  /** That of the limits; `null`: the worker has lost its lease. */
  readonly revision: number | null
}

/** All reports on one workflow, one after the other, into one change. */
function decideGroup(
  call: FinishCall,
  facts: WorkflowFacts,
  { group, course, revision }: Decision,
): WorkflowChange | null {
  const { workerId, results, versions } = call
  const draft = new ChangeDraft(facts, { counts: mayHaveCounters(course) })
  const heals = needsHealing(course, group.requests)
  const rowWith = finderOf(facts.active)
  const decided: { readonly request: FinishRequest; readonly begun: readonly NewExecution[] }[] = []
  for (const request of group.requests) {
    const { execution } = request.claimed
    const found = rowWith(execution.id)
    if (!found || !isSameClaim(found, execution) || draft.rowIn(found.slot)?.id !== found.id) {
      results.set(request, settleReport(facts, request, workerId))
      continue
    }
    const row = withProgress(found, request.progress)
    request.ids.rewind()
    noteEmitted(draft, request)
    const plan = planOf(course, request.ids, heals)
    const isCurrent = revision !== null && (request.runOn?.revision ?? 0) === revision
    const runOn = isCurrent && course.isOwn && request.runOn ? { workerId, serves: inTurn(request.runOn) } : null
    const begun = decideFinish(draft, row, request.report, { plan, runOn })
    request.ids.begun = begun
    decided.push({ request, begun })
  }
  if (decided.length === 0) return null
  const change = draft.build()
  const workflow = workflowAfter(facts.workflow, change)
  versions.set(workflow.id, workflow.version)
  for (const { request, begun } of decided) {
    const [next, ...also] = begun.map(row => claimedNext(request, workflow, row, facts.now ?? 0))
    results.set(request, { kind: 'recorded', next: next ?? null, also })
  }
  return change
}

/** What begins goes by the workflow as it is then, or all that it reports would be taken for known and found to be otherwise. */
function workflowAfter(workflow: WorkflowRecord, { update }: WorkflowChange): WorkflowRecord {
  return update === null ? workflow : { ...workflow, ...update, version: workflow.version + 1 }
}

/** What threw has no outcome that could vouch for what it has said. What was given back will say it again. */
function noteEmitted(draft: ChangeDraft, { claimed, report, emitted }: FinishRequest): void {
  if (report.kind === 'threw' || report.kind === 'released') return
  const { id: executionId, node, nodeName, attempt } = claimed.execution
  for (const { type, payload } of emitted) {
    draft.note(type as CustomEventType, { executionId, node, nodeName, attempt, payload })
  }
}

/** Of several rows that fall due one takes the place of the step that has ended, and the others get places while there are some. */
function inTurn(runOn: NonNullable<FinishRequest['runOn']>): RunOn['serves'] {
  let isTaken = false
  return (queue, handler) => {
    if (isTaken) return runOn.servesAlso?.(queue, handler) ?? false
    isTaken = runOn.serves(queue, handler)
    return isTaken
  }
}

function byWorkflow<Request extends Pick<FinishRequest, 'claimed'>>(
  requests: readonly Request[],
): Map<string, Group<Request>> {
  const groups = new Map<string, { workflow: WorkflowRecord; requests: Request[] }>()
  for (const request of requests) {
    const { workflow } = request.claimed
    const group = groups.get(workflow.id)
    if (group) group.requests.push(request)
    else groups.set(workflow.id, { workflow, requests: [request] })
  }
  return groups
}

/** Most workflows have one row only. */
function finderOf(rows: readonly ActiveExecution[]): (id: string) => ActiveExecution | undefined {
  if (rows.length <= 4) return id => rows.find(row => row.id === id)
  const byId = new Map(rows.map(row => [row.id, row]))
  return id => byId.get(id)
}
