/**
 * Takes over what nobody will report on: ends those attempts and begins the next ones. A row that cannot be taken over
 * stops no other, and one that somebody has locked is passed over, unless the caller has time to wait its turn.
 */
import type { WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import { ChangeDraft } from './change-draft.ts'
import { type Course, graphIsMissing, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import { decideTakeover } from './decide-recovery.ts'
import { type Engine, historyToo, holds } from './engine.ts'
import { mayBeUndone } from './finish-targets.ts'
import { IdPool, isOutOfIds, withEnoughIds } from './id-pool.ts'

/** The workflows of which something is left, because it could not be taken over. */
export interface Leftovers {
  /** Somebody else has them locked, or they are gone. */
  readonly passed: Set<string>
  /** What stood in the way of others. */
  readonly failed: Map<string, unknown>
}

export function noLeftovers(): Leftovers {
  return { passed: new Set(), failed: new Map() }
}

/** How long somebody else may keep a workflow locked while it is waited for. No session waits less than two seconds for a lock. */
const patienceMs = 1000

/**
 * Takes over what dead workers have left, up to `limit` rows. Tells how many were found. Waits for nobody: what cannot be taken over
 * now is added to `left`, and workflows that stand there are not looked at again.
 */
export async function recover(
  engine: Engine,
  handlers: readonly string[],
  limit: number,
  left: Leftovers,
): Promise<number> {
  const rows = await engine.store.findAbandoned(handlers, limit, { except: [...left.passed, ...left.failed.keys()] })
  const { passed, failed } = await takeOver(engine, rows)
  for (const id of passed) left.passed.add(id)
  for (const [id, error] of failed) left.failed.set(id, error)
  return rows.length
}

export interface TakeoverCall {
  /** For its turn, for a moment. Then the rows should be those of one workflow, or what is locked keeps others waiting. */
  readonly waits?: boolean
  /** Which of the rows are still to be taken over. Asked last of all, when they are locked. */
  still?(rows: readonly ActiveExecution[]): readonly ActiveExecution[]
}

export async function takeOver(
  engine: Engine,
  rows: readonly ActiveExecution[],
  { waits = false, still = all => all }: TakeoverCall = {},
): Promise<Leftovers> {
  const left = noLeftovers()
  await takeOverEach({ engine, waits, still, left }, rows)
  return left
}

/** `null`: nothing has failed. */
export function failureOf({ failed }: Leftovers): AggregateError | null {
  if (failed.size === 0) return null
  const workflows = failed.size === 1 ? 'a workflow' : `${failed.size} workflows`
  return new AggregateError([...failed.values()], `Abandoned steps of ${workflows} were not taken over.`)
}

interface TakingOver extends Required<TakeoverCall> {
  readonly engine: Engine
  readonly left: Leftovers
}

/** In one transaction; if the database will never take that, in halves, until the culprit stands alone. */
async function takeOverEach(work: TakingOver, rows: readonly ActiveExecution[]): Promise<void> {
  if (rows.length === 0) return
  const { engine, waits, left } = work
  try {
    await takeOverTogether(work, rows)
  } catch (error) {
    if (rows.length > 1 && engine.store.isLasting(error)) {
      const middle = Math.ceil(rows.length / 2)
      await takeOverEach(work, rows.slice(0, middle))
      await takeOverEach(work, rows.slice(middle))
      return
    }
    const isLocked = waits && engine.store.isTransient(error)
    for (const { workflowId } of rows) {
      if (isLocked) left.passed.add(workflowId)
      else left.failed.set(workflowId, error)
    }
  }
}

/** What has changed its graph meanwhile, or is locked, is found again by the next look. */
async function takeOverTogether(work: TakingOver, rows: readonly ActiveExecution[]): Promise<void> {
  const { engine, waits, left } = work
  const ids = [...new Set(rows.map(row => row.workflowId))]
  const courses = await engine.courses.of([...(await engine.store.workflowStates(ids)).values()])
  const pool = new IdPool(engine.ids)
  const passed = new Set<string>()
  const failed = new Map<string, unknown>()
  // A worker may be alive after all, and write checkpoints: the row as it is now counts, and is kept from changing.
  const targets = ids.map(workflowId => ({ workflowId, lockRows: true, withLatest: true }))
  const changes = await withEnoughIds(engine.ids, () => {
    pool.rewind()
    for (const id of ids) passed.add(id)
    failed.clear()
    const look = (facts: WorkflowFacts) => {
      const course = courses.get(facts.workflow.id)
      return course && mayBeUndone(course, facts.workflow) ? historyToo(facts) : null
    }
    const decideOn = (facts: WorkflowFacts) => {
      const { id } = facts.workflow
      passed.delete(id)
      failed.delete(id)
      try {
        const lost = work.still(rows.filter(row => row.workflowId === id && holds(facts, row)))
        return lost.length === 0 ? null : decide(facts, lost, courses.get(id), pool)
      } catch (error) {
        if (isOutOfIds(error)) throw error
        failed.set(id, error)
        return null
      }
    }
    return engine.store.change(targets, decideOn, { look, ...(waits ? { patienceMs } : { passesLocked: true }) })
  })
  engine.ends.noteAll(changes)
  for (const id of passed) left.passed.add(id)
  for (const [id, error] of failed) left.failed.set(id, error)
}

function decide(facts: WorkflowFacts, lost: readonly ActiveExecution[], course: Course | undefined, pool: IdPool) {
  if (!course) throw graphIsMissing(facts.workflow.id)
  if (!isOnCourse(course, facts.workflow)) return null
  const draft = new ChangeDraft(facts, { counts: mayHaveCounters(course) })
  const plan = planOf(course, pool)
  for (const { slot, id } of lost) {
    // It may have got its start mark since it was found, and what was done for its neighbours may have ended it.
    const row = facts.active.find(active => active.id === id)
    if (row && draft.rowIn(slot)?.id === id) decideTakeover(draft, row, plan)
  }
  return draft.build()
}
