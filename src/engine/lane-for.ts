/**
 * The lane of a workflow: the key that limits of its class count by, made once, when it is started, and stored as text. What
 * follows stands in the same lane, also where a process without the code schedules it.
 */

import type { GraphNode } from '../definition/graph.ts'
import { decodeHeroId } from '../definition/hero.ts'
import type { HeroIdentity } from '../definition/identify-hero.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { checkKey } from './check-key.ts'
import { timerQueue } from './plan.ts'

/** The lane of a row: that of its workflow where its code belongs to the class, whose limits count by lane. Jobs stand in none. */
export function laneIn(
  { lane }: { readonly lane: string },
  { job, workflow }: Pick<GraphNode, 'job' | 'workflow'>,
  queue: string,
): string {
  return job === undefined && workflow === undefined && queue !== timerQueue ? lane : ''
}

/** Empty where the class has no limits per key, or its key is nothing. */
export function laneFor(definition: WorkflowDefinition, hero: HeroIdentity | null, input: unknown): string {
  const { perKey } = definition.limits
  if (perKey === null) return ''
  const heroKey = hero === null ? null : { type: hero.type, id: decodeHeroId(hero.idText, hero.idKind) }
  const key = perKey.key({ input: input ?? {}, hero: heroKey })
  if (key === undefined || key === null || key === '') return ''
  const text = typeof key === 'number' || typeof key === 'bigint' ? String(key) : key
  return checkKey(text, `The key by which ${definition.type} is limited`)
}
