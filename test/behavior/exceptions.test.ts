/** What happens when a step throws, wherever it throws and whatever was said about it. */
import { beforeEach, expect, it } from 'vitest'
import { defineHero, isGenevaError, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class PaymentError extends Error {}
class CardDeclined extends PaymentError {}
class RateLimited extends PaymentError {
  readonly retryAfter = 5
}

type Fault = 'declined' | 'payment' | 'limited' | 'other'

function fail(fault: Fault): never {
  if (fault === 'declined') throw new CardDeclined('card declined')
  if (fault === 'payment') throw new PaymentError('payment failed')
  if (fault === 'limited') throw new RateLimited('too fast')
  throw new TypeError('a bug')
}

class ClassMap extends Workflow<null, { fault: Fault }> {
  static {
    this.onException([
      [PaymentError, 'skip'],
      [CardDeclined, 'cancel'],
    ])
    this.onException([[RateLimited, 'cancel']])
    this.onException([[RateLimited, { policy: 'reattempt', wait: '1 hour' }]])
    this.step('pay')
  }
  pay() {
    fail(this.input.fault)
  }
}

class Inherits extends ClassMap {
  static {
    this.onException([[TypeError, 'cancel']])
    this.step('more', { onException: [[CardDeclined, 'skip']] })
  }
  more() {
    fail('payment')
  }
}

class ByFunction extends Workflow<null, { fault: Fault }> {
  static {
    this.step('pay', {
      onException: async (error: unknown) => {
        if (error instanceof RateLimited) return { policy: 'reattempt', wait: error.retryAfter * 1000 } as const
        if (error instanceof CardDeclined) return 'cancel'
        if (error instanceof TypeError) throw new RangeError('the rule is broken too')
        return undefined
      },
    })
  }
  pay() {
    fail(this.input.fault)
  }
}

class NonsenseRule extends Workflow {
  static {
    this.step('pay', { onException: () => 'explode' as 'pause' })
  }
  pay() {
    fail('declined')
  }
}

class Limited extends Workflow<null, { until: number }> {
  static {
    this.step('flaky', { onException: { policy: 'reattempt', limit: 2, wait: '10 min', then: 'cancel' } })
  }
  flaky() {
    if (this.execution.attempt < this.input.until) throw new Error(`failure ${this.execution.attempt}`)
  }
}

class ResetBetween extends Workflow {
  static {
    this.step('flaky', { onException: { policy: 'reattempt', limit: 1 } })
  }
  flaky() {
    if (this.execution.attempt === 2) this.reattempt()
    if (this.execution.attempt < 4) throw new Error(`failure ${this.execution.attempt}`)
  }
}

const Ghosts = defineHero('Ghost', {
  id: (ghost: { id: string }) => ghost.id,
  load: (): { id: string } => {
    throw new Error('the ghost would not load')
  },
})

class HauntedBy extends Workflow<{ id: string }> {
  static {
    this.heroes(Ghosts)
    this.allowMultiple()
    this.step('only', { onException: 'cancel' })
  }
  only() {}
}

type Place = 'before' | 'after' | 'around' | 'cancelIf' | 'if' | 'constructor'

function faultAt(place: Place, wf: ThrowsAround): void {
  if (wf.input.place === place) throw new Error(`thrown in ${place}`)
}

class ThrowsAround extends Workflow<null, { place: Place }> {
  static {
    this.cancelIf(wf => {
      faultAt('cancelIf', wf)
      return false
    })
    this.beforeEach(wf => faultAt('before', wf))
    this.afterEach(wf => faultAt('after', wf))
    this.aroundEach(async (wf, _, next) => {
      await next()
      faultAt('around', wf)
    })
    this.step('only', {
      onException: 'skip',
      if: wf => {
        faultAt('if', wf)
        return true
      },
    })
  }
  only() {
    return 'done'
  }
}

class BrokenConstructor extends Workflow {
  static {
    this.step('only', { onException: 'cancel' })
  }
  readonly field = breakConstruction()
  only() {}
}

function breakConstruction(): string {
  throw new Error('thrown in the constructor')
}

forEachDatabase('an exception', database => {
  const workflows = [
    ClassMap,
    Inherits,
    ByFunction,
    NonsenseRule,
    Limited,
    ResetBetween,
    HauntedBy,
    ThrowsAround,
    BrokenConstructor,
  ]
  const under = useGeneva(database, {
    workflows,
    onError: (error, context) => {
      under.errors.push({ error, context })
      // A listener that breaks, at once or later, must do no harm.
      if (under.errors.length % 2) throw new Error('a broken listener')
      return Promise.reject(new Error('a listener that breaks later'))
    },
  })
  beforeEach(async () => {
    under.errors.length = 0
    await under.setClock(0)
  })

  async function outcomes(wf: WorkflowHandle): Promise<unknown[]> {
    await under.runDue()
    return [(await wf.refresh()).state, ...(await wf.history()).map(execution => execution.outcome)]
  }

  it.each([
    ['declined', ['canceled', 'canceled_by_exception']],
    ['payment', ['finished', 'skipped_by_exception']],
    ['limited', ['ready', 'reattempted_by_exception', null]],
    ['other', ['paused', 'paused_by_exception']],
  ] as const)('that is %s is met by the most specific class, and the latest rule for it', async (fault, expected) => {
    const wf = await under.geneva.start(ClassMap, { input: { fault } })
    expect(await outcomes(wf)).toEqual(expected)
  })

  it('that the step itself says nothing about is met by the rules of the class and its parents', async () => {
    const declined = await under.geneva.start(Inherits, { input: { fault: 'declined' } })
    expect(await outcomes(declined)).toEqual(['canceled', 'canceled_by_exception'])
    const bug = await under.geneva.start(Inherits, { input: { fault: 'other' } })
    expect(await outcomes(bug)).toEqual(['canceled', 'canceled_by_exception'])
    const both = await under.geneva.start(Inherits, { input: { fault: 'payment' } })
    expect(await outcomes(both)).toEqual(['finished', 'skipped_by_exception', 'skipped_by_exception'])
    const parent = await under.geneva.start(ClassMap, { input: { fault: 'other' } })
    expect(await outcomes(parent)).toEqual(['paused', 'paused_by_exception'])
  })

  it.each([
    ['declined', ['canceled', 'canceled_by_exception']],
    ['limited', ['ready', 'reattempted_by_exception', null]],
    ['payment', ['paused', 'paused_by_exception']],
  ] as const)(
    'that is %s is met by what a function returns, and pauses when it returns nothing',
    async (fault, all) => {
      const wf = await under.geneva.start(ByFunction, { input: { fault } })
      expect(await outcomes(wf)).toEqual(all)
    },
  )

  it('waits as long as the function said', async () => {
    const wf = await under.geneva.start(ByFunction, { input: { fault: 'limited' } })
    await under.runDue()
    const [failed, next] = await wf.history()
    const waitMs = (next?.scheduledFor.getTime() ?? 0) - (failed?.endedAt?.getTime() ?? 0)
    expect(Math.abs(waitMs - 5000)).toBeLessThan(500)
    await wf.cancel()
  })

  it('pauses when the function throws, and both errors are kept and told', async () => {
    const wf = await under.geneva.start(ByFunction, { input: { fault: 'other' } })
    expect(await outcomes(wf)).toEqual(['paused', 'paused_by_exception'])
    const [execution] = await wf.history()
    expect(execution?.error?.className).toBe('TypeError')
    expect(execution?.error?.message).toContain('a bug')
    expect(execution?.error?.message).toContain('RangeError: the rule is broken too')
    expect(execution?.error?.stack).toContain('exceptions.test.ts')
    expect(under.errors.map(({ error }) => String(error))).toEqual([
      'TypeError: a bug',
      'RangeError: the rule is broken too',
    ])
  })

  it('pauses when the function returns what is no policy', async () => {
    const wf = await under.geneva.start(NonsenseRule)
    expect(await outcomes(wf)).toEqual(['paused', 'paused_by_exception'])
    expect((await wf.history())[0]?.error?.message).toMatch(/card declined[\s\S]*"explode" is not an exception policy/)
  })

  it('is reattempted as often as the limit says, with its wait, and then meets what comes then', async () => {
    const wf = await under.geneva.start(Limited, { input: { until: 99 } })
    await under.runDue()
    const [first, next] = await wf.history()
    const waitMs = (next?.scheduledFor.getTime() ?? 0) - (first?.endedAt?.getTime() ?? 0)
    expect(Math.abs(waitMs - 600_000)).toBeLessThan(500)
    for (const minutes of [11, 22]) {
      await under.setClock(minutes * 60_000)
      await under.runDue()
    }
    expect((await wf.history()).map(execution => [execution.outcome, execution.error?.message])).toEqual([
      ['reattempted_by_exception', 'failure 1'],
      ['reattempted_by_exception', 'failure 2'],
      ['canceled_by_exception', 'failure 3'],
    ])
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('within the limit ends well', async () => {
    const wf = await under.geneva.start(Limited, { input: { until: 3 } })
    for (const minutes of [0, 11, 22]) {
      await under.setClock(minutes * 60_000)
      await under.runDue()
    }
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('counts anew after the step itself has asked for another attempt', async () => {
    const wf = await under.geneva.start(ResetBetween)
    expect(await outcomes(wf)).toEqual([
      'finished',
      'reattempted_by_exception',
      'reattempted',
      'reattempted_by_exception',
      'success',
    ])
  })

  it.each(['before', 'after', 'around', 'cancelIf', 'if'] as const)(
    'in %s counts as the step throwing',
    async place => {
      const wf = await under.geneva.start(ThrowsAround, { input: { place } })
      expect(await outcomes(wf)).toEqual(['finished', 'skipped_by_exception'])
      expect((await wf.history())[0]?.error?.message).toBe(`thrown in ${place}`)
      expect(under.errors).toMatchObject([{ error: { message: `thrown in ${place}` }, context: { step: 'only' } }])
    },
  )

  it('in the constructor counts as the step throwing', async () => {
    const wf = await under.geneva.start(BrokenConstructor)
    expect(await outcomes(wf)).toEqual(['canceled', 'canceled_by_exception'])
    expect((await wf.history())[0]?.error?.message).toBe('thrown in the constructor')
  })

  it('in the loading of a hero counts as the step throwing', async () => {
    const wf = await under.geneva.start(HauntedBy, { hero: Ghosts.ref('boo') })
    expect(await outcomes(wf)).toEqual(['canceled', 'canceled_by_exception'])
    expect((await wf.history())[0]?.error?.message).toBe('the ghost would not load')
  })

  it('is told to onError after it was recorded, with where it happened', async () => {
    const wf = await under.geneva.start(ClassMap, { input: { fault: 'other' } })
    await under.runDue()
    const [execution] = await wf.history()
    expect(under.errors).toEqual([
      {
        error: expect.any(TypeError),
        context: { workflowId: wf.id, workflow: 'ClassMap', step: 'pay', attempt: 1, executionId: execution?.id },
      },
    ])
    expect(isGenevaError(under.errors[0]?.error)).toBe(false)
  })
})
