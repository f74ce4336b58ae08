/**
 * What is called once is marked before that. The answer to the mark may take longer than the lease: by then somebody else has
 * found the mark, and decided on what nobody knows.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, defineJob, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { type DatabaseName, forEachDatabaseSideBySide } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

interface Place {
  readonly on: DatabaseName
}

/** By database, which have their tests side by side. */
const callsOf: Readonly<Record<DatabaseName, string[]>> = { sqlite: [], postgres: [], mysql: [] }

class Payment extends Workflow<null, Place> {
  static {
    this.named('late payment')
    this.step('charge', { idempotent: false, reconcile: 'findCharge' })
  }
  async charge() {
    callsOf[this.input.on].push('charge')
  }
  async findCharge() {
    callsOf[this.input.on].push('find')
    return { happened: callsOf[this.input.on].includes('charge') }
  }
}

class Trip extends Workflow<null, Place> {
  static {
    this.named('late trip')
    this.step('flight', { compensate: { step: 'refund', idempotent: false } })
    this.step('visa', { onException: 'rollback' })
  }
  async flight() {}
  async refund(_: Compensation) {
    callsOf[this.input.on].push('refund')
  }
  async visa() {
    throw new Error('denied')
  }
}

class Plain extends Workflow {
  static {
    this.named('plain beside late marks')
    this.step('note')
  }
  async note() {}
}

const chargeJob = defineJob('chargeLate', async ({ on }: Place) => {
  callsOf[on].push('charge')
})
const findJob = defineJob('findLate', async ({ on }: Place) => {
  callsOf[on].push('find')
  return { happened: callsOf[on].includes('charge') }
})

forEachDatabaseSideBySide('a call whose mark is answered after the lease was lost', database => {
  const under = useGeneva(database, { workflows: [Payment, Trip, Plain], jobs: [chargeJob, findJob] })
  const input: Place = { on: database.name }
  const calls = callsOf[database.name]
  beforeEach(() => {
    calls.length = 0
  })

  /** The first worker falls silent with the mark made: what it says arrives, what it is told comes when the other has ended all. */
  async function markAnsweredLate(wf: WorkflowHandle, end: 'finished' | 'failed'): Promise<void> {
    const store = await under.geneva.openedStore()
    const { markStarted, heartbeat } = store
    const late = gate()
    const marked = gate()
    store.markStarted = async (...given) => {
      const answer = await markStarted.apply(store, given)
      if (answer) marked.open()
      await late.passed
      return answer
    }
    store.heartbeat = async (...given) => {
      if (store.markStarted === markStarted) await late.passed
      return heartbeat.apply(store, given)
    }
    const silent = await under.geneva.startWorker({
      poll: 20,
      lease: 500,
      heartbeat: 100,
      heartbeatThread: false,
      concurrency: 1,
    })
    await marked.passed
    store.markStarted = markStarted
    const other = await under.another().startWorker({ poll: 20, lease: 2000, heartbeatThread: false })
    await waitFor(async () => (await wf.refresh()).state === end)
    await other.stop()
    late.open()
    // There is room for another one as soon as the first has learned that it must not go on.
    const next = await under.geneva.start(Plain)
    await waitFor(async () => (await next.refresh()).state === 'finished')
    await silent.stop()
    store.heartbeat = heartbeat
  }

  it('is not made, because another worker has asked about it and made it', async () => {
    const wf = await under.geneva.start(Payment, { input })
    await markAnsweredLate(wf, 'finished')
    expect(calls).toEqual(['find', 'charge'])
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['unknown', 'success'])
  })

  it('is not made in a stored graph either', async () => {
    const graph = under.geneva.build(w => {
      w.node('charge', { job: chargeJob, args: input, idempotent: false, reconcile: findJob })
    })
    const wf = await under.geneva.startGraph(graph)
    await markAnsweredLate(wf, 'finished')
    expect(calls).toEqual(['find', 'charge'])
  })

  it('is not made to undo what a person has been asked to look at', async () => {
    const wf = await under.geneva.start(Trip, { input })
    await markAnsweredLate(wf, 'failed')
    expect(calls).toEqual([])
    expect((await wf.compensations()).map(({ outcome }) => outcome)).toEqual(['unknown'])
  })
})
