/**
 * Walks a value and writes it as tagged JSON, keeping the path for error messages. One writer writes one value. Refuses
 * everything that would not come back the same.
 */
import { types } from 'node:util'
import { UnstorableValueError, ValueTooLargeError } from '../errors.ts'
import { describeError } from './describe-error.ts'
import {
  bigintType,
  type ExtraTags,
  numberType,
  type TaggedType,
  taggedTypeOf,
  tagKey,
  textType,
} from './tagged-types.ts'

const maxDepth = 100

export interface WriterOptions {
  readonly what: string
  readonly maxBytes: number
  readonly sortKeys: boolean
  readonly extraTags?: ExtraTags | undefined
}

export class ValueWriter {
  readonly #options: WriterOptions
  readonly #path: (string | number)[] = []
  readonly #ancestors: object[] = []
  #written = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * Returns JSON text. Throws `UnstorableValueError` with the path of the offender, also when a getter or proxy throws.
   * The exact size is the caller's to check; far beyond the limit writing stops with `ValueTooLargeError`.
   */
  write(value: unknown): string {
    try {
      return this.#any(value)
    } catch (error) {
      if (error instanceof UnstorableValueError || error instanceof ValueTooLargeError) throw error
      throw this.#refusal(`reading it threw (${describeError(error).message})`)
    }
  }

  #any(value: unknown): string {
    switch (typeof value) {
      case 'string':
        return isSafeText(value) ? this.#counted(JSON.stringify(value)) : this.#tagged(textType, value)
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? this.#counted(`${value}`)
          : this.#tagged(numberType, value)
      case 'boolean':
        return this.#counted(`${value}`)
      case 'bigint':
        return this.#tagged(bigintType, value)
      case 'undefined':
        return this.#counted(`{"${tagKey}":"undefined"}`)
      case 'object':
        return value === null ? this.#counted('null') : this.#nested(value)
      default:
        throw this.#refusal(`a ${typeof value}`)
    }
  }

  #nested(value: object): string {
    if (this.#ancestors.includes(value)) throw this.#refusal('a cycle (an object inside itself)')
    if (this.#ancestors.length >= maxDepth) throw this.#refusal(`more than ${maxDepth} levels of nesting`)
    this.#ancestors.push(value)
    const text = this.#object(value)
    this.#ancestors.pop()
    return text
  }

  #object(value: object): string {
    const className = classNameOf(value)
    if (className === undefined) return this.#record(value as Record<string, unknown>)
    if (className === 'Array' && Array.isArray(value)) return this.#items(value)
    if (className === 'Set' && types.isSet(value)) return `{"${tagKey}":"set","value":${this.#items([...value])}}`
    if (className === 'Map' && types.isMap(value)) return this.#map(value)
    if (types.isDate(value) && Number.isNaN(value.getTime())) throw this.#refusal('an invalid Date')
    const type = taggedTypeOf(value, className)
    if (type) return this.#tagged(type, value)
    const extra = this.#options.extraTags?.write(value)
    if (extra) return this.#counted(`{"${tagKey}":"${extra.tag}","value":${JSON.stringify(extra.value)}}`)
    if (types.isPromise(value)) throw this.#refusal('a promise (is an await missing?)')
    throw this.#refusal(`an instance of ${className || 'an unnamed class'}`)
  }

  #record(record: Record<string, unknown>): string {
    const keys = Object.keys(record)
    const symbols = Object.getOwnPropertySymbols(record)
    if (symbols.some(key => Object.prototype.propertyIsEnumerable.call(record, key)))
      throw this.#refusal('a symbol as key')
    if (this.#options.sortKeys) keys.sort()
    let members = ''
    for (const key of keys) {
      this.#path.push(key)
      if (!isSafeText(key)) throw this.#refusal('a key with U+0000 or half a surrogate pair')
      const value = record[key]
      if (value !== undefined) members += `${members && ','}${this.#counted(JSON.stringify(key))}:${this.#any(value)}`
      this.#path.pop()
    }
    const text = this.#counted(`{${members}}`, 2)
    return Object.hasOwn(record, tagKey) ? `{"${tagKey}":"object","value":${text}}` : text
  }

  #items(items: readonly unknown[]): string {
    const texts = Array.from(items, (item, index) => this.#at(index, item))
    return this.#counted(`[${texts.join(',')}]`, 2)
  }

  #map(map: Map<unknown, unknown>): string {
    const pairs = [...map].map(([key, value], index) => {
      this.#path.push(index)
      const pair = `[${this.#at('key', key)},${this.#at('value', value)}]`
      this.#path.pop()
      return pair
    })
    return this.#counted(`{"${tagKey}":"map","value":[${pairs.join(',')}]}`, 2)
  }

  #at(segment: string | number, value: unknown): string {
    this.#path.push(segment)
    const text = this.#any(value)
    this.#path.pop()
    return text
  }

  #tagged(type: TaggedType, value: unknown): string {
    return this.#counted(`{"${tagKey}":"${type.tag}","value":${JSON.stringify(type.write(value))}}`)
  }

  /**
   * Objects that share parts are written in full at each place, which can grow without bound. Far beyond the limit the
   * exact size no longer matters, so writing ends there.
   */
  #counted(text: string, length = text.length): string {
    this.#written += length
    const { what, maxBytes } = this.#options
    if (this.#written > maxBytes * 4) throw new ValueTooLargeError(what, this.#written, maxBytes)
    return text
  }

  #refusal(reason: string): UnstorableValueError {
    return new UnstorableValueError(this.#options.what, printedPath(this.#path), reason)
  }
}

/** Undefined for plain objects, of any realm or without prototype; otherwise the name of the class, maybe empty. */
function classNameOf(value: object): string | undefined {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return undefined
  if (prototype === Array.prototype) return 'Array'
  const name: unknown = Object.hasOwn(prototype, 'constructor') ? prototype.constructor?.name : ''
  if (name === 'Object' && Object.getPrototypeOf(prototype) === null) return undefined
  return String(name)
}

/** Most text has nothing to look at twice, so a cheap scan comes before the one that pairs surrogates. */
function isSafeText(text: string): boolean {
  if (!/[\0\ud800-\udfff]/.test(text)) return true
  return !text.includes('\0') && !/\p{Cs}/u.test(text)
}

function printedPath(path: readonly (string | number)[]): string {
  const segments = path.map(segment => {
    if (typeof segment === 'number') return `[${segment}]`
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`
  })
  return `$${segments.join('')}`
}
