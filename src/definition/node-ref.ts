/** What a verb in the static block returns: a node to point at from other declarations of the class. */

declare const outputType: unique symbol

export interface NodeRef<Output = unknown> {
  readonly name: string
  /** Only for the compiler. */
  readonly [outputType]: Output
}
