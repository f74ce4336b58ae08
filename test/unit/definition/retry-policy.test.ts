/** How `retry` is written, which errors are worth another attempt, how long it waits, and what a stored graph keeps. */
import { describe, expect, test, vi } from 'vitest'
import {
  type FailedAttempt,
  normalizeRetry,
  resolveRetry,
  retryFromStored,
  storedRetry,
} from '../../../src/definition/retry-policy.ts'
import { DefinitionError, InvalidArgumentError, PermanentError, RetryableError } from '../../../src/errors.ts'

const where = 'Orders, step charge'
const defaults = {
  attempts: 3,
  backoff: 'exponential',
  delayMs: 1_000,
  maxDelayMs: 30_000,
  jitter: true,
  retryIf: null,
}

describe('a retry', () => {
  test('without a word is three attempts on the default curve', () => {
    expect(normalizeRetry({}, where)).toEqual(defaults)
  })

  test('can be just the number of attempts', () => {
    expect(normalizeRetry(5, where)).toEqual({ ...defaults, attempts: 5 })
    expect(normalizeRetry(1, where)).toEqual({ ...defaults, attempts: 1 })
  })

  test('keeps what is said', () => {
    const retryIf = () => true
    const written = { attempts: 7, backoff: 'linear', delay: '2s', maxDelay: { minutes: 1 }, jitter: false, retryIf }
    expect(normalizeRetry(written, where)).toEqual({
      attempts: 7,
      backoff: 'linear',
      delayMs: 2_000,
      maxDelayMs: 60_000,
      jitter: false,
      retryIf,
    })
  })

  test('treats an option that is undefined as left out', () => {
    const nothing = { attempts: undefined, backoff: undefined, delay: undefined, maxDelay: undefined }
    expect(normalizeRetry({ ...nothing, jitter: undefined, retryIf: undefined }, where)).toEqual(defaults)
  })

  test('has a longest wait by default only where the wait grows by itself', () => {
    const backoff = () => '5 min'
    expect(normalizeRetry({ backoff: 'linear' }, where).maxDelayMs).toBe(30_000)
    expect(normalizeRetry({ backoff: 'fixed', delay: '5 min' }, where)).toMatchObject({
      delayMs: 300_000,
      maxDelayMs: null,
    })
    expect(normalizeRetry({ backoff }, where)).toMatchObject({ backoff, maxDelayMs: null })
    expect(normalizeRetry({ backoff, maxDelay: 10 }, where).maxDelayMs).toBe(10)
  })

  test('may have a longest wait below the delay that nobody wrote', () => {
    expect(normalizeRetry({ maxDelay: '500ms' }, where)).toMatchObject({ delayMs: 1_000, maxDelayMs: 500 })
  })

  test('cannot be changed afterwards', () => {
    expect(normalizeRetry(2, where)).toSatisfy(Object.isFrozen)
  })

  test.each([
    [undefined, 'retry takes the number of attempts'],
    [null, 'retry takes the number of attempts'],
    [true, 'retry takes the number of attempts'],
    ['3', 'retry takes the number of attempts'],
    [[3], 'retry takes the number of attempts'],
    [0, 'whole number of at least 1'],
    [1.5, 'whole number of at least 1'],
    [Number.POSITIVE_INFINITY, 'whole number of at least 1'],
    [{ attempts: '3' }, 'whole number of at least 1'],
    [{ limit: 3 }, 'there is no option limit'],
    [{ backoff: 'quadratic' }, 'exponential, linear, fixed or a function'],
    [{ backoff: 2 }, 'exponential, linear, fixed or a function'],
    [{ delay: -1 }, 'the delay of a retry is -1'],
    [{ maxDelay: 'soon' }, "the maxDelay of a retry is 'soon'"],
    [{ delay: '1 min' }, 'Give a longer maxDelay'],
    [{ backoff: 'fixed', delay: '1 min', maxDelay: '1s' }, 'Give a longer maxDelay'],
    [{ backoff: () => 5, delay: 5 }, 'leave out delay'],
    [{ jitter: 0.1 }, 'jitter of a retry is true or false'],
    [{ retryIf: true }, 'retryIf of a retry is a function'],
  ])('is not %o, and the message says where and why', (notation, reason) => {
    expect(() => normalizeRetry(notation, where)).toThrow(DefinitionError)
    expect(() => normalizeRetry(notation, where)).toThrow(new RegExp(`^${where}: .*${reason}`))
  })
})

