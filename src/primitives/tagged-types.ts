/**
 * The values that JSON does not know and that fit into one string: what each is called at rest, how it is written and
 * how it is read back. Containers are not here; writer and reader walk those.
 */
import { types } from 'node:util'

/** The key that marks a tagged value. A user's own object with this key is escaped. */
export const tagKey = '$geneva'

export interface TaggedType {
  readonly tag: string
  /** Lossless: `read(write(value))` equals the value. */
  readonly write: (value: any) => string
  /** Throws for text that `write` cannot have made. */
  readonly read: (text: string) => unknown
}

/** NaN, the infinities and minus zero. */
export const numberType: TaggedType = {
  tag: 'number',
  write: (value: number) => (value === 0 ? '-0' : String(value)),
  read: Number,
}

export const bigintType: TaggedType = { tag: 'bigint', write: String, read: BigInt }

/** Text with U+0000 or half a surrogate pair, which PostgreSQL and UTF-8 cannot hold, as base64 of its UTF-16. */
export const textType: TaggedType = {
  tag: 'text',
  write: (value: string) => Buffer.from(value, 'utf16le').toString('base64'),
  read: text => Buffer.from(text, 'base64').toString('utf16le'),
}

/**
 * Tags for values that have a meaning in one place only, such as references inside the arguments of a node. Wherever they
 * are not given, such values and tags are refused like any that the codec does not know.
 */
export interface ExtraTags {
  /** The tag of a value and the plain JSON that stands for it; undefined for every other object. */
  readonly write: (value: object) => { readonly tag: string; readonly value: unknown } | undefined
  readonly read: ReadTag
}

/** Reads what is none of the codec's own tags. Throws for what it does not know either. */
export type ReadTag = (tag: unknown, value: unknown) => unknown

interface ClassType extends TaggedType {
  /** The real thing, of any realm; not something that only has the class's name. */
  readonly owns: (value: object) => boolean
}

const temporalNames = [
  'Instant',
  'ZonedDateTime',
  'PlainDate',
  'PlainTime',
  'PlainDateTime',
  'PlainYearMonth',
  'PlainMonthDay',
  'Duration',
]

const classTypes = new Map<string, ClassType>([
  ['Date', { tag: 'date', owns: types.isDate, write: (value: Date) => value.toISOString(), read: readDate }],
  [
    'Uint8Array',
    { tag: 'bytes', owns: types.isUint8Array, write: writeBytes, read: text => Uint8Array.from(readBytes(text)) },
  ],
  ['Buffer', { tag: 'buffer', owns: types.isUint8Array, write: writeBytes, read: readBytes }],
  [
    'URL',
    { tag: 'url', owns: value => value instanceof URL, write: (value: URL) => value.href, read: text => new URL(text) },
  ],
  ...temporalNames.map((name): [string, ClassType] => [name, temporalType(name)]),
])

const typesByTag = new Map<string, TaggedType>(
  [numberType, bigintType, textType, ...classTypes.values()].map(type => [type.tag, type]),
)

/** The type of an instance of a supported class; undefined for every other object, subclasses of supported ones included. */
export function taggedTypeOf(value: object, className: string): TaggedType | undefined {
  const type = classTypes.get(className)
  return type?.owns(value) ? type : undefined
}

export function taggedTypeByTag(tag: string): TaggedType | undefined {
  return typesByTag.get(tag)
}

function readDate(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw new Error(`${text} is no date`)
  return date
}

function writeBytes(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
}

function readBytes(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

interface TemporalClass {
  readonly prototype: object
  from(text: string, options: { offset: 'use' }): unknown
}

/**
 * Looks the class up at each use: a polyfill may be installed late. The stored offset of a ZonedDateTime counts, even if
 * the rules of its zone have changed since, because `from` would throw otherwise.
 */
function temporalType(name: string): ClassType {
  const current = () => (globalThis as { Temporal?: Record<string, TemporalClass> }).Temporal?.[name]
  return {
    tag: `Temporal.${name}`,
    owns: value => Object.getPrototypeOf(value) === current()?.prototype,
    write: String,
    read: text => {
      const temporal = current()
      if (!temporal) throw new Error(`this runtime has no Temporal.${name}`)
      return temporal.from(text, { offset: 'use' })
    },
  }
}
