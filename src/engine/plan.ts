/**
 * What a decision about a workflow goes by besides the facts: its graph, and what the process that asks can do.
 */
import { type Graph, type GraphNode, itemSeparator } from '../definition/graph.ts'
import { itemDigits } from '../definition/node-name.ts'

/** The worker that may go on at once with the next step, where queue and shutdown allow it. */
export interface RunOn {
  readonly workerId: string
  /** Says yes as often as there is room for another row, which is kept then. */
  serves(queue: string, handler: string): boolean
}

export interface Plan {
  readonly graph: Graph
  /** Only code of this generation or a later one may run what follows. */
  readonly generation: number
  /** The graph has changed since the workflow's rows were written: they are brought in line with it. */
  readonly heals: boolean
  /** The graph that the workflow's rows were written by, where it is known and another one. */
  readonly previous: Graph | null
  /** What the class was before, newest first; empty where nothing in it could be undone. What it has lost since may have been done. */
  readonly former: readonly Graph[]
  /** Names that nodes had in earlier code, each with the one it has now. */
  readonly renamed: ReadonlyMap<string, string>
  /** The name of the code that runs a node. */
  handlerOf(node: GraphNode): string
  /** A fresh id for a row. */
  takeId(): string
}

/** Some code of the application runs for the node: a method of the class, a job, or the class that it starts. */
export function hasCode(graph: Graph, { job, workflow, test, codeless }: GraphNode): boolean {
  if (job !== undefined || workflow !== undefined) return true
  // A workflow without a class has an empty name for it.
  return test === undefined && codeless === undefined && graph.type !== null && graph.type !== ''
}

/** The slot of a chain's row: the same for all its steps, so that only one can be active. */
export const chainSlot = ''

/** The queue of timers and of nodes that run no code of the application. No queue of a class can have this name. */
export const timerQueue = ''

/** The handler of timers, and of nodes without code: any worker may fire or run them, whatever code it has. */
export const timerHandler = '#timer'

/** Where the forward rows of a node are claimed from. */
export function queueOf(graph: Graph, node: GraphNode): string {
  return hasCode(graph, node) ? node.queue : timerQueue
}

/** Timers that wake a node when what it waits for has ended begin so; the store inserts them. */
export const wakeSlotPrefix = '#wake/'

/** Timers of nodes that wait begin so. They name the execution that waits: the node may get another name meanwhile. */
export const waitSlotPrefix = '#wait/'

/** Timers that stop a child begin so. They name the child, and outlive the workflow that they are among the rows of. */
export const cascadeSlotPrefix = '#cascade/'

/** The timer of a workflow's deadline. It goes with the workflow, whoever ends it. */
export const deadlineSlot = '#deadline'

/** Counts what must have ended before the workflow has: a fan-in of all nodes that nothing depends on. */
export const endNode = ''

/** Of a step that reattempts itself so many ended attempts stay in history. */
export const keptAttempts = 100

export function slotOf(graph: Graph, node: string): string {
  if (graph.isChain) return chainSlot
  const each = graph.eachOf(node)
  return each === null ? node : itemSlot(each.id, Number(node.slice(each.id.length + 1)))
}

export function itemSlot(each: string, index: number): string {
  return `${itemSlots(each)}${String(index).padStart(itemDigits, '0')}`
}

/** What the slots of all items begin with. */
export function itemSlots(each: string): string {
  return `${each}${itemSeparator}`
}

/** What people call a node where that is not its id: nodes of graphs that were built at run time have generated ids. */
export function nameBeside({ id, name }: Pick<GraphNode, 'id' | 'name'>): string | null {
  return name === id ? null : name
}

/** The name of the `each` node that an item belongs to, whether the code still has it or not. */
export function ownerOf(node: string): string | null {
  const end = node.lastIndexOf(itemSeparator)
  return end === -1 ? null : node.slice(0, end)
}

/** The name that the code has for a node now. Items go by the name of the node that they belong to. */
export function currentName({ renamed }: Pick<Plan, 'renamed'>, node: string): string {
  const owner = ownerOf(node)
  if (owner === null) return renamed.get(node) ?? node
  return `${renamed.get(owner) ?? owner}${node.slice(owner.length)}`
}
