/** The testing kit and resumable steps: so many items and no more, then whatever the test wants to look at. */
import { AssertionError } from 'node:assert'
import { afterEach, expect, it } from 'vitest'
import { InvalidArgumentError, type Iteration, StepLimitError, Workflow } from '../../src/index.ts'
import { type TestKit, testGeneva } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'

const hour = 60 * 60 * 1000
let met: number[] = []

class Rows extends Workflow<null, { failAt?: number }> {
  static {
    this.step('open')
    this.resumableStep('copy')
    this.step('close')
  }
  async open() {}
  async copy(iter: Iteration<number>) {
    for await (const row of iter.over([10, 20, 30, 40, 50, 60, 70])) {
      if (met.length === this.input.failAt) throw new Error('the disk is full')
      met.push(row)
    }
  }
  async close() {}
}

class ByThrees extends Workflow {
  static {
    this.resumableStep('copy', { yieldEvery: 3 })
  }
  async copy(iter: Iteration<number>) {
    for await (const row of iter.over([10, 20, 30, 40, 50, 60, 70])) met.push(row)
  }
}

class Halting extends Workflow {
  static {
    this.resumableStep('copy', { yieldEvery: 2 })
    this.step('close')
  }
  async copy(iter: Iteration<number>) {
    for await (const row of iter.over([10, 20, 30, 40, 50, 60, 70])) met.push(row)
  }
  async close() {}
}

class Polite extends Workflow {
  static {
    this.resumableStep('poll')
  }
  async poll(iter: Iteration<number>) {
    const page = iter.cursor ?? 0
    if (page === 3) return
    met.push(page)
    await iter.skipTo(page + 1, { wait: '1 hour' })
  }
}

/** Begins a day later, waits between pages, and fails once. */
class Patient extends Workflow {
  static {
    this.resumableStep('poll', { wait: '1 day', retry: 2, yieldEvery: 1 })
    this.step('close')
  }
  async poll(iter: Iteration<number>) {
    const page = iter.cursor ?? 0
    if (page === 3) return
    if (page === 2 && this.execution.attempt === 1) throw new Error('the line is dead')
    met.push(page)
    await iter.skipTo(page + 1, { wait: '1 hour' })
  }
  async close() {}
}

class Stuck extends Workflow {
  static {
    this.resumableStep('wait')
  }
  async wait(iter: Iteration<string>) {
    await iter.suspend({ wait: '1 day' })
  }
}

class Pages extends Workflow {
  static {
    this.resumableStep('read')
  }
  async read(iter: Iteration<[Date, number]>) {
    await iter.set([new Date(5), 1])
    await iter.set([new Date(5), 2])
  }
}

const workflows = [Rows, ByThrees, Halting, Polite, Patient, Stuck, Pages]
const kits: TestKit[] = []
afterEach(async () => {
  met = []
  await Promise.all(kits.splice(0).map(kit => kit.close()))
})

async function open(database?: string): Promise<TestKit> {
  const kit = await testGeneva({ workflows, ...(database === undefined ? {} : { database }) })
  kits.push(kit)
  return kit
}

forEachDatabase('the testing kit', database => {
  it('runs so many items of a resumable step, then so many more, then the rest', async () => {
    const kit = await open((await database.isolated()).url)
    const wf = await kit.start(Rows)
    await kit.performNextStep(wf)
    expect(await kit.runIterations(wf, 2)).toMatchObject({
      step: 'copy',
      attempt: 1,
      state: 'suspended',
      endedAt: null,
    })
    expect(met).toEqual([10, 20])
    await kit.assertCursor(wf, 2)
    await kit.assertIterations(wf, 2)

    await kit.runIterations(wf, 3)
    await kit.assertCursor(wf, 5)
    await kit.assertIterations(wf, 5)
    await kit.assertStepNotExecuted(wf, 'close')

    await kit.speedrun(wf)
    expect(met).toEqual([10, 20, 30, 40, 50, 60, 70])
    await kit.assertState(wf, 'finished')
    await kit.assertIterations(wf, 7)
    await kit.assertExecutedSteps(wf, ['open', 'copy', 'close'])
    expect(await wf.history()).toHaveLength(3)
  })

  it('runs one resumable step to its end without the steps behind it, when it is asked for more items than there are', async () => {
    const kit = await open((await database.isolated()).url)
    const wf = await kit.start(Halting)
    expect(await kit.runIterations(wf, 1e6)).toMatchObject({ step: 'copy', state: 'completed', outcome: 'success' })
    expect(met).toEqual([10, 20, 30, 40, 50, 60, 70])
    await kit.assertIterations(wf, 7)
    await kit.assertStepNotExecuted(wf, 'close')
    await kit.assertState(wf, 'ready')
    const polite = await kit.start(Polite)
    for (const page of [0, 1]) {
      expect(await kit.runIterations(polite, 1e6)).toMatchObject({ state: 'suspended', progress: { cursor: page + 1 } })
      await kit.advance('1 hour')
    }
  })

  it('runs one resumable step to its end, over its runs, waits and retries, and nothing behind it', async () => {
    const kit = await open((await database.isolated()).url)
    const begin = await kit.now()
    const patient = await kit.start(Patient)
    expect(await kit.speedrunResumableStep(patient)).toMatchObject({
      step: 'poll',
      attempt: 2,
      state: 'completed',
      outcome: 'success',
      progress: { cursor: 3 },
    })
    expect(met).toEqual([0, 1, 2])
    await kit.assertState(patient, 'ready')
    await kit.assertStepNotExecuted(patient, 'close')
    expect((await kit.now()).getTime() - begin.getTime()).toBeGreaterThanOrEqual(3 * hour + 24 * hour)
    await expect(kit.speedrunResumableStep(patient)).rejects.toThrow('stands at step close, which is not resumable')
  })

  it('runs a resumable step to its end, over all its runs and waits', async () => {
    const kit = await open((await database.isolated()).url)
    const begin = await kit.now()
    const [threes, polite] = [await kit.start(ByThrees), await kit.start(Polite)]
    await kit.speedrun(threes)
    await kit.assertState(threes, 'finished')
    expect(met).toEqual([10, 20, 30, 40, 50, 60, 70])
    met = []
    await kit.speedrun(polite)
    await kit.assertState(polite, 'finished')
    expect(met).toEqual([0, 1, 2])
    expect((await kit.now()).getTime() - begin.getTime()).toBeGreaterThanOrEqual(3 * hour)
  })
})

