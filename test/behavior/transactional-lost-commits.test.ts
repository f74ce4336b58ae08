/**
 * A commit without an answer, and somebody else who changes the workflow before the worker can look. Where it has not happened, the row
 * keeps the name of the worker that had claimed it, which says nothing about whose end it came to.
 */
import { expect, it } from 'vitest'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { takeOver } from '../../src/engine/take-over.ts'
import { type OpenTransaction, type Transaction, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { driverTransactions } from '../programs/harness/driver-transactions.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

class Booking extends Workflow {
  static {
    this.named('lost booking')
    this.allowMultiple()
    this.transactionalStep('book')
  }
  async book(_: Transaction) {
    return 'booked'
  }
}

class Trip extends Workflow {
  static {
    this.named('lost trip')
    this.transactionalStep('book', { compensate: 'unbook' })
    this.step('leave', { wait: '1 day' })
  }
  async book(_: Transaction) {}
  async unbook() {}
  async leave() {}
}

forEachDatabase('a commit that is lost', database => {
  /** Happens once, after a transaction was undone, or committed, and before anybody hears of that. */
  let meanwhile: (() => Promise<unknown>) | null = null
  let commits = false
  let open: OpenTransaction | null = null

  const transactions = (async (run: (tx: unknown) => Promise<unknown>) => {
    open ??= driverTransactions(under.url)
    const act = meanwhile
    if (act === null) return (open as (work: typeof run) => Promise<unknown>)(run)
    meanwhile = null
    const cut = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
    await (open as (work: typeof run) => Promise<unknown>)(async tx => {
      await run(tx)
      if (!commits) throw cut
    }).catch(() => {})
    commits = false
    await act()
    throw cut
  }) as OpenTransaction

  const under = useGeneva(database, { workflows: [Booking, Trip], transactions })

  const startBooking = (): Promise<WorkflowHandle<any>> => under.geneva.start(Booking)

  /** What listeners of this process hear about the workflow until the next one has come to its end. */
  async function heardOf(act: (id: string) => Promise<unknown>, begin = startBooking) {
    const heard: string[] = []
    const wf = await begin()
    const stop = under.geneva.on('*', event => {
      if (event.workflowId === wf.id) heard.push(event.type)
    })
    meanwhile = () => act(wf.id)
    const worker = await under.geneva.startWorker({ poll: 20, heartbeatThread: false })
    await waitFor(async () => ['aborted', 'canceled', 'finished'].includes((await wf.refresh()).state))
    const next = await under.geneva.start(Booking)
    await waitFor(async () => (await next.refresh()).state === 'finished')
    await worker.stop()
    stop()
    return { wf, heard }
  }

  it('is not told as recorded where the workflow was aborted meanwhile', async () => {
    const other = under.another({ workflows: [Booking] })
    const { wf, heard } = await heardOf(id => other.abort(id))
    expect((await wf.history()).map(({ state, outcome }) => [state, outcome])).toEqual([['skipped', 'stopped']])
    expect(heard.filter(type => type === 'step.completed' || type === 'workflow.finished')).toEqual([])
  })

  it('is not told as recorded where the step was taken over meanwhile', async () => {
    const store = await under.another({ workflows: [Booking] }).openedStore()
    const engine = new Engine(store, new Registry([Booking]), new JobRegistry([]))
    await engine.register()
    const { wf, heard } = await heardOf(async id => takeOver(engine, await store.activeExecutions(id)))
    expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['recovered', 'success'])
    expect(heard.filter(type => type === 'step.completed')).toHaveLength(1)
    expect(heard.filter(type => type === 'workflow.finished')).toHaveLength(1)
  })

  it('though it has happened is told as recorded also where the workflow was rolled back since', async () => {
    const other = under.another({ workflows: [Trip] })
    commits = true
    const undo = async (id: string) => {
      await other.cancel(id)
      await other.runDue({ poll: 5, grace: 0 })
    }
    const { wf, heard } = await heardOf(undo, () => under.geneva.start(Trip))
    expect((await wf.history()).map(({ step, state, outcome }) => [step, state, outcome])).toEqual([
      ['book', 'rolled_back', 'success'],
      ['leave', 'canceled', 'stopped'],
    ])
    expect(heard.filter(type => type === 'step.completed')).toHaveLength(1)
  })
})
