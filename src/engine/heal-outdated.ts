/**
 * Brings workflows in line with newer code that wait for something that is far away, so that a new branch does not have to
 * wait for it as well. Those that are claimed are healed by that.
 */
import type { WorkflowFacts } from '../store/change.ts'
import type { CloserLook } from '../store/store.ts'
import { ChangeDraft } from './change-draft.ts'
import { askedIn } from './close-wait.ts'
import { type Course, isOnCourse, mayHaveCounters, planOf } from './courses.ts'
import { goOnFromOvertaken } from './dead-letters.ts'
import { type Engine, historyToo } from './engine.ts'
import { mayBeUndone } from './finish-targets.ts'
import { heal, mustHeal } from './heal.ts'
import { IdPool, withEnoughIds } from './id-pool.ts'

/** Nothing goes by older code than the first, so nobody need look through what waits for it. */
const firstGeneration = 1

/** How many workflows were found, and how many of them were passed over, because somebody had them locked. */
export interface Healing {
  readonly found: number
  readonly passed: number
}

const nothing: Healing = { found: 0, passed: 0 }

/** Up to `limit` of them. Waits for nobody. */
export async function healOutdated(engine: Engine, types: readonly string[], limit: number): Promise<Healing> {
  const generations = new Map(types.map(type => [type, engine.courses.generationOf(type)] as const))
  for (const [type, generation] of generations) if (generation <= firstGeneration) generations.delete(type)
  if (generations.size === 0) return nothing
  const outdated = await engine.store.findOutdated(generations, limit)
  if (outdated.length === 0) return nothing
  const courses = await engine.courses.of(outdated)
  const pool = new IdPool(engine.ids)
  const passed = new Set<string>()
  const decide = (facts: WorkflowFacts) => {
    passed.delete(facts.workflow.id)
    const course = courses.get(facts.workflow.id)
    if (!course || !isOnCourse(course, facts.workflow)) return null
    const draft = new ChangeDraft(facts, { counts: mayHaveCounters(course) })
    const plan = planOf(course, pool)
    if (!mustHeal(draft, plan)) return null
    heal(draft, plan)
    goOnFromOvertaken(draft, plan)
    return draft.build()
  }
  const changes = await withEnoughIds(engine.ids, () => {
    pool.rewind()
    for (const { id } of outdated) passed.add(id)
    const look = (facts: WorkflowFacts) => {
      const course = courses.get(facts.workflow.id)
      return course === undefined ? null : lookAt(course, facts)
    }
    return engine.store.change(
      outdated.map(workflow => ({ workflowId: workflow.id, withLatest: true })),
      decide,
      { look, passesLocked: true },
    )
  })
  engine.ends.noteAll(changes)
  return { found: outdated.length, passed: passed.size }
}

/** `null`: nothing of its history, and nothing that people have said, can matter. */
function lookAt(course: Course, facts: WorkflowFacts): CloserLook | null {
  const undo = mayBeUndone(course, facts.workflow)
  const decided = askedIn(course.graph, facts)
  return undo || decided.length > 0 ? { ...historyToo(facts), undo, decided } : null
}
