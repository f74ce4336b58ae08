/**
 * Types for values that can be kept in the database. The run-time counterpart is the JSON codec; this one finds
 * mistakes earlier, and gives the benefit of the doubt where it cannot tell.
 */

/** Comes back from the database as it went in. */
export type StorableLeaf =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Date
  | Uint8Array
  | UrlLike
  | TemporalLike

/** By their shape, since not every project has the types of the platform's own. */
interface UrlLike {
  readonly href: string
  readonly searchParams: object
  toJSON(): string
}
interface TemporalLike {
  readonly [Symbol.toStringTag]: `Temporal.${string}`
}

/** A symbol is no code, but as little to be written down. */
type Code = symbol | ((...args: any[]) => any) | (abstract new (...args: any[]) => any)

/** The parts of `T` that cannot be stored, down to five levels; `never` when all is well. */
export type Unstorable<T, Depth extends readonly 0[] = []> = 0 extends 1 & T
  ? never // `any` is not checked
  : unknown extends T
    ? never
    : Depth['length'] extends 5
      ? never
      : T extends void
        ? never
        : T extends StorableLeaf
          ? never
          : T extends Code
            ? T
            : T extends ReadonlySet<infer Element> | readonly (infer Element)[]
              ? Unstorable<Element, [...Depth, 0]>
              : T extends ReadonlyMap<infer Key, infer Value>
                ? Unstorable<Key | Value, [...Depth, 0]>
                : { [K in NamedKey<T>]-?: Unstorable<T[K], [...Depth, 0]> }[NamedKey<T>]

/** Symbols as keys are left out: they are mostly brands that only the compiler knows. */
type NamedKey<T> = keyof T & (string | number)

/** Lets the body of an inline step pass, or says why not. */
export type StorableResult<R> = [Unstorable<Awaited<R>>] extends [never]
  ? unknown
  : 'this step returns a value that cannot be stored'
