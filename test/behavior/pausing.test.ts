/** Pause, resume and skip from outside: nothing new starts, nothing that ran is lost, and everything goes on where it was. */
import { expect, it } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const ran = new Map<string, number>()

class TwoSteps extends Workflow<
  null,
  { gate: string; ends?: 'throws' | 'finishes' | 'reattempts' | 'pauses' | 'skips' }
> {
  static {
    this.step('first')
    this.step('second', { wait: '1 hour' })
  }
  async first() {
    const { gate, ends } = this.input
    await gates.stop(gate, this.signal)
    if (this.execution.attempt > 1) return 'again'
    if (ends === 'throws') throw new Error('while paused')
    if (ends === 'finishes') this.finish('early')
    if (ends === 'reattempts') this.reattempt({ wait: '2 hours' })
    if (ends === 'pauses') this.pause()
    if (ends === 'skips') this.skip()
    return 'first'
  }
  second() {
    return 'second'
  }
}

class Single extends Workflow<null, { gate: string }> {
  static {
    this.step('only')
  }
  async only() {
    await gates.stop(this.input.gate, this.signal)
    return 'done'
  }
}

class Failing extends Workflow {
  static {
    this.step('fails')
    this.step('last')
  }
  fails() {
    if (this.execution.attempt < 3) throw new Error(`failure ${this.execution.attempt}`)
  }
  last() {
    return 'last'
  }
}

class FailsAtTheEnd extends Workflow {
  static {
    this.step('fails')
  }
  fails() {
    throw new Error('at the end')
  }
}

class Counted extends Workflow {
  static {
    this.step('count')
  }
  count() {
    ran.set(this.id, (ran.get(this.id) ?? 0) + 1)
  }
}

class Sleeper extends Workflow {
  static {
    this.step('wake', { wait: '1 hour' })
  }
  wake() {}
}

