/** Steering from inside: what a step, a hook or a condition asks for happens, even when user code swallows the throw. */
import { beforeEach, expect, it } from 'vitest'
import { isFlowControl, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const calls: string[] = []

class PausesOnce extends Workflow {
  static {
    this.step('only')
  }
  only() {
    calls.push(`attempt ${this.execution.attempt}`)
    if (this.execution.attempt === 1) this.pause('look at me')
    return this.execution.attempt
  }
}

class FinishesEarly extends Workflow<null, { result?: number }> {
  static {
    this.step('first')
    this.step('never')
  }
  first() {
    this.finish(this.input.result)
  }
  never() {
    calls.push('never')
  }
}

class ReattemptsLater extends Workflow {
  static {
    this.step('only')
  }
  only() {
    calls.push(`attempt ${this.execution.attempt} ${this.execution.idempotencyKey}`)
    if (this.execution.attempt === 1) this.reattempt({ wait: '2 hours' })
  }
}

class Swallows extends Workflow<null, { action: 'cancel' | 'skip' | 'finish' | 'pause' }> {
  static {
    this.step('only')
    this.step('after')
  }
  only() {
    try {
      if (this.input.action === 'finish') this.finish('kept')
      this[this.input.action]('meant')
    } catch (error) {
      calls.push(`swallowed ${isFlowControl(error)}`)
    }
    return 'not this'
  }
  after() {
    calls.push('after')
  }
}

class ThrowsOverIt extends Workflow {
  static {
    this.step('only', { onException: 'pause' })
    this.step('after')
  }
  only() {
    try {
      this.skip('meant')
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: what a careless clean-up does is the point
      throw new Error('thrown over it')
    }
  }
  after() {}
}

class FirstCounts extends Workflow {
  static {
    this.step('only')
    this.step('after')
  }
  only() {
    try {
      this.skip('first')
    } catch {
      this.cancel('second')
    }
  }
  after() {}
}

class SkipsInHook extends Workflow<null, { where: 'before' | 'after' | 'around' }> {
  static {
    this.beforeEach((wf, step) => {
      if (step.name === 'only' && wf.input.where === 'before') wf.skip('by the hook')
    })
    this.afterEach((wf, step) => {
      if (step.name === 'only' && wf.input.where === 'after') wf.skip('by the hook')
    })
    this.aroundEach(async (wf, step, next) => {
      if (step.name === 'only' && wf.input.where === 'around') wf.skip('by the hook')
      await next()
    })
    this.step('only')
    this.step('after')
  }
  only() {
    calls.push('body')
  }
  after() {}
}

class FinishesInCondition extends Workflow {
  static {
    this.step('only', { if: wf => wf.finish('by the condition') })
    this.step('never')
  }
  only() {
    calls.push('body')
  }
  never() {
    calls.push('never')
  }
}

class PausesInCancelIf extends Workflow {
  static {
    this.cancelIf(wf => (wf.execution.attempt === 1 ? wf.pause('by cancelIf') : false))
    this.step('only')
  }
  only() {
    calls.push('body')
  }
}

class FinishesWithGarbage extends Workflow {
  static {
    this.step('only')
  }
  only() {
    this.finish(() => {})
  }
}

forEachDatabase('flow control', database => {
  const workflows = [
    PausesOnce,
    FinishesEarly,
    ReattemptsLater,
    Swallows,
    ThrowsOverIt,
    FirstCounts,
    SkipsInHook,
    FinishesInCondition,
    PausesInCancelIf,
    FinishesWithGarbage,
  ]
  const under = useGeneva(database, { workflows, worker: true })
  beforeEach(() => {
    calls.length = 0
  })

  it('pauses, and a resume makes the next attempt at the same step', async () => {
    const wf = await under.geneva.start(PausesOnce)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await wf.history()).toMatchObject([
      { step: 'only', state: 'canceled', outcome: 'canceled_by_flow_control', reason: 'look at me' },
    ])
    expect(await wf.nextNode()).toBe('only')
    await wf.resume()
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(2)
    expect(calls).toEqual(['attempt 1', 'attempt 2'])
    expect(wf.pausedAt).toBeNull()
  })

  it('finishes early with a result, and the steps that are left never run', async () => {
    const wf = await under.geneva.start(FinishesEarly, { input: { result: 42 } })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe(42)
    expect(calls).toEqual([])
    expect(await wf.history()).toMatchObject([{ step: 'first', state: 'completed', outcome: 'success' }])
  })

  it('finishes early without a result', async () => {
    const wf = await under.geneva.start(FinishesEarly, {})
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBeUndefined()
  })

  it('reattempts after the wait it asked for, with the same idempotency key', async () => {
    const wf = await under.geneva.start(ReattemptsLater)
    await waitFor(async () => (await wf.history()).length === 2)
    const [ended, next] = await wf.history()
    expect(ended).toMatchObject({ state: 'completed', outcome: 'reattempted' })
    expect(next).toMatchObject({ state: 'scheduled', attempt: 2, outcome: null })
    const waitMs = (next?.scheduledFor.getTime() ?? 0) - (ended?.endedAt?.getTime() ?? 0)
    expect(Math.abs(waitMs - 7_200_000)).toBeLessThan(1000)
    await under.setClock(7_201_000)
    await wf.waitUntilFinished({ timeout: '10s' })
    await under.setClock(0)
    const keys = calls.map(call => call.split(' ')[2])
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(keys[1])
  })

  it.each([
    ['cancel', 'canceled', 'canceled', 'canceled_by_flow_control', ['swallowed true']],
    ['pause', 'paused', 'canceled', 'canceled_by_flow_control', ['swallowed true']],
    ['skip', 'finished', 'skipped', 'skipped_by_flow_control', ['swallowed true', 'after']],
    ['finish', 'finished', 'completed', 'success', ['swallowed true']],
  ] as const)('counts even when the throw of %s is swallowed', async (action, state, ended, outcome, called) => {
    const wf = await under.geneva.start(Swallows, { input: { action } })
    await waitFor(async () => (await wf.refresh()).state === state)
    expect((await wf.history())[0]).toMatchObject({ state: ended, outcome })
    expect(calls).toEqual(called)
    if (action === 'finish') expect(await wf.waitUntilFinished()).toBe('kept')
    if (action === 'pause') await wf.cancel()
  })

  it('counts even when an error is thrown over it', async () => {
    const wf = await under.geneva.start(ThrowsOverIt)
    await wf.waitUntilFinished({ timeout: '10s' })
    expect((await wf.history())[0]).toMatchObject({ state: 'skipped', reason: 'meant', error: null })
  })

  it('means the first request when a step makes two', async () => {
    const wf = await under.geneva.start(FirstCounts)
    await wf.waitUntilFinished({ timeout: '10s' })
    expect((await wf.history())[0]).toMatchObject({ outcome: 'skipped_by_flow_control', reason: 'first' })
  })

  it.each(['before', 'after', 'around'] as const)('works in a hook: %s', async where => {
    const wf = await under.geneva.start(SkipsInHook, { input: { where } })
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(await wf.history()).toMatchObject([
      { step: 'only', outcome: 'skipped_by_flow_control', reason: 'by the hook' },
      { step: 'after', outcome: 'success' },
    ])
    expect(calls).toEqual(where === 'after' ? ['body'] : [])
  })

  it('works in a condition', async () => {
    const wf = await under.geneva.start(FinishesInCondition)
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('by the condition')
    expect(calls).toEqual([])
  })

  it('works in cancelIf', async () => {
    const wf = await under.geneva.start(PausesInCancelIf)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect((await wf.history())[0]).toMatchObject({ outcome: 'canceled_by_flow_control', reason: 'by cancelIf' })
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    expect(calls).toEqual(['body'])
  })

  it('turns a result that cannot be stored into a failure of the step', async () => {
    const wf = await under.geneva.start(FinishesWithGarbage)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect((await wf.history())[0]).toMatchObject({
      state: 'failed',
      outcome: 'paused_by_exception',
      error: { className: 'UnstorableValueError' },
    })
  })
})
