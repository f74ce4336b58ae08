/** What the builder of a graph hands out for its nodes: values to depend on and to refer to in arguments. */
import { OutputReference } from './output-reference.ts'

/** One node of a graph that is being built. */
export class NodeHandle<Output = unknown> {
  readonly id: string
  readonly name: string

  constructor(id: string, name: string) {
    this.id = id
    this.name = name
  }

  /** Stands for what the node will return, anywhere in the arguments of a node that comes after it. */
  get output(): OutputReference<Output> {
    return new OutputReference(this.id)
  }
}

/** Nodes that were made from a list, one per item and in its order. */
export interface FanOut<Output = unknown> extends ReadonlyArray<NodeHandle<Output>> {
  /** Stands for the list of what the nodes will return, in their order. */
  readonly outputs: OutputReference<Output[]>
}

/** The name of a node, which may be declared later, or what the builder returned for one or several. */
export type Dependency = string | NodeHandle | FanOut

export function fanOutOf(handles: readonly NodeHandle[]): FanOut {
  const outputs = new OutputReference(Object.freeze(handles.map(handle => handle.id)))
  const fanOut = Object.freeze(Object.defineProperty([...handles], 'outputs', { value: outputs }))
  fanOuts.add(fanOut)
  return fanOut as unknown as FanOut
}

export function isFanOut(value: unknown): value is FanOut {
  return Array.isArray(value) && fanOuts.has(value)
}

/** An array alone does not tell an empty fan-out from an empty list. */
const fanOuts = new WeakSet<object>()