forEachDatabase('a paused workflow', database => {
  const workflows = [TwoSteps, Single, Failing, FailsAtTheEnd, Counted, Sleeper]
  const under = useGeneva(database, { workflows, worker: true })
  let count = 0

  /** A workflow that was paused while its first step runs. */
  async function pausedWhileRunning(ends?: 'throws' | 'finishes' | 'reattempts' | 'pauses' | 'skips') {
    const gate = `${database.name} ${++count}`
    const wf = await under.geneva.start(TwoSteps, { input: { gate, ...(ends ? { ends } : {}) } })
    await gates.arrived(gate)
    await wf.pause()
    expect(wf.state).toBe('paused')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'first', state: 'in_progress' }])
    gates.open(gate)
    await waitFor(async () => (await wf.history())[0]?.outcome)
    return wf
  }

  it('lets a running step end, records it, and holds the step behind it', async () => {
    const wf = await pausedWhileRunning()
    expect(await wf.history()).toMatchObject([
      { step: 'first', state: 'completed', outcome: 'success' },
      { step: 'second', state: 'paused', outcome: null },
    ])
    expect((await wf.refresh()).state).toBe('paused')
    expect(await wf.output('first')).toBe('first')
  })

  it('goes on with the due time that the held step had', async () => {
    const wf = await pausedWhileRunning()
    const [held] = await wf.currentExecutions()
    await wf.resume()
    const [free] = await wf.currentExecutions()
    expect(free).toMatchObject({ id: held?.id, state: 'scheduled', attempt: 1, scheduledFor: held?.scheduledFor })
  })

  it('runs at once, when it is resumed, what fell due meanwhile', async () => {
    const wf = await under.geneva.start(Sleeper)
    await wf.pause()
    await under.setClock(2 * 3_600_000)
    await waitFor(async () => (await under.runDue()) === 0)
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    await wf.waitUntilFinished({ timeout: '10s' })
    await under.setClock(0)
  })

  it('ends when it is resumed after its last step has ended', async () => {
    const gate = `${database.name} ${++count}`
    const wf = await under.geneva.start(Single, { input: { gate } })
    await gates.arrived(gate)
    await wf.pause()
    gates.open(gate)
    await waitFor(async () => (await wf.currentExecutions()).length === 0)
    expect((await wf.refresh()).state).toBe('paused')
    expect(await wf.nextNode()).toBeNull()
    await wf.resume({ by: 'ann' })
    expect(wf.state).toBe('finished')
    expect(await wf.waitUntilFinished()).toBe('done')
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'workflow.finished', by: 'ann' })
  })

  it('stays paused when its step declares it finished, and ends when it is resumed', async () => {
    const wf = await pausedWhileRunning('finishes')
    expect((await wf.refresh()).state).toBe('paused')
    expect(await wf.currentExecutions()).toEqual([])
    await wf.resume()
    expect(wf.state).toBe('finished')
    expect(await wf.waitUntilFinished()).toBe('early')
    expect(await wf.history()).toHaveLength(1)
  })

  it('stays paused when its step throws, and makes a new attempt when it is resumed', async () => {
    const wf = await pausedWhileRunning('throws')
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'second')
    expect((await wf.history()).map(execution => [execution.step, execution.attempt, execution.outcome])).toEqual([
      ['first', 1, 'paused_by_exception'],
      ['first', 2, 'success'],
      ['second', 1, null],
    ])
  })

  it.each(['reattempts', 'pauses', 'skips'] as const)('stays paused when its step %s', async ends => {
    const wf = await pausedWhileRunning(ends)
    expect((await wf.refresh()).state).toBe('paused')
    const held = { reattempts: ['first', 2], pauses: undefined, skips: ['second', 1] }[ends]
    const [row] = await wf.currentExecutions()
    expect(row && [row.step, row.attempt]).toEqual(held)
    if (row) expect(row.state).toBe('paused')
    await wf.resume()
    expect(wf.state).not.toBe('paused')
    await waitFor(async () => (await wf.currentExecutions())[0])
  })

  it('by an exception makes new attempts, one for each resume', async () => {
    const wf = await under.geneva.start(Failing)
    for (const attempt of [1, 2]) {
      await waitFor(async () => (await wf.refresh()).state === 'paused' && (await wf.history()).length === attempt)
      await wf.resume()
    }
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('last')
    expect(
      (await wf.history()).map(execution => [execution.step, execution.attempt, execution.error?.message]),
    ).toEqual([
      ['fails', 1, 'failure 1'],
      ['fails', 2, 'failure 2'],
      ['fails', 3, undefined],
      ['last', 1, undefined],
    ])
  })

  it('by an exception goes on behind the failed step when that is skipped', async () => {
    const wf = await under.geneva.start(Failing)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    await wf.skip('fails', { by: 'ann', reason: 'done by hand' })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('last')
    expect((await wf.history()).map(execution => [execution.step, execution.attempt, execution.state])).toEqual([
      ['fails', 1, 'failed'],
      ['fails', 2, 'skipped'],
      ['last', 1, 'completed'],
    ])
    expect((await wf.history())[1]).toMatchObject({ outcome: 'skipped_by_flow_control', reason: 'done by hand' })
  })

  it('by an exception stays paused once a person holds it as well, whoever settles what has failed', async () => {
    const wf = await under.geneva.start(Failing)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    await wf.pause({ by: 'ann', reason: 'not before Monday' })
    expect((await under.geneva.explain(wf.id)).sentence).toMatch(/ by ann: not before Monday/)
    await wf.skip('fails', { by: 'bob' })
    expect(wf.state).toBe('paused')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'last', state: 'paused' }])
    await wf.resume({ by: 'ann' })
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('last')
    const paused = (await wf.events()).filter(({ type }) => type === 'workflow.paused')
    expect(paused).toMatchObject([{ payload: { cause: 'exception' } }, { payload: { cause: 'request' }, by: 'ann' }])
  })

  it('by an exception at its last step ends when that is skipped', async () => {
    const wf = await under.geneva.start(FailsAtTheEnd)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    await wf.skip('fails', { by: 'ann' })
    expect(wf.state).toBe('finished')
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'workflow.finished', from: 'paused', by: 'ann' })
  })

  it('stays paused when a waiting step is skipped, and holds the next one', async () => {
    const wf = await pausedWhileRunning('throws')
    await wf.skip('first')
    expect(wf.state).toBe('paused')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'second', state: 'paused' }])
  })

  it('ends when its last waiting step is skipped', async () => {
    const wf = await under.geneva.start(Sleeper)
    await wf.pause()
    await wf.skip('wake')
    expect(wf.state).toBe('finished')
  })

  it('is canceled at once', async () => {
    const wf = await under.geneva.start(Sleeper)
    await wf.pause()
    await wf.cancel()
    expect(wf.state).toBe('canceled')
    expect(await wf.history()).toMatchObject([{ step: 'wake', state: 'canceled', outcome: 'stopped' }])
  })

  it('never loses a step that a worker was just claiming', async () => {
    ran.clear()
    const rounds = await Promise.all(
      Array.from({ length: 60 }, async (_, index): Promise<WorkflowHandle> => {
        const wf = await under.geneva.start(Counted)
        if (index % 3 > 0) await new Promise(resolve => setTimeout(resolve, index % 7))
        await wf.pause().catch(error => expect(error).toMatchObject({ code: 'INVALID_STATE', state: 'finished' }))
        return wf
      }),
    )
    for (const wf of rounds) {
      await waitFor(async () => (await wf.currentExecutions()).every(row => row.state !== 'in_progress'))
      if ((await wf.refresh()).state === 'paused') await wf.resume()
      await wf.waitUntilFinished({ timeout: '10s' })
      expect(ran.get(wf.id)).toBe(1)
      expect(await wf.history()).toHaveLength(1)
    }
  })
})
