/** How exception policies are written, and which one counts for an error. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a word of exception policies.
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { normalizePolicy } from '../../../src/definition/exception-policy.ts'
import { resolvePolicy } from '../../../src/definition/resolve-policy.ts'
import { DefinitionError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

class PaymentError extends Error {}
class CardDeclined extends PaymentError {}

describe('a policy', () => {
  test('is filled in with defaults', () => {
    const defaults = { waitMs: 0, limit: null, then: 'pause' }
    expect(normalizePolicy('cancel', 'here')).toEqual({ action: 'cancel', ...defaults })
    expect(normalizePolicy({ policy: 'skip' }, 'here')).toEqual({ action: 'skip', ...defaults })
    expect(normalizePolicy({ policy: 'reattempt' }, 'here')).toEqual({ action: 'reattempt', ...defaults })
  })

  test('keeps what is said', () => {
    expect(normalizePolicy({ policy: 'reattempt', wait: '1 min', limit: 3, then: 'cancel' }, 'here')).toEqual({
      action: 'reattempt',
      waitMs: 60_000,
      limit: 3,
      then: 'cancel',
    })
  })

  test.each([undefined, null, 5, true, [], () => 'pause', 'Pause', 'toString', { policy: 'constructor' }])(
    'is not %s, and the message says where',
    notation => {
      expect(() => normalizePolicy(notation, 'Orders, step charge')).toThrow(DefinitionError)
      expect(() => normalizePolicy(notation, 'Orders, step charge')).toThrow(/^Orders, step charge: /)
    },
  )
})

async function actionFor(error: unknown, onStep: unknown, ...onClass: unknown[]) {
  const definition = definitionOf(
    sampleClass(w => {
      for (const notation of onClass) w.onException(notation)
      w.step('first', onStep === undefined ? {} : { onException: onStep })
    }),
  )
  const [node] = definition.nodes
  if (!node) throw new Error('the step is missing')
  return resolvePolicy(definition, node, error)
}

describe('after an error', () => {
  const pause = { action: 'pause', waitMs: 0, limit: null, then: 'pause' }
  const chosen = async (...args: Parameters<typeof actionFor>) => {
    const { policy, ruleError } = await actionFor(...args)
    expect(ruleError).toBeNull()
    return policy.action
  }

  test('the step decides before the class, and without either the workflow pauses', async () => {
    expect(await chosen(new Error('x'), 'skip', 'cancel')).toBe('skip')
    expect(await chosen(new Error('x'), undefined, 'cancel')).toBe('cancel')
    expect(await actionFor(new Error('x'), undefined)).toEqual({ policy: pause, ruleError: null })
  })

  test('the class decides when the rules of the step are about other errors', async () => {
    expect(await chosen(new Error('x'), [[CardDeclined, 'skip']], 'cancel')).toBe('cancel')
    expect(await chosen(new CardDeclined('x'), [[CardDeclined, 'skip']], 'cancel')).toBe('skip')
  })

  test('the most specific error class wins, whatever the order', async () => {
    const rules = [
      [Error, 'pause'],
      [CardDeclined, 'cancel'],
      [PaymentError, 'skip'],
    ]
    for (const ordered of [rules, rules.toReversed()]) {
      expect(await chosen(new CardDeclined('x'), undefined, ordered)).toBe('cancel')
      expect(await chosen(new PaymentError('x'), undefined, ordered)).toBe('skip')
      expect(await chosen(new TypeError('x'), undefined, ordered)).toBe('pause')
      expect(await chosen(new CardDeclined('x'), ordered)).toBe('cancel')
    }
  })

  test('among equals the latest rule wins', async () => {
    expect(await chosen(new PaymentError('x'), undefined, [[PaymentError, 'skip']], [[PaymentError, 'cancel']])).toBe(
      'cancel',
    )
    expect(await chosen(new PaymentError('x'), undefined, 'skip', 'cancel')).toBe('cancel')
  })

  test('a rule for every error comes after those for a class, even if it was declared later', async () => {
    expect(await chosen(new PaymentError('x'), undefined, [[Error, 'skip']], 'cancel')).toBe('skip')
    expect(await chosen('a text', undefined, [[Error, 'skip']], 'cancel')).toBe('cancel')
    expect(await chosen(undefined, undefined, [[Object, 'skip']], 'cancel')).toBe('cancel')
  })

  test('a subclass decides before its parent about the same error', async () => {
    const Parent = sampleClass(w => [w.step('first'), w.onException([[PaymentError, 'skip']])])
    class Child extends Parent {
      static {
        this.onException([[PaymentError, 'cancel']])
      }
    }
    for (const [workflowClass, action] of [
      [Child, 'cancel'],
      [Parent, 'skip'],
    ] as const) {
      const definition = definitionOf(workflowClass)
      const resolved = await resolvePolicy(definition, definition.nodes[0] as never, new PaymentError('x'))
      expect(resolved.policy.action).toBe(action)
    }
  })

  test('a function picks the policy from the error', async () => {
    const pick = (error: Error) => (error.message === 'busy' ? { policy: 'reattempt', wait: 50 } : 'cancel')
    expect((await actionFor(new Error('busy'), pick)).policy).toMatchObject({ action: 'reattempt', waitMs: 50 })
    expect(await chosen(new Error('x'), pick)).toBe('cancel')
    expect(await chosen(new Error('x'), async () => 'skip')).toBe('skip')
    expect(await chosen(new PaymentError('x'), undefined, [[PaymentError, pick]])).toBe('cancel')
  })

  test('a function that returns nothing means pause, not the next rule', async () => {
    expect(await actionFor(new Error('x'), () => {}, 'cancel')).toEqual({ policy: pause, ruleError: null })
    expect(await actionFor(new Error('x'), async () => null, 'cancel')).toEqual({ policy: pause, ruleError: null })
  })

  test('a function that throws means pause, and its own error is kept, even if it is undefined', async () => {
    const own = new Error('in the rule')
    const failing = (thrown: unknown) => () => {
      throw thrown
    }
    expect(await actionFor(new Error('x'), failing(own))).toEqual({ policy: pause, ruleError: { thrown: own } })
    expect(await actionFor(new Error('x'), failing(undefined))).toEqual({
      policy: pause,
      ruleError: { thrown: undefined },
    })
    expect(await actionFor(new Error('x'), async () => Promise.reject(own))).toEqual({
      policy: pause,
      ruleError: { thrown: own },
    })
  })

  test.each(['explode', 5, [], { policy: 'reattempt', limit: 0 }, { policy: 'reattempt', wait: -1 }])(
    'a function that returns nonsense means pause, and the mistake is kept: %j',
    async nonsense => {
      const { policy, ruleError } = await actionFor(new Error('x'), () => nonsense)
      expect(policy).toEqual(pause)
      expect(ruleError?.thrown).toBeInstanceOf(DefinitionError)
      expect(ruleError?.thrown).toHaveProperty(
        'message',
        expect.stringMatching(/^Sample, step first, what onException returned: /),
      )
    },
  )

  test('an error class that fails to recognise the error means pause as well', async () => {
    class Odd {
      static [Symbol.hasInstance](): boolean {
        throw new Error('odd')
      }
    }
    expect((await actionFor(new Error('x'), [[Odd, 'cancel']])).ruleError).toEqual({ thrown: new Error('odd') })
  })
})
