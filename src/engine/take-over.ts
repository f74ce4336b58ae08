/**
 * Takes over what nobody will report on: ends those attempts and begins the next ones. A row that cannot be taken over
 * stops no other.
 */
import type { WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import { ChangeDraft } from './change-draft.ts'
import { type Course, graphIsMissing, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import { decideTakeover } from './decide-recovery.ts'
import { type Engine, historyToo, holds } from './engine.ts'
import { mayBeUndone } from './finish-targets.ts'
import { IdPool, withEnoughIds } from './id-pool.ts'

/** Takes over what dead workers have left, up to `limit` rows. Tells how many were found. */
export async function recover(engine: Engine, handlers: readonly string[], limit: number): Promise<number> {
  const rows = await engine.store.findAbandoned(handlers, limit)
  await takeOver(engine, rows)
  return rows.length
}

export async function takeOver(engine: Engine, rows: readonly ActiveExecution[]): Promise<void> {
  const failures = await takeOverEach(engine, rows)
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} abandoned steps were not taken over.`)
}

/** In one transaction; if the database will never take that, in halves, until the culprit stands alone. */
async function takeOverEach(engine: Engine, rows: readonly ActiveExecution[]): Promise<unknown[]> {
  if (rows.length === 0) return []
  try {
    await takeOverTogether(engine, rows)
    return []
  } catch (error) {
    if (rows.length === 1 || !engine.store.isLasting(error)) return [error]
    const middle = Math.ceil(rows.length / 2)
    return [...(await takeOverEach(engine, rows.slice(0, middle))), ...(await takeOverEach(engine, rows.slice(middle)))]
  }
}

/** What has changed its graph meanwhile is found again by the next look. */
async function takeOverTogether(engine: Engine, rows: readonly ActiveExecution[]): Promise<void> {
  const ids = [...new Set(rows.map(row => row.workflowId))]
  const courses = await engine.courses.of([...(await engine.store.workflowStates(ids)).values()])
  const pool = new IdPool(engine.ids)
  // A worker may be alive after all, and write checkpoints: the row as it is now counts, and is kept from changing.
  const targets = ids.map(workflowId => ({ workflowId, lockRows: true, withLatest: true }))
  const changes = await withEnoughIds(engine.ids, () => {
    pool.rewind()
    const look = (facts: WorkflowFacts) => {
      const course = courses.get(facts.workflow.id)
      return course && mayBeUndone(course, facts.workflow) ? historyToo(facts) : null
    }
    return engine.store.change(targets, facts => decide(facts, rows, courses.get(facts.workflow.id), pool), { look })
  })
  engine.ends.noteAll(changes)
}

function decide(facts: WorkflowFacts, rows: readonly ActiveExecution[], course: Course | undefined, pool: IdPool) {
  if (!course) throw graphIsMissing(facts.workflow.id)
  if (!isOnCourse(course, facts.workflow)) return null
  const lost = rows.filter(row => row.workflowId === facts.workflow.id && holds(facts, row))
  if (lost.length === 0) return null
  const draft = new ChangeDraft(facts, { counts: mayHaveCounters(course) })
  const plan = planOf(course, pool)
  for (const { slot, id } of lost) {
    // It may have got its start mark since it was found, and what was done for its neighbours may have ended it.
    const row = facts.active.find(active => active.id === id)
    if (row && draft.rowIn(slot)?.id === id) decideTakeover(draft, row, plan)
  }
  return draft.build()
}
