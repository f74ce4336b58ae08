/** What `describeError` and `combineErrors` promise: a storable record of anything thrown, and no throw of their own. */
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { combineErrors, describeError } from '../../../src/primitives/describe-error.ts'

class PaymentError extends TypeError {}

const throwing = (): never => {
  throw new Error('trap')
}

const hostileProxy = new Proxy(new Error('hidden'), {
  get: throwing,
  has: throwing,
  getPrototypeOf: throwing,
  getOwnPropertyDescriptor: throwing,
  ownKeys: throwing,
})

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

describe('errors', () => {
  test('an error gives its class, message and stack', () => {
    const error = new PaymentError('declined')
    expect(describeError(error)).toEqual({ className: 'PaymentError', message: 'declined', stack: error.stack })
  })

  test('a name set on the error wins over its class', () => {
    expect(describeError(Object.assign(new Error('x'), { name: 'AbortError' })).className).toBe('AbortError')
    expect(describeError(Object.assign(new Error('x'), { name: '' })).className).toBe('Error')
  })

  test('an error of another realm is described like any other', () => {
    expect(describeError(runInNewContext('new RangeError("far")'))).toMatchObject({
      className: 'RangeError',
      message: 'far',
    })
    const aggregate = runInNewContext('new AggregateError([new Error("one")], "all")')
    expect(describeError(aggregate).message).toBe('all: (1) Error: one')
  })

  test('a message that is no string is printed', () => {
    expect(describeError(Object.assign(new Error(), { message: { code: 7 } })).message).toBe('{ code: 7 }')
  })

  test('an error without class or message still has both as text', () => {
    const bare = Object.setPrototypeOf(new Error('gone'), null)
    Object.defineProperty(bare, 'message', { get: throwing })
    expect(describeError(bare)).toMatchObject({ className: 'Object', message: expect.any(String) })
    expect(describeError(new Error()).message).toBe('')
  })

  test('getters that throw count as absent', () => {
    const error = new Error('x')
    for (const key of ['stack', 'cause', 'message', 'name']) Object.defineProperty(error, key, { get: throwing })
    expect(describeError(error)).toEqual({ className: 'Error', message: '', stack: null })
  })

  test('proxies that throw or are revoked are described', () => {
    expect(describeError(hostileProxy)).toMatchObject({ className: 'Object', stack: null })
    expect(describeError(revokedProxy())).toEqual({ className: 'Object', message: '<Revoked Proxy>', stack: null })
  })

  test('everything is cut to its limit and freed of NUL', () => {
    const error = Object.assign(new Error(`\0${'é'.repeat(10_000)}`), {
      name: 'N'.repeat(1_000),
      stack: 's'.repeat(100_000),
    })
    const { className, message, stack } = describeError(error)
    expect(Buffer.byteLength(className)).toBe(255)
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(10_000)
    expect(Buffer.byteLength(stack ?? '')).toBe(50_000)
    expect(message.startsWith('éé')).toBe(true)
  })
})

describe('what is not an error', () => {
  test.each([
    [undefined, 'undefined', 'undefined was thrown'],
    [null, 'null', 'null was thrown'],
    [42, 'number', '42 was thrown'],
    ['boom', 'string', 'boom'],
    [Symbol('s'), 'symbol', 'Symbol(s) was thrown'],
    [{ code: 7 }, 'Object', '{ code: 7 }'],
    [{ message: 'from a library' }, 'Object', 'from a library'],
    [PaymentError, 'PaymentError', '[class PaymentError extends TypeError]'],
  ])('%o is described', (thrown, className, message) => {
    expect(describeError(thrown)).toEqual({ className, message, stack: null })
  })

  test('an object that cannot even be inspected is named unprintable', () => {
    const thrown = { [Symbol.for('nodejs.util.inspect.custom')]: throwing }
    expect(describeError(thrown).message).toBe('(unprintable)')
  })
})

