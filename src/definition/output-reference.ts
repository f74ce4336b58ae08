/**
 * References to outputs inside the arguments of a node: what stands there until the node runs. At rest a reference is a
 * tag that only arguments may hold; an input or an output that contains one is refused.
 */
import { refuseTag } from '../primitives/read-value.ts'
import type { ExtraTags } from '../primitives/tagged-types.ts'
import type { StorableLeaf } from './storable.ts'

declare const outputType: unique symbol

/** Stands for what a node will return, or for what several will, in their order. */
export class OutputReference<Output = unknown> {
  /** The id of a node, or the ids of several. */
  readonly nodes: string | readonly string[]
  /** Only for the compiler. */
  declare readonly [outputType]: Output

  constructor(nodes: string | readonly string[]) {
    this.nodes = nodes
    Object.freeze(this)
  }
}

/** A type in which references may stand in for any part, as long as what they refer to is of the part's type. */
export type WithReferences<T> = OutputReference<T> | WithReferencesInside<T>

type WithReferencesInside<T> = T extends StorableLeaf
  ? T
  : T extends ReadonlySet<infer Element>
    ? ReadonlySet<WithReferences<Element>>
    : T extends ReadonlyMap<infer Key, infer Value>
      ? ReadonlyMap<WithReferences<Key>, WithReferences<Value>>
      : T extends object
        ? { readonly [K in keyof T]: WithReferences<T[K]> }
        : T

export const referenceTags: ExtraTags = {
  write: value =>
    value instanceof OutputReference
      ? { tag: typeof value.nodes === 'string' ? 'output' : 'outputs', value: value.nodes }
      : undefined,
  read: (tag, value) => new OutputReference(referredIds(tag, value)),
}

/** What a tag refers to. Throws for anything that `referenceTags` cannot have written. */
export function referredIds(tag: unknown, value: unknown): string | readonly string[] {
  if (tag === 'output' && typeof value === 'string') return value
  if (tag === 'outputs' && Array.isArray(value) && value.every(id => typeof id === 'string')) return value
  return refuseTag(tag)
}
