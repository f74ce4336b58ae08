/**
 * Heroes: the records that workflows are about. A hero type knows how to take the id from a record and how to load
 * the record again; what is stored is only the name of the type and the id as text.
 */
import { DefinitionError, HeroTypeError } from '../errors.ts'

const brand = Symbol.for('geneva-drive.hero-ref')
declare const recordType: unique symbol

const maxLength = 191

export type HeroId = number | bigint | string
export type HeroIdKind = 'number' | 'bigint' | 'string'

/** A hero by type and id, without its record. Unlike a record it carries its type, so a wrong one is always found. */
export interface HeroRef<HeroRecord = unknown> {
  readonly heroType: string
  readonly id: HeroId
  /** Only for the compiler, which keeps a `HeroRef<Cat>` out of a workflow about dogs. */
  readonly [recordType]: HeroRecord
}

export interface HeroType<HeroRecord, Id extends HeroId = HeroId> {
  readonly type: string
  /** Whether `is` was given, without which the type cannot be told apart from others. */
  readonly recognizes: boolean
  /** A reference to the hero with this id. Throws `HeroTypeError` for an id that cannot be stored. */
  ref(id: Id): HeroRef<HeroRecord>
  /** A reference to this record. Throws `HeroTypeError` for a record that is not of this type or has no proper id. */
  of(record: HeroRecord): HeroRef<HeroRecord>
  /** The record, or `null` when there is none. What the application's own `load` throws comes through. */
  load(id: Id): Promise<HeroRecord | null>
  /** Whether a record is of this type; always true when `defineHero` was not given `is`. */
  is(record: unknown): boolean
}

export interface HeroOptions<HeroRecord, Id extends HeroId> {
  /** Takes the id from a record. */
  readonly id: (record: HeroRecord) => Id
  /** Finds the record again when a step runs; `null` or `undefined` when it is gone. */
  readonly load: (id: NoInfer<Id>) => Loaded<NoInfer<HeroRecord>> | Promise<Loaded<NoInfer<HeroRecord>>>
  /** Tells records of this type from others. Required where a workflow class has several hero types. */
  readonly is?: (record: any) => boolean
}

type Loaded<HeroRecord> = HeroRecord | null | undefined

/** Declares a type of hero. The name is stored with every workflow: keep it when a table or class is renamed. */
export function defineHero<HeroRecord, Id extends HeroId>(
  type: string,
  options: HeroOptions<HeroRecord, Id>,
): HeroType<HeroRecord, Id> {
  checkHeroOptions(type, options)
  const heroType: HeroType<HeroRecord, Id> = {
    type,
    recognizes: options.is !== undefined,
    ref(id) {
      encodeHeroId(id, type)
      return heroRef(type, id)
    },
    of(record) {
      if (!isRecord(record) || !heroType.is(record)) {
        throw new HeroTypeError(
          `${describeHero(record)} is not a hero of type ${type}. Pass a record of that type, or ${type}'s ref(id).`,
        )
      }
      return heroType.ref(options.id(record))
    },
    async load(id) {
      return (await options.load(id)) ?? null
    },
    is: record => options.is === undefined || Boolean(options.is(record)),
  }
  return Object.freeze(heroType)
}

export function isHeroRef(value: unknown): value is HeroRef {
  return typeof value === 'object' && value !== null && brand in value
}

/** A reference as it comes back from storage, which keeps type and id only. Throws `HeroTypeError` for anything else. */
export function heroRefFrom(stored: unknown): HeroRef {
  const { heroType, id } = (isRecord(stored) ? stored : {}) as { heroType?: unknown; id?: unknown }
  if (typeof heroType !== 'string') {
    throw new HeroTypeError(`${describeHero(stored)} is no reference to a hero, like \`Orders.ref(id)\`.`)
  }
  encodeHeroId(id, heroType)
  return heroRef(heroType, id as HeroId)
}

export interface EncodedHeroId {
  readonly text: string
  readonly kind: HeroIdKind
}

/** The stored form of an id. Throws `HeroTypeError` for anything that would not come back as it was. */
export function encodeHeroId(id: unknown, heroType = 'hero'): EncodedHeroId {
  const refuse = (reason: string): never => {
    throw new HeroTypeError(`${describeHero(id)} cannot be the id of a hero (${heroType}): ${reason}`)
  }
  if (typeof id === 'number') {
    return Number.isSafeInteger(id)
      ? { text: String(id), kind: 'number' }
      : refuse('numbers must be safe integers; use a bigint or a string.')
  }
  if (typeof id !== 'bigint' && typeof id !== 'string') return refuse('use a number, a bigint or a string.')
  const text = String(id)
  if (text === '') return refuse('it is empty. Has the record been saved?')
  if (text.length > maxLength) return refuse(`it is longer than ${maxLength} characters.`)
  if (text.includes('\0')) return refuse('it contains a NUL character.')
  if (/\p{Surrogate}/u.test(text)) return refuse('it contains half of a surrogate pair.')
  return { text, kind: typeof id === 'bigint' ? 'bigint' : 'string' }
}

/** Reads what `encodeHeroId` wrote. */
export function decodeHeroId(text: string, kind: HeroIdKind): HeroId {
  if (kind === 'string') return text
  if (!/^-?\d+$/.test(text)) throw new HeroTypeError(`The stored hero id ${JSON.stringify(text)} is not a ${kind}.`)
  const id = kind === 'bigint' ? BigInt(text) : Number(text)
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new HeroTypeError(`The stored hero id ${text} is too large for a number.`)
  }
  return id
}

function checkHeroOptions(type: string, options: HeroOptions<any, any>): void {
  if (typeof type !== 'string' || type === '' || type.length > maxLength || type.includes('\0')) {
    throw new DefinitionError(
      `The name of a hero type must be a text of 1 to ${maxLength} characters without NUL, not ${describeHero(type)}.`,
    )
  }
  for (const name of ['id', 'load', 'is'] as const) {
    const given: unknown = options?.[name]
    if (typeof given === 'function' || (name === 'is' && given === undefined)) continue
    throw new DefinitionError(`defineHero('${type}'): \`${name}\` must be a function, not ${describeHero(given)}.`)
  }
}

function heroRef<HeroRecord>(heroType: string, id: HeroId): HeroRef<HeroRecord> {
  return Object.freeze(Object.defineProperty({ heroType, id }, brand, { value: true }) as HeroRef<HeroRecord>)
}

/** Whether a value can be a record at all; some libraries make theirs callable. */
export function isRecord(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** A value as errors show it, without its contents, which may be private. */
export function describeHero(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${String(value).slice(0, 40)}n`
  if (typeof value === 'object' && value !== null) return `an object of class ${value.constructor?.name ?? '(none)'}`
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value)
}
