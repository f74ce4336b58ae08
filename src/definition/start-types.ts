/** What `start` asks for, told from the type parameters of a workflow class. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { HeroRef } from './hero.ts'

/** The key under which a class carries its type parameters, for the compiler only. */
export declare const typeParameters: unique symbol

/** The input as steps read it: of a schema, its output. */
export type ParsedInput<Input> = Input extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Input> : Input

/** The hero type of a workflow class, as it was written. */
export type HeroOf<W> = W extends { readonly [typeParameters]: { readonly hero: infer Hero } } ? Hero : never

/** The input type of a workflow class as it was written: an object type or the type of a schema. */
export type DeclaredInput<W> = W extends { readonly [typeParameters]: { readonly input: infer Input } } ? Input : never

/** The type of `this.input`. */
export type InputOf<W> = ParsedInput<DeclaredInput<W>>

/** The input as `start` takes it: of a schema, its input, where fields with a default may be left out. */
export type StartInput<W> = GivenInput<DeclaredInput<W>>

export type GivenInput<Input> = Input extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Input> : Input

/**
 * The second argument of `start`. A hero type with `| null` still wants the key, so that nobody forgets it; one with
 * `| undefined` does not. The input may be left out when it has no required field.
 */
export type StartWhat<W> = StartHero<HeroOf<W>> & StartWithInput<StartInput<W>>

/** Put behind a class to let it be started without a second argument, or to say why not. */
export type StartsAlone<W> = NoFields extends StartWhat<W> ? unknown : 'this workflow needs a hero or an input'

/** Extends every type that has no required field. */
type NoFields = Record<never, never>

type StartHero<Hero> = [NonNullable<Hero>] extends [never]
  ? { readonly hero?: null | undefined }
  : undefined extends Hero
    ? { readonly hero?: Hero | HeroRef<NonNullable<Hero>> | null }
    : { readonly hero: Hero | HeroRef<NonNullable<Hero>> }

type StartWithInput<Input> = NoFields extends Input ? { readonly input?: Input } : { readonly input: Input }
