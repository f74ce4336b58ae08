/** What the codec promises: what goes in comes out equal, and what would not is refused with its path. */
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { isGenevaError, type UnstorableValueError } from '../../../src/errors.ts'
import { canonicalValue, decodeValue, encodeValue } from '../../../src/primitives/json-codec.ts'

const options = { what: 'The input', maxBytes: 1_000_000 }
const encode = (value: unknown) => encodeValue(value, options)
const roundTrip = (value: unknown) => decodeValue(encode(value))

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('values that are stored', () => {
  test('plain JSON stays plain', () => {
    const value = { a: [1, 'two', null, true, 1e300, { b: '' }], 'ключ "x"': 'é🚀\n' }
    expect(encode(value)).toBe(JSON.stringify(value))
    expect(roundTrip(value)).toEqual(value)
  })

  test('undefined is SQL NULL, and null is not', () => {
    expect(encode(undefined)).toBeNull()
    expect(decodeValue(null)).toBeUndefined()
    expect(encode(null)).toBe('null')
    expect(decodeValue('null')).toBeNull()
  })

  const values: [string, unknown][] = [
    ['a date', new Date('2024-02-29T12:34:56.789Z')],
    ['the last date there is', new Date(8.64e15)],
    ['a bigint', -123456789012345678901234567890n],
    ['bytes', new Uint8Array([0, 1, 254, 255])],
    ['a part of other bytes', new Uint8Array([1, 2, 3, 4]).subarray(1, 3)],
    ['a buffer', Buffer.from('héllo')],
    ['no bytes', new Uint8Array()],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['negative infinity', Number.NEGATIVE_INFINITY],
    ['minus zero', -0],
    ['a URL', new URL('https://user@example.org:8080/päth?q=1#h')],
    [
      'a map',
      new Map<unknown, unknown>([
        ['a', 1],
        [{ k: 1 }, new Date(0)],
        [undefined, undefined],
      ]),
    ],
    ['a set', new Set<unknown>([1, 'a', undefined, new Set([2n])])],
    ['undefined in an array', [undefined, 1, undefined]],
    ['text with NUL', 'a\0b'],
    ['half a surrogate pair', 'x\ud83d'],
    ['the other half', '\ude80x'],
    ['a user object with the tag key', { $geneva: 'date', value: '2024-01-01T00:00:00.000Z' }],
    ['a user object with the tag key twice', { $geneva: { $geneva: 'object', value: new Date(1) } }],
    ['a user object with the tag key only', { $geneva: undefined }],
    ['deep mixtures', { list: [{ when: new Map([['x', [new Date(5), { $geneva: 1 }]]]) }] }],
  ]
  test.each(values)('%s comes back equal', (_name, value) => {
    const restored = roundTrip(value)
    expect(restored).toEqual(value)
    expect(Object.prototype.toString.call(restored)).toBe(Object.prototype.toString.call(value))
    expect(Object.is(roundTrip([value]), value)).toBe(false)
  })

  test('the tagged form is the documented one', () => {
    expect(encode(new Date(0))).toBe('{"$geneva":"date","value":"1970-01-01T00:00:00.000Z"}')
    expect(encode([undefined])).toBe('[{"$geneva":"undefined"}]')
    expect(encode(-0)).toBe('{"$geneva":"number","value":"-0"}')
  })

  test('stored text never holds U+0000 in any form', () => {
    expect(encode({ a: 'x\0y' })).not.toMatch(/\\u0000/)
  })

  test('bytes and buffers keep their kind', () => {
    expect(Buffer.isBuffer(roundTrip(Buffer.from([1])))).toBe(true)
    expect(Buffer.isBuffer(roundTrip(new Uint8Array([1])))).toBe(false)
  })

  test('undefined members are dropped', () => {
    expect(encode({ a: undefined, b: 1 })).toBe('{"b":1}')
  })

  test('holes in arrays come back as undefined', () => {
    const sparse = [1]
    sparse[2] = 3
    expect(roundTrip(sparse)).toStrictEqual([1, undefined, 3])
  })

  test('objects without prototype are stored as plain ones', () => {
    expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toStrictEqual({ a: 1 })
  })

  test('getters are read', () => {
    expect(
      roundTrip({
        get a() {
          return new Date(3)
        },
      }),
    ).toEqual({ a: new Date(3) })
  })

  test('a __proto__ key stays an own key and pollutes nothing', () => {
    const value = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":[1]}}')
    const restored = roundTrip(value) as Record<string, unknown>
    expect(Object.keys(restored)).toEqual(['__proto__', 'a'])
    expect(Object.getPrototypeOf(restored)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(restored, '__proto__')?.value).toEqual({ polluted: true })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    const tagged = decodeValue('{"__proto__":{"$geneva":"date","value":"1970-01-01T00:00:00.000Z"}}') as object
    expect(Object.getPrototypeOf(tagged)).toBe(Object.prototype)
    expect(Object.getOwnPropertyDescriptor(tagged, '__proto__')?.value).toEqual(new Date(0))
  })

  test('values of another realm are stored like our own', () => {
    const foreign = runInNewContext('({ a: [new Date(7)], m: new Map([[1, new Set([2])]]), b: new Uint8Array([9]) })')
    expect(roundTrip(foreign)).toEqual({ a: [new Date(7)], m: new Map([[1, new Set([2])]]), b: new Uint8Array([9]) })
  })

  test('the same object in two places is no cycle', () => {
    const shared = { x: 1 }
    expect(roundTrip([shared, { shared }])).toEqual([{ x: 1 }, { shared: { x: 1 } }])
  })
})