describe('what lies inside an error', () => {
  test('an AggregateError lists the messages of its errors', () => {
    const inner = [new PaymentError('one'), 'two']
    expect(describeError(new AggregateError(inner, 'both')).message).toBe(
      'both: (1) PaymentError: one; (2) string: two',
    )
    expect(describeError(new AggregateError(inner)).message).toBe('(1) PaymentError: one; (2) string: two')
  })

  test('an AggregateError with many errors lists ten', () => {
    const inner = Array.from({ length: 12 }, (_, index) => new Error(`e${index}`))
    expect(describeError(new AggregateError(inner)).message).toMatch(/\(10\) Error: e9; and 2 more$/)
  })

  test('an AggregateError whose list is broken keeps its own message', () => {
    expect(describeError(Object.assign(new AggregateError([], 'x'), { errors: 7 })).message).toBe('x')
    const errors = new Proxy([], { get: throwing })
    expect(describeError(Object.assign(new AggregateError([], 'x'), { errors })).message).toBe('x')
  })

  test('causes follow the stack', () => {
    const error = new Error('outer', { cause: new PaymentError('inner', { cause: 'the root' }) })
    const { message, stack } = describeError(error)
    expect(message).toBe('outer')
    expect(stack).toMatch(/^Error: outer\n.*\nCaused by: TypeError: inner\n.*\nCaused by: string: the root$/s)
  })

  test('causes stop after five', () => {
    let error = new Error('0')
    for (let depth = 1; depth <= 8; depth += 1) error = new Error(String(depth), { cause: error })
    const { stack } = describeError(error)
    expect(stack?.match(/Caused by/g)).toHaveLength(5)
  })

  test('causes in a circle end', () => {
    const error = new Error('one')
    error.cause = new Error('two', { cause: error })
    expect(describeError(error).stack?.match(/Caused by/g)).toHaveLength(1)
  })

  test('a cause is kept even when the error has no stack', () => {
    expect(describeError({ message: 'x', cause: { message: 'why' } }).stack).toBe('Caused by: Object: why')
  })
})

describe('two errors together', () => {
  const first = { className: 'A', message: 'one', stack: 'A: one\n at x' }
  const second = { className: 'B', message: 'two', stack: 'B: two\n at y' }

  test('the first class is kept and both messages and stacks are there', () => {
    expect(combineErrors(first, second, 'then the rollback failed')).toEqual({
      className: 'A',
      message: 'one\nthen the rollback failed: B: two',
      stack: 'A: one\n at x\nthen the rollback failed: B: two\n at y',
    })
  })

  test('a missing stack is replaced by the message, and two missing ones stay missing', () => {
    const bare = { ...second, stack: null }
    expect(combineErrors(first, bare, 'n').stack).toBe('A: one\n at x\nn: B: two')
    expect(combineErrors(bare, first, 'n').stack).toBe('B: two\nn: A: one\n at x')
    expect(combineErrors(bare, bare, 'n').stack).toBeNull()
  })

  test('neither pushes the other out of the limit', () => {
    const long = { className: 'L', message: 'm'.repeat(10_000), stack: 's'.repeat(50_000) }
    const { message, stack } = combineErrors(long, second, 'n')
    expect(message).toMatch(/n: B: two$/)
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(10_000)
    expect(stack).toMatch(/n: B: two\n at y$/)
    expect(Buffer.byteLength(stack ?? '')).toBeLessThanOrEqual(50_000)
  })
})

test('it never throws, whatever is thrown', () => {
  const anything = fc.anything({
    withNullPrototype: true,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
  })
  const errorLike = fc.record({
    stack: anything,
    name: anything,
    message: anything,
    cause: anything,
    errors: anything,
    constructor: anything,
  })
  const broken = errorLike.map(parts =>
    Object.defineProperties(new AggregateError([]), Object.getOwnPropertyDescriptors(parts)),
  )
  const trapped = anything.map(
    answer => new Proxy([], { get: () => answer, getPrototypeOf: () => AggregateError.prototype }),
  )
  fc.assert(
    fc.property(fc.oneof(anything, errorLike, broken, trapped), thrown => {
      const { className, message, stack } = describeError(thrown)
      expect([typeof className, typeof message]).toEqual(['string', 'string'])
      expect(stack === null || typeof stack === 'string').toBe(true)
    }),
    { numRuns: 1_000 },
  )
})
