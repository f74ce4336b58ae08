/** How far a resumable step has come: in history and in what is under way, with its rate, its rest and its reasons. */
import { expect, it } from 'vitest'
import { type Iteration, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class Import extends Workflow<null, { gate: string }> {
  static {
    this.allowMultiple()
    this.step('open')
    this.resumableStep('rows', { checkpoint: 'each' })
  }
  async open() {}
  async rows(iter: Iteration<number>) {
    iter.progress({ total: 8 })
    for await (const row of iter.over([0, 1, 2, 3, 4, 5, 6, 7])) {
      if (row === 2) await gates.stop(this.input.gate, this.signal)
    }
  }
}

class Endless extends Workflow {
  static {
    this.resumableStep('count')
  }
  async count(iter: Iteration<number>) {
    iter.progress({ total: 1e9 })
    for (;;) await iter.advance({ start: 0 })
  }
}

class Fragile extends Workflow<null, { rewind: boolean }> {
  static {
    this.allowMultiple()
    this.resumableStep('rows', { onException: { policy: 'reattempt', wait: '1 hour' } })
  }
  async rows(iter: Iteration<number>) {
    for await (const row of iter.over(Array.from({ length: 1000 }, (_, index) => index))) {
      if (row === 900 && this.execution.attempt === 1) {
        if (this.input.rewind) this.reattempt({ rewind: true, wait: '1 hour' })
        throw new Error('the line is dead')
      }
      if (row === 901 && !this.input.rewind) await iter.suspend({ wait: '1 hour' })
      if (row === 10 && this.execution.attempt === 2) await iter.suspend({ wait: '1 hour' })
    }
  }
}

class Plain extends Workflow {
  static {
    this.allowMultiple()
    this.step('walk')
  }
  async walk() {}
}

class Reasons extends Workflow {
  static {
    this.allowMultiple()
    this.resumableStep('go', { yieldEvery: 4 })
  }
  async go(iter: Iteration<number>) {
    if (iter.cursor === null) await iter.skipTo(1)
    if (iter.cursor === 1) {
      await iter.set(2)
      await iter.suspend()
    }
    for await (const _ of iter.over([0, 1, 2, 3, 4, 5, 6]));
  }
}

const workflows = [Import, Endless, Fragile, Plain, Reasons]
const hour = 60 * 60 * 1000

forEachDatabase('the progress of a resumable step', database => {
  const under = useGeneva(database, { workflows, worker: true })
  const clock = useGeneva(database, { workflows })

  it('shows count, total, rate, rest and cursor while the step runs, and what came of it', async () => {
    const wf = await under.geneva.start(Import, { input: { gate: `${database.name} runs` } })
    await gates.arrived(`${database.name} runs`)
    const [running] = await wf.currentExecutions()
    expect(running).toMatchObject({
      step: 'rows',
      state: 'in_progress',
      progress: { completed: 2, total: 8, cursor: 2 },
    })
    const { perSecond, remainingMs } = running?.progress ?? {}
    expect(perSecond).toBeGreaterThan(0)
    expect(remainingMs).toBe(Math.ceil((6 / (perSecond ?? 0)) * 1000))
    gates.open(`${database.name} runs`)
    await wf.waitUntilFinished({ timeout: '10s' })
    const [open, rows] = await wf.history()
    expect(open?.progress).toBeNull()
    expect(rows?.progress).toEqual({
      completed: 8,
      total: 8,
      cursor: 8,
      perSecond: expect.any(Number),
      remainingMs: null,
    })
  })

  it('is nothing for a step of another kind, and zero for one that has not begun', async () => {
    const wf = await clock.geneva.start(Plain)
    expect((await wf.currentExecutions())[0]?.progress).toBeNull()
    const fragile = await clock.geneva.start(Fragile, { input: { rewind: false } })
    expect((await fragile.currentExecutions())[0]?.progress).toEqual({
      completed: 0,
      total: null,
      perSecond: null,
      remainingMs: null,
      cursor: null,
    })
  })

  it('has a rate for what this attempt has done, not for what it took over', async () => {
    const wf = await clock.geneva.start(Fragile, { input: { rewind: false } })
    await clock.runDue({ workflowId: wf.id })
    await clock.setClock(hour)
    await clock.runDue({ workflowId: wf.id })
    await clock.setClock(2 * hour)
    const [second] = await wf.currentExecutions()
    expect(second).toMatchObject({ attempt: 2, state: 'suspended', progress: { completed: 901, cursor: 901 } })
    // One item in the hour since it began, whatever the first attempt did in no time.
    expect(second?.progress?.perSecond).toBeCloseTo(1 / 3600, 5)
    expect((await wf.history()).at(-1)?.progress?.perSecond).toBeCloseTo(1 / 3600, 5)
  })

  it('begins anew after a rewind', async () => {
    await clock.setClock(0)
    const wf = await clock.geneva.start(Fragile, { input: { rewind: true } })
    await clock.runDue({ workflowId: wf.id })
    await clock.setClock(hour)
    await clock.runDue({ workflowId: wf.id })
    await clock.setClock(2 * hour)
    const attempts = await wf.history()
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: 'reattempted', progress: { completed: 900 } },
      { attempt: 2, state: 'suspended', progress: { completed: 10, cursor: 10 } },
    ])
    expect(attempts[1]?.progress?.perSecond).toBeCloseTo(10 / 3600, 4)
  })

  it('says nothing about the time left of a step that is held', async () => {
    const wf = await under.geneva.start(Endless)
    await waitFor(async () => ((await wf.currentExecutions())[0]?.progress?.completed ?? 0) > 0)
    await wf.pause()
    const held = await waitFor(async () => {
      const [row] = await wf.currentExecutions()
      return row?.state === 'paused' && row
    })
    expect(held.progress).toMatchObject({ total: 1e9, perSecond: null, remainingMs: null })
    await wf.cancel()
  })

  it('tells in the events why a step was suspended', async () => {
    const wf = await under.geneva.start(Reasons)
    await wf.waitUntilFinished({ timeout: '10s' })
    const suspended = (await wf.events()).filter(({ type }) => type === 'step.suspended')
    expect(suspended.map(({ reason, from, to }) => [reason, from, to])).toEqual([
      ['skipped ahead', 'in_progress', 'suspended'],
      ['suspended by the step', 'in_progress', 'suspended'],
      ['yielded after 4 items', 'in_progress', 'suspended'],
    ])
  })
})
