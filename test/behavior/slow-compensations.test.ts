/**
 * Compensations that take longer than some heartbeats: nobody tells them to stop because their workflow is being rolled back, which is
 * what they are there for. Only what takes the claim from them does.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, defineJob, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const heartbeatMs = 20
/** So many heartbeats come meanwhile that one of them is heard even where the machine is busy. */
const slowMs = 400

/** As `fetch` would: it ends early, with the reason, when the signal says so. */
function slowly(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, slowMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error(`stopped: ${signal.reason}`))
    })
  })
}

const undone: string[] = []
let gates = new Gates()

class Ordered extends Workflow<null, { fails: boolean }> {
  static {
    this.step('reserve', { compensate: { step: 'release', transaction: true, retry: 1 } })
    this.step('charge', { compensate: { step: 'refund', retry: 1 } })
    this.step('ship', { onException: 'rollback' })
    this.step('wait', { wait: '1 hour' })
  }
  async reserve() {}
  async charge() {}
  async ship() {
    if (this.input.fails) throw new Error('no truck')
  }
  async wait() {}
  async refund() {
    await slowly(this.signal)
    undone.push('charge')
  }
  /** Longer than some heartbeats as well. */
  async release(_: Compensation<Ordered['reserve']>, _tx: Transaction) {
    await new Promise(resolve => setTimeout(resolve, slowMs))
    undone.push('reserve')
  }
}

/** Always rolled back. */
abstract class Broken extends Workflow {
  static {
    this.step('act', { compensate: { step: 'undo', retry: 1 } })
    this.step('break', { onException: 'rollback' })
  }
  async act() {}
  async break() {
    throw new Error('broken')
  }
  abstract undo(): Promise<void>
}

let isRefused = false

class GivenUp extends Broken {
  async undo() {
    if (isRefused) throw new Error('not today')
    await slowly(this.signal)
    undone.push('act')
  }
}

class Held extends Broken {
  async undo() {
    await gates.stop('undo', this.signal)
  }
}

const act = defineJob('act', async () => {})
const breakDown = defineJob('breakDown', { onException: 'rollback' }, async () => {
  throw new Error('broken')
})
const undo = defineJob('undo', async (_: Record<string, never>, job) => {
  await slowly(job.signal)
  undone.push(job.node.name)
})

forEachDatabase('a compensation that takes longer than a heartbeat', database => {
  const under = useGeneva(database, {
    workflows: [Ordered, GivenUp, Held],
    jobs: [act, breakDown, undo],
    worker: { heartbeat: heartbeatMs },
  })
  beforeEach(() => {
    undone.length = 0
    under.errors.length = 0
    isRefused = false
    gates = new Gates()
  })
  const lettersOf = ({ id }: WorkflowHandle) => under.geneva.deadLetters({ workflowId: id })
  const told = () => under.errors.map(({ error }) => (error as Error).message)

  it('is not told to stop when a failure is rolled back, in a transaction or not', async () => {
    const wf = await under.geneva.start(Ordered, { input: { fails: true } })
    await expect(wf.waitUntilFinished({ timeout: '20s' })).rejects.toMatchObject({ state: 'failed' })
    expect(undone).toEqual(['charge', 'reserve'])
    expect(told()).toEqual(['no truck'])
    expect(await lettersOf(wf)).toEqual([])
  })

  it('is not told to stop when its workflow is canceled', async () => {
    const wf = await under.geneva.start(Ordered, { input: { fails: false } })
    await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'wait')
    await wf.cancel()
    await expect(wf.waitUntilFinished({ timeout: '20s' })).rejects.toMatchObject({ state: 'canceled' })
    expect(undone).toEqual(['charge', 'reserve'])
    expect(told()).toEqual([])
  })

  it('is not told to stop when it is requeued after the end', async () => {
    isRefused = true
    const wf = await under.geneva.start(GivenUp)
    await expect(wf.waitUntilFinished({ timeout: '20s' })).rejects.toMatchObject({ state: 'failed' })
    isRefused = false
    const [letter] = await lettersOf(wf)
    await under.geneva.requeue(letter?.id ?? '')
    await waitFor(() => undone.length > 0)
    await waitFor(async () => (await lettersOf(wf)).length === 0)
    expect(told()).toEqual(['broken', 'not today'])
  })

  it('is not told to stop where it is a job of a graph without a class', async () => {
    const graph = under.geneva.build(w => {
      w.node('first', { job: act, compensate: undo })
      w.node('second', { job: breakDown })
    })
    const wf = await under.geneva.startGraph(graph)
    await expect(wf.waitUntilFinished({ timeout: '20s' })).rejects.toMatchObject({ state: 'failed' })
    expect(undone).toEqual(['first'])
    expect(told()).toEqual(['broken'])
  })

  it('is told to stop when its workflow is aborted', async () => {
    const wf = await under.geneva.start(Held)
    const signal = await gates.arrived('undo')
    await wf.abort()
    await waitFor(() => signal.aborted)
    expect(signal.reason).toBe('claim lost')
    gates.open('undo')
  })
})