describe('values that are refused', () => {
  class Order {
    id = 1
    toJSON() {
      return 'never called'
    }
  }
  class LocalDate extends Date {}
  const circular: Record<string, unknown> = {}
  circular.list = [circular]
  const circularMap = new Map<string, unknown>()
  circularMap.set('self', circularMap)
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const throwingGetter = {
    get bad(): never {
      throw new Error('no luck')
    },
  }
  const unnamed = Object.create(Object.create(null))
  const misnamed = Object.create({ constructor: { name: 'Date' } })

  const bad: [string, unknown, string, RegExp][] = [
    ['a function', { a: { b: () => 1 } }, '$.a.b', /a function/],
    ['a symbol', [1, Symbol('s')], '$[1]', /a symbol/],
    ['a symbol as key', { a: { [Symbol('s')]: 1 } }, '$.a', /a symbol as key/],
    ['a cycle', circular, '$.list[0]', /a cycle/],
    ['a cycle through a map', circularMap, '$[0].value', /a cycle/],
    ['a class instance', { order: new Order() }, '$.order', /an instance of Order/],
    ['a function in a map key', new Map([[() => 1, 1]]), '$[0].key', /a function/],
    ['a function in a set', { s: new Set([1, () => 1]) }, '$.s[1]', /a function/],
    ['a subclass of Date', [new LocalDate()], '$[0]', /an instance of LocalDate/],
    ['a subclass of Array', new (class List extends Array {})(), '$', /an instance of List/],
    ['an object that only says it is a Date', misnamed, '$', /an instance of Date/],
    ['an object of a nameless class', unnamed, '$', /an unnamed class/],
    ['an anonymous class', new (class {})(), '$', /an unnamed class/],
    ['an error', new Error('x'), '$', /an instance of Error/],
    ['other typed arrays', new Float64Array(1), '$', /an instance of Float64Array/],
    ['a boxed string', new String('x'), '$', /an instance of String/],
    ['a regular expression', /x/, '$', /an instance of RegExp/],
    ['a promise', { p: Promise.resolve() }, '$.p', /await/],
    ['an invalid date', { 'due date': new Date(Number.NaN) }, '$["due date"]', /an invalid Date/],
    ['a getter that throws', { o: throwingGetter }, '$.o.bad', /reading it threw \(no luck\)/],
    ['a revoked proxy', [proxy], '$[0]', /reading it threw/],
    ['a key with NUL', { a: { 'x\0': 1 } }, '$.a["x\\u0000"]', /a key with U\+0000/],
    ['a key with half a surrogate pair', { '\ud800': 1 }, '$["\\ud800"]', /half a surrogate pair/],
  ]
  test.each(bad)('%s, with its path', (_name, value, path, reason) => {
    try {
      encode(value)
      expect.unreachable()
    } catch (error) {
      expect(isGenevaError(error, 'UNSTORABLE_VALUE')).toBe(true)
      expect((error as UnstorableValueError).path).toBe(path)
      expect(String(error)).toMatch(reason)
      expect(String(error)).toContain('The input')
    }
  })

  test('a hundred levels are stored, one more is refused', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'leaf' : [nested(levels - 1)])
    expect(roundTrip(nested(100))).toEqual(nested(100))
    expect(() => encode(nested(101))).toThrow(/more than 100 levels/)
  })

  test('a value beyond its limit, counted in UTF-8 bytes', () => {
    const limited = (value: unknown) => encodeValue(value, { what: 'The output', maxBytes: 10 })
    expect(limited('12345678')).toBe('"12345678"')
    expect(limited('éééé')).toBe('"éééé"')
    expect(() => limited('123456789')).toThrow(/The output takes 11 bytes, the limit is 10/)
    expect(() => limited('ééééé')).toThrow(/takes 12 bytes/)
  })

  test('a value that shares parts without bound ends early', () => {
    let value: unknown = []
    for (let level = 0; level < 60; level += 1) value = [value, value]
    expect(() => encode(value)).toThrow(/The input takes \d+ bytes, the limit is 1000000/)
  })
})