it('goes through as many runs as so many items take', async () => {
  const kit = await open()
  const wf = await kit.start(ByThrees)
  await kit.runIterations(wf, 5)
  expect(met).toEqual([10, 20, 30, 40, 50])
  await kit.assertIterations(wf, 5)
  const reasons = (await wf.events()).filter(({ type }) => type === 'step.suspended').map(({ reason }) => reason)
  expect(reasons).toEqual(['yielded after 3 items', 'stopped after 2 items'])
})

it('stops early where the step ends, fails or waits', async () => {
  const kit = await open()
  const whole = await kit.start(ByThrees)
  expect(await kit.runIterations(whole, 100)).toMatchObject({ state: 'completed', outcome: 'success' })
  await kit.assertState(whole, 'finished')

  met = []
  const failing = await kit.start(Rows, { input: { failAt: 2 } })
  await kit.performNextStep(failing)
  expect(await kit.runIterations(failing, 5)).toMatchObject({ state: 'failed', progress: { completed: 2, cursor: 2 } })
  await kit.assertState(failing, 'paused')
  await kit.assertCursor(failing, 2)

  const polite = await kit.start(Polite)
  expect(await kit.runIterations(polite, 5)).toMatchObject({ state: 'suspended', progress: { completed: 1 } })
  expect(await kit.runIterations(polite, 5)).toBeNull()
})

it('performs a resumable step run by run, and tells how it stands after each', async () => {
  const kit = await open()
  const wf = await kit.start(ByThrees)
  expect(await kit.performNextStep(wf)).toMatchObject({ state: 'suspended', progress: { completed: 3, cursor: 3 } })
  expect(await kit.performNextStep(wf)).toMatchObject({ state: 'suspended', progress: { completed: 6, cursor: 6 } })
  expect(await kit.performNextStep(wf)).toMatchObject({ state: 'completed', progress: { completed: 7, cursor: 7 } })
  expect(await kit.performNextStep(wf)).toBeNull()
})

it('compares cursors with their types', async () => {
  const kit = await open()
  const wf = await kit.start(Pages)
  await kit.assertCursor(wf, null)
  await kit.runIterations(wf, 1)
  await kit.assertCursor(wf, [new Date(5), 1])
  await expect(kit.assertCursor(wf, ['1970-01-01T00:00:00.005Z', 1])).rejects.toThrow(AssertionError)
  await expect(kit.assertCursor(wf, [new Date(5), 2])).rejects.toThrow(
    /has the cursor \[ 1970-01-01T00:00:00.005Z, 1 \], not \[ 1970-01-01T00:00:00.005Z, 2 \]\.\n {2}read, attempt 1: suspended \(due .*, 1 items, cursor/,
  )
  await expect(kit.assertIterations(wf, 2)).rejects.toThrow(/has done 1 items, not 2/)
})

it('refuses a step that is not resumable, and a count that is none', async () => {
  const kit = await open()
  const wf = await kit.start(Rows)
  await expect(kit.runIterations(wf, 1)).rejects.toThrow(/stands at step open, which is not resumable/)
  await expect(kit.runIterations(wf, 0)).rejects.toThrow(InvalidArgumentError)
  await expect(kit.runIterations(wf, 1.5)).rejects.toThrow(/whole number above 0, not 1.5/)
  await expect(kit.assertCursor(wf, null)).rejects.toThrow(/has not reached a resumable step/)
})

it('gives up on a step that suspends itself for ever', async () => {
  const kit = await open()
  const wf = await kit.start(Stuck)
  await expect(kit.speedrun(wf, { maxSteps: 20 })).rejects.toThrow(StepLimitError)
  expect(await kit.runIterations(wf, 5)).toBeNull()
})

it('stops a speedrun of a step where the step fails for good, does not stop, or has ended before', async () => {
  const kit = await open()
  const failing = await kit.start(Rows, { input: { failAt: 2 } })
  await kit.performNextStep(failing)
  expect(await kit.speedrunResumableStep(failing)).toMatchObject({ state: 'failed', progress: { completed: 2 } })
  await kit.assertState(failing, 'paused')
  expect(await kit.speedrunResumableStep(failing)).toBeNull()

  const stuck = await kit.start(Stuck)
  await expect(kit.speedrunResumableStep(stuck, { maxSteps: 5 })).rejects.toThrow(StepLimitError)

  const ended = await kit.start(ByThrees)
  await kit.speedrun(ended)
  expect(await kit.speedrunResumableStep(ended)).toBeNull()
})
