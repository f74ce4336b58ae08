/**
 * What a node has left behind, decoded. The output of an `each` node is put together from those of its items, so that no
 * row has to hold them all.
 */
import { type Graph, itemSeparator } from '../definition/graph.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution, EndedExecution, WorkflowRecord } from '../store/records.ts'
import { isOfThisRound } from '../store/rounds.ts'
import type { Store } from '../store/store.ts'
import { namesOf } from './parents.ts'
import { undoneBy } from './stored-input.ts'

/** Whose outputs are read, and of which round; `rounds: null` reads those of any. */
type Source = Pick<WorkflowRecord, 'id' | 'rounds'>

/** As it rests in the database: the text of one row, or those of the items. */
type StoredOutput = { readonly output: string | null } | { readonly items: readonly (string | null)[] }

interface Wanted {
  readonly node: string
  /** Of an `each` node so many items are read, the first ones. */
  readonly maxItems: number
}

/** `null` when the node has not completed in this round. */
export async function readOutput(
  store: Store,
  graph: Graph,
  workflow: Source,
  node: string,
): Promise<{ readonly value: unknown } | null> {
  const found = await findStoredOutput(store, graph, workflow, { node, maxItems: Number.POSITIVE_INFINITY })
  if (found === null) return null
  return { value: 'items' in found ? found.items.map(decodeValue) : decodeValue(found.output) }
}

/** The same for those who show it without bringing it to life. */
export async function findStoredOutput(
  store: Store,
  graph: Graph,
  workflow: Source,
  { node, maxItems }: Wanted,
): Promise<StoredOutput | null> {
  const names = namesOf({ renamed: graph.renamed }, graph.idOf(node))
  for (const name of names) {
    const found = await store.findOutput(workflow.id, name, workflow.rounds)
    if (found === null) continue
    // Somebody may have resolved the node by hand, with an output of its own.
    const isEach = graph.find(names[0] ?? name)?.kind === 'each' && found.output === null
    return isEach ? { items: await itemOutputs(store, workflow, names, maxItems) } : found
  }
  return null
}

/** For an execution. Of several rounds, one that undoes sees the one that it undoes. */
export async function readOutputFor(
  store: Store,
  graph: Graph,
  { execution, workflow }: ClaimedExecution,
  node: string,
): Promise<{ readonly value: unknown } | null> {
  if (execution.kind !== 'compensate' || workflow.rounds === null) return readOutput(store, graph, workflow, node)
  const names = namesOf({ renamed: graph.renamed }, graph.idOf(node))
  const undone = undoneBy(execution.input)
  const before = await findAncestor(store, workflow.id, undone, names)
  const found = before && graph.find(before.node)?.kind !== 'each' ? await store.findEnded(before.id) : null
  if (found !== null) return { value: decodeValue(found.output) }
  // What an earlier round has left is all that there may be for whoever undoes something of one.
  const done = await store.findEnded(undone)
  const isOfEarlier = done !== null && !isOfThisRound(workflow.rounds, done)
  return readOutput(store, graph, isOfEarlier ? { id: workflow.id, rounds: null } : workflow, node)
}

/** So many steps back are asked for one after the other. What lies further back is looked for in all of history. */
const nearby = 8

type Ancestor = Awaited<ReturnType<Store['findAncestors']>>[number]

/** The attempt at the node that the execution has come from. */
async function findAncestor(
  store: Store,
  workflowId: string,
  id: string,
  names: readonly string[],
): Promise<Ancestor | null> {
  const rows = new Map<string, Ancestor>()
  let edge: readonly string[] = [id]
  for (let steps = 0; edge.length > 0; steps++) {
    const found = steps < nearby ? await store.findAncestors(edge) : allOf(await store.history(workflowId))
    for (const row of found) rows.set(row.id, row)
    const before = ancestorIn(rows, id, names)
    if (before !== null || steps === nearby) return before
    edge = found.flatMap(({ parents }) => parents.filter(parent => !rows.has(parent)))
  }
  return null
}

function allOf(history: readonly EndedExecution[]): Ancestor[] {
  return history.map(({ id, node, ancestry }) => ({ id, node, parents: ancestry.parents }))
}

/** The nearest one that is known. */
function ancestorIn(rows: ReadonlyMap<string, Ancestor>, id: string, names: readonly string[]): Ancestor | null {
  const seen = new Set([id])
  // What is added on the way is looked at, too.
  for (const each of seen) {
    const row = rows.get(each)
    if (row !== undefined && each !== id && names.includes(row.node)) return row
    for (const parent of row?.parents ?? []) seen.add(parent)
  }
  return null
}

/** In the order of the items; one that was skipped has left nothing. */
async function itemOutputs(
  store: Store,
  { id, rounds }: Source,
  names: readonly string[],
  maxItems: number,
): Promise<(string | null)[]> {
  const values: (string | null)[] = []
  // Under its former names first: what was done again counts as it was done last.
  for (const name of names.toReversed()) {
    const prefix = `${name}${itemSeparator}`
    const outputs = Number.isFinite(maxItems)
      ? await store.findFirstOutputs(id, { prefix, count: maxItems }, rounds)
      : await store.findOutputs(id, prefix, rounds)
    for (const [index, output] of outputs) values[Number(index)] = output
  }
  return Array.from(values, value => value ?? null)
}
