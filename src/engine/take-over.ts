/**
 * Takes over what nobody will report on: ends those attempts and begins the next ones. A row that cannot be taken over
 * stops no other, and one that somebody has locked is left to the next look.
 */
import type { WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import { ChangeDraft } from './change-draft.ts'
import { type Course, graphIsMissing, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import { decideTakeover } from './decide-recovery.ts'
import { type Engine, historyToo, holds } from './engine.ts'
import { mayBeUndone } from './finish-targets.ts'
import { IdPool, withEnoughIds } from './id-pool.ts'

/**
 * Takes over what dead workers have left, up to `limit` rows. Tells how many were found. Waits for nobody: workflows that somebody
 * has locked are added to `left`, and those that stand there are not looked at again.
 */
export async function recover(
  engine: Engine,
  handlers: readonly string[],
  limit: number,
  left: Set<string> = new Set(),
): Promise<number> {
  const rows = await engine.store.findAbandoned(handlers, limit, [...left])
  for (const id of await takeOver(engine, rows)) left.add(id)
  return rows.length
}

/** Answers with the workflows that it has left alone, because somebody else has locked them or they are gone. */
export async function takeOver(engine: Engine, rows: readonly ActiveExecution[]): Promise<ReadonlySet<string>> {
  const left = new Set<string>()
  const failures = await takeOverEach(engine, rows, left)
  if (failures.length === 0) return left
  throw new AggregateError(failures, `${failures.length} abandoned steps were not taken over.`)
}

/** In one transaction; if the database will never take that, in halves, until the culprit stands alone. */
async function takeOverEach(engine: Engine, rows: readonly ActiveExecution[], left: Set<string>): Promise<unknown[]> {
  if (rows.length === 0) return []
  try {
    for (const id of await takeOverTogether(engine, rows)) left.add(id)
    return []
  } catch (error) {
    if (rows.length === 1 || !engine.store.isLasting(error)) return [error]
    const middle = Math.ceil(rows.length / 2)
    return [
      ...(await takeOverEach(engine, rows.slice(0, middle), left)),
      ...(await takeOverEach(engine, rows.slice(middle), left)),
    ]
  }
}

/** What has changed its graph meanwhile, or is locked, is found again by the next look. */
async function takeOverTogether(engine: Engine, rows: readonly ActiveExecution[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(rows.map(row => row.workflowId))]
  const courses = await engine.courses.of([...(await engine.store.workflowStates(ids)).values()])
  const pool = new IdPool(engine.ids)
  const left = new Set<string>()
  // A worker may be alive after all, and write checkpoints: the row as it is now counts, and is kept from changing.
  const targets = ids.map(workflowId => ({ workflowId, lockRows: true, withLatest: true }))
  const changes = await withEnoughIds(engine.ids, () => {
    pool.rewind()
    for (const id of ids) left.add(id)
    const look = (facts: WorkflowFacts) => {
      const course = courses.get(facts.workflow.id)
      return course && mayBeUndone(course, facts.workflow) ? historyToo(facts) : null
    }
    const decideOn = (facts: WorkflowFacts) => {
      left.delete(facts.workflow.id)
      return decide(facts, rows, courses.get(facts.workflow.id), pool)
    }
    return engine.store.change(targets, decideOn, { look, passesLocked: true })
  })
  engine.ends.noteAll(changes)
  return left
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
