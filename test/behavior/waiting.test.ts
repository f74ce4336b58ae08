/** Waiting for the end of a workflow, in the process that runs it and in others. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class LastStep extends Workflow<null, { gate?: string; skipLast?: boolean }> {
  static {
    this.step('first')
    this.step('last', { skipIf: wf => wf.input.skipLast === true })
  }
  async first() {
    if (this.input.gate) await gates.stop(this.input.gate, this.signal)
    return { first: 1 }
  }
  last() {
    return new Map([['last', 2n]])
  }
}

class Declared extends Workflow {
  static {
    this.result('middle')
    this.step('before')
    this.step('middle')
    this.step('after')
  }
  before() {
    return 'before'
  }
  middle() {
    return this.execution.attempt === 1 ? this.reattempt() : 'middle'
  }
  after() {
    return 'after'
  }
}

class NoResult extends Workflow {
  static {
    this.step('only')
  }
  only() {}
}

class Cancels extends Workflow<null, { how: 'flow' | 'condition' | 'exception' }> {
  static {
    this.cancelIf(wf => wf.input.how === 'condition')
    this.step('only', { onException: 'cancel' })
  }
  only() {
    if (this.input.how === 'flow') this.cancel('the customer left')
    throw new Error('the card was declined')
  }
}

class Sleeper extends Workflow {
  static {
    this.step('sleep', { wait: '1 day' })
  }
  sleep() {}
}

const workflows = [LastStep, Declared, NoResult, Cancels, Sleeper]

forEachDatabase('waitUntilFinished', database => {
  const under = useGeneva(database, { workflows, worker: true })
  let count = 0

  it('returns what the last step returned', async () => {
    const wf = await under.geneva.start(LastStep)
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toEqual(new Map([['last', 2n]]))
    expect(wf.state).toBe('finished')
    expect(await wf.waitUntilFinished()).toEqual(new Map([['last', 2n]]))
  })

  it('returns what the last step that completed returned', async () => {
    const wf = await under.geneva.start(LastStep, { input: { skipLast: true } })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toEqual({ first: 1 })
  })

  it('returns what the declared step returned', async () => {
    const wf = await under.geneva.start(Declared)
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('middle')
  })

  it('returns undefined when there is nothing', async () => {
    expect(await (await under.geneva.start(NoResult)).waitUntilFinished({ timeout: '10s' })).toBeUndefined()
  })

  it.each([
    ['flow', 'the customer left'],
    ['condition', 'cancelIf'],
    ['exception', 'the card was declined'],
  ] as const)('rejects when the workflow was canceled by %s, and says why', async (how, reason) => {
    const wf = await under.geneva.start(Cancels, { input: { how } })
    const waiting = wf.waitUntilFinished({ timeout: '10s' })
    await expect(waiting).rejects.toMatchObject({
      code: 'WORKFLOW_NOT_FINISHED',
      workflowId: wf.id,
      state: 'canceled',
    })
    await expect(waiting).rejects.toThrow(reason)
  })

  it('rejects when someone cancels the workflow, and says who', async () => {
    const wf = await under.geneva.start(Sleeper)
    const waiting = expect(wf.waitUntilFinished()).rejects.toThrow('no longer needed (asked by ann)')
    await wf.cancel({ by: 'ann', reason: 'no longer needed' })
    await waiting
  })

  it('rejects when the time is over, and the workflow goes on', async () => {
    const wf = await under.geneva.start(Sleeper)
    await expect(wf.waitUntilFinished({ timeout: 20 })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      workflowId: wf.id,
      message: expect.stringContaining(`Workflow ${wf.id} is still ready after 20 ms`),
    })
    await wf.skip('sleep')
    await wf.waitUntilFinished({ timeout: '10s' })
  })

  it('works in another instance, for what runs here and has ended here', async () => {
    const elsewhere = under.another()
    const gate = `${database.name} ${++count}`
    const wf = await elsewhere.start(LastStep, { input: { gate } })
    const waiting = wf.waitUntilFinished({ timeout: '10s' })
    await gates.arrived(gate)
    expect((await wf.refresh()).state).toBe('performing')
    gates.open(gate)
    expect(await waiting).toEqual(new Map([['last', 2n]]))
    expect(await (await elsewhere.find(LastStep, wf.id))?.waitUntilFinished()).toEqual(new Map([['last', 2n]]))
  })

  it('waits through a pause', async () => {
    const gate = `${database.name} ${++count}`
    const wf = await under.geneva.start(LastStep, { input: { gate } })
    await gates.arrived(gate)
    const waiting = wf.waitUntilFinished({ timeout: '10s' })
    await wf.pause()
    gates.open(gate)
    await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'last')
    await wf.resume()
    expect(await waiting).toEqual(new Map([['last', 2n]]))
  })

  it('ends for many who wait for many', async () => {
    const wfs = await under.geneva.startMany(
      LastStep,
      Array.from({ length: 30 }, () => ({})),
    )
    const results = await Promise.all([...wfs, ...wfs].map(wf => wf.waitUntilFinished({ timeout: '10s' })))
    expect(results).toHaveLength(60)
  })

  it('rejects when its Geneva is closed', async () => {
    const closing = under.another()
    const wf = await closing.start(Sleeper)
    const waiting = expect(wf.waitUntilFinished()).rejects.toMatchObject({ code: 'CLOSED' })
    await wf.refresh()
    await closing.close()
    await waiting
  })

  it.each([-1, 'soon', Number.NaN])('refuses to wait for %s', async timeout => {
    const wf = await under.geneva.start(NoResult)
    await expect(wf.waitUntilFinished({ timeout: timeout as number })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })
})
