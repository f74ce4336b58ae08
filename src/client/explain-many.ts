/** Explaining thousands of workflows at once: what may be asked for, and how it is found. The answer is the engine's. */
import type { Engine } from '../engine/engine.ts'
import { type Explanation, explainWorkflows } from '../engine/explain-workflows.ts'
import { InvalidArgumentError } from '../errors.ts'
import { maxReadinessIds } from '../store/readiness-facts.ts'
import { filterFrom, type ListAnyOptions } from './workflow-list.ts'

/** Newest first; `limit` is 1 to 5,000, which it also is where none is given. */
export type ExplainFilter = Pick<ListAnyOptions, 'state' | 'at' | 'tag' | 'limit'>

export async function explainMany(engine: Engine, which: readonly string[] | ExplainFilter): Promise<Explanation[]> {
  const { store } = engine
  const ids = isList(which) ? which.filter(id => store.isId(id)) : await idsOf(engine, which)
  if (ids.length > maxReadinessIds) {
    throw new InvalidArgumentError(
      `${ids.length} workflows are too many for one call of explainMany: give at most ${maxReadinessIds} ids at a time.`,
    )
  }
  return explainWorkflows(engine, ids)
}

function isList(which: readonly string[] | ExplainFilter): which is readonly string[] {
  return Array.isArray(which)
}

async function idsOf({ store }: Engine, { limit = maxReadinessIds, ...filter }: ExplainFilter): Promise<string[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > maxReadinessIds) {
    throw new InvalidArgumentError(
      `The limit of explainMany must be a whole number from 1 to ${maxReadinessIds}, not ${String(limit)}.`,
    )
  }
  const found = await store.listWorkflows({ ...filterFrom(store, null, filter), limit })
  return found.map(({ workflow }) => workflow.id)
}