const now = Date.UTC(2030, 0, 1)

function resolved(notation: unknown, error: unknown, rest: Partial<FailedAttempt> = {}) {
  return resolveRetry({ policy: normalizeRetry(notation, where), error, failures: 1, random: () => 0, now, ...rest })
}
const again = (delayMs: number) => ({ retry: { delayMs }, ruleError: null })
const over = { retry: null, ruleError: null }

describe('after an error', () => {
  test('the step is called as often as it has attempts, each time after a longer wait', () => {
    const waits = [1, 2, 3, 4].map(failures => resolved(4, new Error('x'), { failures }))
    expect(waits).toEqual([again(2_000), again(4_000), again(8_000), over])
    expect(resolved(1, new Error('x'))).toEqual(over)
  })

  test('jitter is drawn from what the caller gives', () => {
    expect(resolved({}, new Error('x'), { random: () => 0.5 })).toEqual(again(2_100))
    expect(resolved({ jitter: false }, new Error('x'), { random: () => 0.5 })).toEqual(again(2_000))
  })

  test('anything that was thrown is worth another attempt, also undefined', () => {
    expect(resolved({}, undefined)).toEqual(again(2_000))
    expect(resolved({}, 'a text')).toEqual(again(2_000))
  })

  test('retryIf gets the error and decides', () => {
    const retryIf = vi.fn((error: Error) => error.message === 'busy')
    expect(resolved({ retryIf }, new Error('busy'))).toEqual(again(2_000))
    expect(resolved({ retryIf }, new Error('broken'))).toEqual(over)
    expect(retryIf).toHaveBeenLastCalledWith(new Error('broken'))
  })

  test('retryIf is not asked when no attempt is left', () => {
    const retryIf = vi.fn(() => true)
    expect(resolved({ retryIf }, new Error('x'), { failures: 3 })).toEqual(over)
    expect(retryIf).not.toHaveBeenCalled()
  })

  test('a backoff function says how long', () => {
    expect(resolved({ backoff: (failures: number) => failures * 7 }, new Error('x'), { failures: 2 })).toEqual(
      again(14),
    )
  })
})

describe('an error that steers', () => {
  const retryIf = vi.fn()

  test('is never retried when it is permanent, whatever retryIf would say', () => {
    class CardDeclined extends PermanentError {}
    retryIf.mockReturnValue(true)
    expect(resolved({ retryIf }, new CardDeclined('no funds'))).toEqual(over)
    expect(retryIf).not.toHaveBeenCalled()
  })

  test('is retried on the curve when it is retryable, whatever retryIf would say', () => {
    retryIf.mockReturnValue(false)
    expect(resolved({ retryIf }, new RetryableError('busy'), { failures: 2 })).toEqual(again(4_000))
    expect(retryIf).not.toHaveBeenCalled()
  })

  test('does not raise the number of attempts', () => {
    expect(resolved({}, new RetryableError('busy', { retryAfter: 10 }), { failures: 3 })).toEqual(over)
  })

  test.each([
    [90_000, 90_000],
    ['2 min', 120_000],
    ['120', 120_000],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['3 days', 86_400_000],
  ])('replaces the wait with its retryAfter of %j, without maxDelay and jitter', (retryAfter, delayMs) => {
    const error = new RetryableError('busy', { retryAfter })
    expect(resolved({ maxDelay: '5s' }, error, { random: () => 0.9 })).toEqual(again(delayMs))
  })

  test.each([-1, 'soon', null, undefined, 'Mon, 31 Dec 2029 23:59:00 GMT'])(
    'stays on the curve with a retryAfter of %j',
    retryAfter => {
      expect(resolved({}, new RetryableError('busy', { retryAfter }))).toEqual(again(2_000))
    },
  )

  test('is recognised when it comes from another copy of the package', () => {
    const foreign = (code: string) =>
      Object.assign(new Error('x'), { [Symbol.for('geneva-drive.error')]: true, code, retryAfter: 5 })
    expect(resolved({}, foreign('RETRYABLE'))).toEqual(again(5))
    expect(resolved({}, foreign('PERMANENT'))).toEqual(over)
  })

  test('keeps what caused it, and the name of its class', () => {
    class RateLimited extends RetryableError {}
    const cause = new Error('429')
    const error = new RateLimited('busy', { cause, retryAfter: '5s' })
    expect(error).toMatchObject({ name: 'RateLimited', code: 'RETRYABLE', message: 'busy', retryAfter: '5s', cause })
    expect(new PermanentError('no', { cause })).toMatchObject({ name: 'PermanentError', code: 'PERMANENT', cause })
    expect(new RetryableError('busy')).not.toHaveProperty('cause')
  })
})

