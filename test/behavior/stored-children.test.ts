/** Child nodes of graphs without a class: started once by the stored name of a class, waited for, canceled with the graph. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineHero,
  defineJob,
  type GraphBuilder,
  type Signal,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface Customer {
  readonly id: number
}

const calls: string[] = []
const state = { fail: false }

const Customers = defineHero('Customer', {
  id: (customer: Customer) => customer.id,
  load: (id): Customer => ({ id }),
})
const Bill = z.object({ amount: z.number(), currency: z.string().default('EUR') })

class Invoice extends Workflow<Customer, typeof Bill> {
  static {
    this.named('invoice')
    this.heroes(Customers)
    this.input(Bill)
    this.allowMultiple()
    this.step('render')
    this.waitFor('sent', { timeout: '1 day' })
    this.step('close')
  }
  async render() {
    calls.push(`render ${this.input.amount} ${this.input.currency} for ${this.hero.id}`)
    if (state.fail) this.cancel('no paper')
  }
  async sent(_signal: Signal<object>) {}
  async close() {
    return { url: `invoice-${this.input.amount}` }
  }
}

class Filing extends Workflow {
  static {
    this.named('filing')
    this.jobOptions({ queue: 'papers', priority: 7 })
    this.step('file')
  }
  async file() {}
}

const price = defineJob('price', async (args: { amount: number }) => args.amount)
const customer = defineJob('customer', async () => Customers.ref(7))
const report = defineJob('report', async (args: { invoice: { id: string; result: { url: string } } }, job) => {
  calls.push(job.node.name)
  return args.invoice.result.url
})
const credit = defineJob('credit', async (args: { input?: { amount: number } }, job) => {
  calls.push(`credit ${args.input?.amount} of ${job.undo?.output?.result?.url}`)
})
const breaks = defineJob('breaks', { onException: 'rollback' }, async () => {
  throw new Error('broken')
})
const jobs = [price, customer, report, credit, breaks]

forEachDatabase('a child node of a graph without a class', database => {
  const under = useGeneva(database, { workflows: [Invoice, Filing], jobs })
  const start = async (describe: (w: GraphBuilder) => unknown, input: unknown = {}) => {
    const { geneva } = under
    const wf = await geneva.startGraph(
      geneva.build(w => void describe(w)),
      { input },
    )
    await under.runDue()
    return wf.refresh()
  }
  const childOf = async (wf: WorkflowHandle<any>) => {
    const found = (await under.geneva.list(Invoice)).items.filter(item => item.parentId === wf.id)
    return found as unknown as readonly [WorkflowHandle<Invoice>, ...WorkflowHandle<Invoice>[]]
  }
  const statesOf = async (wf: WorkflowHandle<any>) =>
    Object.fromEntries((await wf.nodesWithState()).map(node => [node.name, node.state]))
  const finish = async (child: WorkflowHandle<Invoice>) => {
    await child.signal('sent', {})
    await under.runDue()
  }

  beforeEach(async () => {
    calls.length = 0
    state.fail = false
    await under.setClock(0)
  })

  it('is started once, with outputs in its input, waited for without a worker, and hands on its id and result', async () => {
    const wf = await start(w => {
      const amount = w.node('price', { job: price, args: { amount: 5 } })
      const invoice = w.child('invoice', {
        workflow: Invoice,
        hero: Customers.ref(42),
        input: { amount: amount.output },
      })
      w.node('report', { job: report, args: { invoice: invoice.output } })
    })
    expect(await statesOf(wf)).toEqual({ price: 'completed', invoice: 'waiting', report: 'pending' })
    expect((await wf.explain()).sentence).toContain('invoice')
    const [child, ...others] = await childOf(wf)
    expect(others).toEqual([])
    expect(child).toMatchObject({ parentId: wf.id, type: 'invoice' })
    await finish(child)
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['render 5 EUR for 42', 'report'])
    expect(await wf.output('invoice')).toEqual({ id: child.id, result: { url: 'invoice-5' } })
    expect(await wf.output('report')).toBe('invoice-5')
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('takes a class by its stored name, and a hero that an earlier node has found', async () => {
    const wf = await start(w => {
      const found = w.node('customer', { job: customer })
      const id = w.node('price', { job: price, args: { amount: 8 } })
      w.child('one', { workflow: 'invoice', hero: found.output, input: { amount: 1 } })
      w.child('two', {
        workflow: Invoice,
        hero: { heroType: 'Customer', id: id.output },
        input: { amount: 2 },
        dependsOn: 'price',
      })
    })
    for (const child of await childOf(wf)) await finish(child)
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(['render 1 EUR for 7', 'render 2 EUR for 8'])
  })

  it('that does not finish makes the node fail; retries and a resume start another one', async () => {
    state.fail = true
    const child = (w: GraphBuilder) =>
      w.child('invoice', {
        workflow: Invoice,
        hero: Customers.ref(1),
        input: { amount: 3 },
        retry: { attempts: 2, backoff: 'fixed', delay: 0 },
      })
    const wf = await start(child)
    expect(wf.state).toBe('paused')
    expect((await wf.history()).map(row => row.outcome)).toEqual(['reattempted_by_exception', 'paused_by_exception'])
    expect((await wf.history()).at(-1)?.error).toMatchObject({ className: 'ChildNotFinishedError' })
    expect((await wf.history()).at(-1)?.error?.message).toContain('invoice')
    state.fail = false
    await wf.resume()
    await under.runDue()
    const open = (await childOf(wf)).filter(each => each.state === 'ready')
    expect(open).toHaveLength(1)
    for (const each of open) await finish(each)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is canceled with the graph, which ends after it; an abort ends both at once', async () => {
    const child = (w: GraphBuilder) =>
      w.child('invoice', { workflow: Invoice, hero: Customers.ref(1), input: { amount: 3 } })
    const canceled = await start(child)
    await canceled.cancel({ by: 'ann', reason: 'not wanted' })
    expect(canceled.state).toBe('rolling_back')
    await under.runDue()
    const [first] = await childOf(canceled)
    expect(first.state).toBe('canceled')
    expect((await canceled.refresh()).state).toBe('canceled')
    const aborted = await start(child)
    await aborted.abort({ by: 'ann' })
    await under.runDue()
    expect((await childOf(aborted))[0].state).toBe('aborted')
  })

  it('waits no longer than its timeout, cancels what it has started, and its policy acts', async () => {
    const wf = await start(w =>
      w.child('invoice', {
        workflow: Invoice,
        hero: Customers.ref(1),
        input: { amount: 3 },
        timeout: '1 hour',
        onException: 'skip',
      }),
    )
    await under.setClock(3_600_000)
    await under.runDue()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.history())[0]).toMatchObject({ state: 'skipped', error: { className: 'NothingCameError' } })
    expect((await childOf(wf))[0].state).toBe('canceled')
  })

  it('is not started where its expression says so', async () => {
    const wf = await start(
      w => {
        w.child('invoice', {
          workflow: Invoice,
          hero: Customers.ref(1),
          input: { amount: 3 },
          skipIf: 'args.input.amount < input.least',
        })
      },
      { least: 10 },
    )
    expect(wf.state).toBe('finished')
    expect(await statesOf(wf)).toEqual({ invoice: 'skipped' })
    expect(await childOf(wf)).toEqual([])
  })

  it('waits for a workflow that exists, which an earlier node may name', async () => {
    const invoice = await under.geneva.start(Invoice, { hero: Customers.ref(3), input: { amount: 9 } })
    await under.runDue()
    const name = defineJob('name', async () => invoice.id)
    const other = under.another({ workflows: [Invoice], jobs: [...jobs, name] })
    const wf = await other.startGraph(
      other.build(w => {
        const id = w.node('name', { job: name })
        w.child('wait', { workflow: Invoice, workflowId: id.output })
      }),
    )
    await other.runDue()
    await finish(invoice)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('wait')).toEqual({ id: invoice.id, result: { url: 'invoice-9' } })
    expect((await invoice.refresh()).parentId).toBeNull()
  })

  it('is undone by a job, which gets what it was started with and what it left behind', async () => {
    const wf = await start(w => {
      w.child('invoice', { workflow: Invoice, hero: Customers.ref(1), input: { amount: 4 }, compensate: credit })
      w.node('break', { job: breaks })
    })
    await finish((await childOf(wf))[0])
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['render 4 EUR for 1', 'credit 4 of invoice-4'])
  })

  it('waits for a worker that has the class, and says so', async () => {
    const without = under.another({ jobs })
    const graph = without.build(w =>
      w.child('invoice', { workflow: 'invoice', hero: Customers.ref(1), input: { amount: 6 }, dependsOn: null }),
    )
    const wf = await without.startGraph(graph)
    await without.runDue()
    expect((await wf.nodesWithState())[0]?.state).toBe('scheduled')
    expect((await wf.explain()).sentence).toContain('no live worker has its code (invoice')
    await under.runDue()
    expect((await wf.nodesWithState())[0]?.state).toBe('waiting')
    await finish((await childOf(wf))[0])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is run from the queue of its class, with its priority, unless it says other', async () => {
    const wf = await start(w => {
      w.child('plain', { workflow: Filing })
      w.child('own', { workflow: 'filing', queue: 'others', priority: 2 })
    })
    const nodes = Object.values((await under.geneva.exportDag(wf.id)).nodes)
    expect(nodes.map(({ queue, priority }) => [queue, priority])).toEqual([
      ['papers', 7],
      ['others', 2],
    ])
    // A queue that only the graph names is found by the next look.
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('can be left out, resolved and run again like any node', async () => {
    const wf = await start(w => {
      const invoice = w.child('invoice', { workflow: Invoice, hero: Customers.ref(1), input: { amount: 3 } })
      w.node('report', { job: report, args: { invoice: invoice.output } })
    })
    await wf.resolve('invoice', { output: { id: 'none', result: { url: 'by hand' } } })
    await under.runDue()
    expect(await wf.output('report')).toBe('by hand')
    expect((await childOf(wf))[0].state).toBe('canceled')
    const again = await under.geneva.rerun(wf.id, { from: 'invoice' })
    await under.runDue()
    await finish((await childOf(again))[0])
    expect(await again.output('report')).toBe('invoice-3')
  })

  it('fails with a clear error where its input, once it is known, is not what the class takes', async () => {
    const bad = defineJob('bad', async () => 'a lot' as unknown as number)
    const other = under.another({ workflows: [Invoice], jobs: [bad] })
    const wf = await other.startGraph(
      other.build(w => {
        const amount = w.node('bad', { job: bad })
        w.child('invoice', { workflow: Invoice, hero: Customers.ref(1), input: { amount: amount.output } })
      }),
    )
    await other.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).at(-1)?.error).toMatchObject({ className: 'InputValidationError' })
  })

  it('of a class that this process should know is refused when the graph is started or imported', async () => {
    const { geneva } = under
    const graph = geneva.build(w => void w.child('odd', { workflow: 'elsewhere' }))
    await expect(geneva.startGraph(graph)).rejects.toThrow(
      /Node odd starts the workflow elsewhere, which is not registered/,
    )
    const json = JSON.stringify(graph.freeze('2024-01-15T10:30:00.000Z'))
    await expect(geneva.importDag(json)).rejects.toThrow(/its workflow "elsewhere" is not known here/)
  })

  it('keeps all of it through an export and an import', async () => {
    const { geneva } = under
    const wf = await start(w => {
      const amount = w.node('price', { job: price, args: { amount: 11 } })
      w.child('invoice', {
        workflow: Invoice,
        hero: Customers.ref(5),
        input: { amount: amount.output },
        timeout: '2 days',
      })
    })
    const exported = await geneva.exportDag(wf.id)
    const again = await geneva.importDag(JSON.stringify(exported))
    expect(again).toEqual(exported)
    const copy = await geneva.startGraph(again)
    await under.runDue()
    await finish((await childOf(copy))[0])
    expect((await copy.refresh()).state).toBe('finished')
    expect(calls).toEqual(['render 11 EUR for 5', 'render 11 EUR for 5'])
  })
})
