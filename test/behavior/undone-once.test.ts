/** A compensation with `idempotent: false` that loses its worker in mid-call: nobody calls it again but a person. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, Workflow } from '../../src/index.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

forEachDatabaseSideBySide('a compensation that is called once', database => {
  const calls: string[] = []
  let begun = gate()
  let over = gate()
  let hangs = true

  class Trip extends Workflow {
    static {
      this.named('trip')
      this.step('hotel', { compensate: 'leaveHotel' })
      this.step('flight', { compensate: { step: 'refund', idempotent: false } })
      this.step('visa', { onException: 'rollback' })
    }
    async hotel() {}
    async leaveHotel(_: Compensation) {
      calls.push('leaveHotel')
    }
    async flight() {}
    async refund(_: Compensation) {
      calls.push('refund')
      begun.open()
      // Deaf to its signal, as code is that waits for somebody else's answer.
      if (hangs) await over.passed
    }
    async visa() {
      throw new Error('denied')
    }
  }

  const under = useGeneva(database, { workflows: [Trip] })
  beforeEach(() => {
    calls.length = 0
    begun = gate()
    over = gate()
    hangs = true
  })

  async function expectUnknown(id: string): Promise<void> {
    const wf = await under.geneva.find(id)
    await waitFor(async () => (await wf?.refresh())?.state === 'failed', 20_000)
    expect(calls).toEqual(['refund', 'leaveHotel'])
    const undone = (await wf?.compensations())?.map(({ step, state, outcome }) => [step, state, outcome])
    expect(undone).toEqual([
      ['flight', 'failed', 'unknown'],
      ['hotel', 'completed', 'compensated'],
    ])
    expect((await wf?.history())?.find(({ step }) => step === 'flight')?.state).toBe('failed')
    const letters = (await under.geneva.deadLetters()).filter(letter => letter.workflowId === id)
    expect(letters.map(({ step, reason }) => [step, reason])).toEqual([['flight', 'unknown_outcome']])
    // A person has looked, and it had not happened.
    hangs = false
    await under.geneva.requeue(letters[0]?.id ?? '')
    await under.runDue()
    expect(calls).toEqual(['refund', 'leaveHotel', 'refund'])
    expect((await under.geneva.doctor({ workflow: id })).findings).toEqual([])
  }

  it('and whose worker was shut down in mid-call is left to a person, and the rest is undone', async () => {
    const { id } = await under.geneva.start(Trip)
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    await begun.passed
    await worker.stop()
    over.open()
    await under.runDue()
    await expectUnknown(id)
  })

  it('and whose worker died in mid-call is left to a person, and the rest is undone', async () => {
    const { id } = await under.geneva.start(Trip)
    await under.runDue({ maxSteps: 3 })
    const store = await under.geneva.openedStore()
    await store.registerWorker({ id: `dead ${id}`, host: 'test', pid: 1, leaseMs: 1, handlers: ['trip'] })
    const source = { queue: 'default', handler: 'trip', generation: 1 }
    const [claimed] = await store.claim({ workerId: `dead ${id}`, sources: [source], limit: 1, workflowId: id })
    expect(claimed?.execution).toMatchObject({ node: 'flight', kind: 'compensate' })
    if (claimed === undefined) throw new Error('Nothing was claimed.')
    expect(await store.markStarted(claimed.execution)).toBe(true)
    calls.push('refund')
    const worker = await under.geneva.startWorker({ poll: 20, lease: 500 })
    await waitFor(async () => calls.includes('leaveHotel'), 20_000)
    await worker.stop()
    await expectUnknown(id)
  })

  it('and meets a database that is away before the call waits for it, and is not given up', async () => {
    hangs = false
    const store = await under.geneva.openedStore()
    const { markStarted } = store
    let tries = 0
    store.markStarted = async execution => {
      if (++tries > 2) return markStarted.call(store, execution)
      throw Object.assign(new Error('away'), { code: database.name === 'sqlite' ? 'SQLITE_BUSY' : 'ECONNRESET' })
    }
    const wf = await under.geneva.start(Trip)
    await under.runDue()
    store.markStarted = markStarted
    expect(tries).toBeGreaterThan(2)
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['refund', 'leaveHotel'])
    expect((await wf.compensations()).map(({ outcome }) => outcome)).toEqual(['compensated', 'compensated'])
  })
})