describe('a function of the user that fails', () => {
  const failing = (thrown: unknown) => () => {
    throw thrown
  }

  test('means no retry, and its own error is kept, even if it is undefined', () => {
    const own = new Error('in the rule')
    expect(resolved({ retryIf: failing(own) }, new Error('x'))).toEqual({ retry: null, ruleError: { thrown: own } })
    expect(resolved({ backoff: failing(undefined) }, new Error('x'))).toEqual({
      retry: null,
      ruleError: { thrown: undefined },
    })
  })

  test('means no retry when it returns no duration', () => {
    const { retry, ruleError } = resolved({ backoff: () => 'soon' }, new Error('x'))
    expect(retry).toBeNull()
    expect(ruleError?.thrown).toBeInstanceOf(InvalidArgumentError)
  })

  test.each(['retryIf', 'backoff'])(
    'means no retry when %s returns a promise, which is left to itself',
    async option => {
      const unhandled = vi.fn()
      process.on('unhandledRejection', unhandled)
      try {
        const { retry, ruleError } = resolved(
          { [option]: async () => Promise.reject(new Error('late')) },
          new Error('x'),
        )
        expect(retry).toBeNull()
        expect(ruleError?.thrown).toBeInstanceOf(DefinitionError)
        expect(ruleError?.thrown).toHaveProperty(
          'message',
          expect.stringContaining(`${option} of a retry returned a promise`),
        )
        await new Promise(setImmediate)
        expect(unhandled).not.toHaveBeenCalled()
      } finally {
        process.off('unhandledRejection', unhandled)
      }
    },
  )
})

describe('a stored retry', () => {
  test.each([{}, 7, { backoff: 'fixed', delay: '5 min' }, { backoff: 'linear', maxDelay: '1 min', jitter: false }])(
    'comes back from JSON as it was: %j',
    notation => {
      const policy = normalizeRetry(notation, where)
      const json = JSON.parse(JSON.stringify(storedRetry(policy, where)))
      expect(retryFromStored(json, where)).toEqual(policy)
    },
  )

  test('leaves nothing to a default', () => {
    expect(storedRetry(normalizeRetry({}, where), where)).toEqual({
      attempts: 3,
      backoff: 'exponential',
      delay: 1_000,
      maxDelay: 30_000,
      jitter: true,
    })
  })

  test.each([{ backoff: () => 5 }, { retryIf: () => true }])('cannot hold a function: %o', notation => {
    const message = new RegExp(`^${where}: the (backoff|retryIf) of a stored retry cannot be a function`)
    expect(() => storedRetry(normalizeRetry(notation, where), where)).toThrow(message)
    expect(() => retryFromStored(notation, where)).toThrow(message)
  })

  test('is checked like a new one', () => {
    expect(() => retryFromStored({ attempts: 0 }, where)).toThrow(DefinitionError)
  })
})