describe('stored text that cannot be read', () => {
  test.each([
    ['', /cannot be read/],
    ['{"a":', /cannot be read/],
    ['{"$geneva":"hologram","value":"x"}', /the tag "hologram" is unknown/],
    ['{"$geneva":"toString","value":"x"}', /the tag "toString" is unknown/],
    ['{"$geneva":7}', /the tag 7 is unknown/],
    ['{"$geneva":"date","value":5}', /does not fit its value/],
    ['{"$geneva":"date","value":"yesterday"}', /yesterday is no date/],
    ['{"$geneva":"bigint","value":"x"}', /BigInt/],
    ['{"$geneva":"url","value":"x"}', /URL/],
    ['{"$geneva":"map","value":[1]}', /something other than pairs/],
    ['{"$geneva":"map","value":[[1]]}', /something other than pairs/],
    ['{"$geneva":"set","value":{}}', /does not fit its value/],
    ['{"$geneva":"object","value":null}', /does not fit its value/],
    ['{"$geneva":"Temporal.PlainDate","value":"2024-01-01"}', /no Temporal.PlainDate/],
  ])('%s', (text, reason) => {
    vi.stubGlobal('Temporal', undefined)
    expect(() => decodeValue(text)).toThrow(reason)
    expect(() => decodeValue(text)).toThrow(expect.objectContaining({ code: 'SCHEMA' }))
  })
})

describe('Temporal', () => {
  const from = vi.fn((text: string, _options: unknown) => new PlainDate(text))
  class PlainDate {
    readonly text: string
    static from = from
    constructor(text: string) {
      this.text = text
    }
    toString() {
      return this.text
    }
  }

  test('values are stored by their name and restored through from, where the runtime has them', () => {
    vi.stubGlobal('Temporal', { PlainDate })
    expect(encode(new PlainDate('2024-02-29'))).toBe('{"$geneva":"Temporal.PlainDate","value":"2024-02-29"}')
    expect(roundTrip({ day: new PlainDate('2024-02-29') })).toEqual({ day: new PlainDate('2024-02-29') })
    expect(from).toHaveBeenLastCalledWith('2024-02-29', { offset: 'use' })
  })

  test('a class that only shares the name is refused', () => {
    vi.stubGlobal('Temporal', { PlainDate: class {} })
    expect(() => encode(new PlainDate('x'))).toThrow(/an instance of PlainDate/)
    vi.stubGlobal('Temporal', undefined)
    expect(() => encode(new PlainDate('x'))).toThrow(/an instance of PlainDate/)
  })
})

describe('the canonical form', () => {
  const canonical = (value: unknown) => canonicalValue(value, 'The input')

  test('does not depend on the order of keys, at any depth', () => {
    expect(canonical({ b: [{ y: 1, x: 2 }], a: 1 })).toBe('{"a":1,"b":[{"x":2,"y":1}]}')
    expect(canonical({ a: 1, b: undefined })).toBe(canonical({ a: 1 }))
  })

  test('depends on everything else', () => {
    const values = [undefined, null, 0, -0, '0', [], {}, [undefined], [null], 0n, new Date(0), new Map(), new Set()]
    expect(new Set(values.map(canonical)).size).toBe(values.length)
  })

  test('has no size limit, and refuses what cannot be stored', () => {
    expect(canonical('x'.repeat(2_000_000))).toHaveLength(2_000_002)
    expect(() => canonical({ f: () => 1 })).toThrow(/The input cannot be stored: a function at \$\.f/)
  })
})
