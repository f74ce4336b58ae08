/**
 * Turns a function that describes a graph into the graph. The function runs once, here and at once; what is left of it is
 * data, in which every mistake has been found.
 */
import { InvalidGraphError } from '../errors.ts'
import type { BuiltGraph } from './built-graph.ts'
import { DraftBranch } from './draft-branch.ts'
import type { GraphBuilder } from './graph-builder.ts'
import { GraphDraft } from './graph-draft.ts'
import { defaultGraphLimits, type GraphLimits } from './graph-limits.ts'

/** Throws `InvalidGraphError` and `GraphTooLargeError`, and whatever `describe` throws. */
export function buildGraph(describe: (w: GraphBuilder) => void, limits: GraphLimits = defaultGraphLimits): BuiltGraph {
  const draft = new GraphDraft(limits)
  const returned: unknown = describe(new DraftBranch(draft, () => null))
  if (typeof (returned as PromiseLike<unknown> | undefined)?.then !== 'function') return draft.finish()
  draft.close()
  // From here on it is refused whatever it adds, and nobody is there to hear of it.
  Promise.resolve(returned).catch(() => undefined)
  throw new InvalidGraphError(
    'The function that describes a graph returned a promise. Fetch what the graph needs first, then build it at once.',
  )
}
