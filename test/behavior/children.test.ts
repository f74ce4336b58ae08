/** Child workflows: started once, waited for, canceled with their parent; and workflows that wait for others by id. */
import { beforeEach, expect, it } from 'vitest'
import { type Child, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const state = { fail: false, calls: [] as string[], release: () => {} }
let gate = Promise.resolve()

class Invoice extends Workflow<null, { amount: number }> {
  static {
    this.step('render')
    this.step('send')
  }
  async render() {
    await gate
    if (state.fail) this.cancel('no paper')
    state.calls.push(`render ${this.input.amount}`)
    return { url: `invoice-${this.input.amount}` }
  }
  async send() {
    return 'sent'
  }
}

class Order extends Workflow {
  static {
    this.step('begin')
    this.child('invoice', { workflow: Invoice, start: () => ({ input: { amount: 5 } }) })
    this.step('end')
  }
  async begin() {}
  async invoice(child: Child<Invoice>) {
    const { url } = await child.output('render')
    return { url, result: await child.result(), id: child.id }
  }
  async end() {
    return (await this.output(this.invoice)).url
  }
}

class Follower extends Workflow<null, { id: string }> {
  static {
    this.child('follow', { workflow: Invoice, start: wf => ({ workflowId: wf.input.id }) })
  }
  async follow(child: Child<Invoice>) {
    return child.result()
  }
}

function hold(): void {
  gate = new Promise(resolve => {
    state.release = resolve
  })
}

forEachDatabase('a child workflow', database => {
  const under = useGeneva(database, { workflows: [Order, Invoice, Follower], worker: true })

  beforeEach(() => {
    state.release()
    gate = Promise.resolve()
    state.fail = false
    state.calls.length = 0
  })

  async function childIn(id: string): Promise<string> {
    const found = await waitFor(async () => {
      const all = (await under.geneva.list(Invoice)).items
      return all.find(item => item.parentId === id)?.id
    })
    return found
  }

  it('is started once, waited for, and its outputs are there for the node', async () => {
    const wf = await under.geneva.start(Order)
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('invoice-5')
    const output = await wf.output('invoice')
    expect(output).toMatchObject({ url: 'invoice-5', result: 'sent' })
    expect(state.calls).toEqual(['render 5'])
    expect((await under.geneva.find(output?.id ?? ''))?.parentId).toBe(wf.id)
  })

  it('keeps its parent waiting without a worker', async () => {
    hold()
    const wf = await under.geneva.start(Order)
    await childIn(wf.id)
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'waiting')
    expect((await wf.refresh()).state).toBe('ready')
    state.release()
    await wf.waitUntilFinished({ timeout: '10s' })
  })

  it('that does not finish makes the node fail, and a resume starts another one', async () => {
    state.fail = true
    const wf = await under.geneva.start(Order)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect((await wf.history()).at(-1)).toMatchObject({
      step: 'invoice',
      state: 'failed',
      error: { className: 'ChildNotFinishedError' },
    })
    state.fail = false
    await wf.resume()
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('invoice-5')
  })

  it('is canceled with its parent, which ends after it', async () => {
    hold()
    const wf = await under.geneva.start(Order)
    const child = await childIn(wf.id)
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'waiting')
    await wf.cancel({ by: 'ann', reason: 'not wanted' })
    expect(wf.state).toBe('rolling_back')
    await waitFor(async () => (await under.geneva.find(child))?.state === 'rolling_back')
    expect((await wf.refresh()).state).toBe('rolling_back')
    state.release()
    await waitFor(async () => (await wf.refresh()).state === 'canceled')
    expect((await under.geneva.find(child))?.state).toBe('canceled')
    const events = (await under.geneva.find(child))?.events()
    expect((await events)?.find(event => event.type === 'workflow.rolling_back')).toMatchObject({ by: 'ann' })
  })

  it('is not paused with its parent, and its end is kept until that goes on', async () => {
    hold()
    const wf = await under.geneva.start(Order)
    const child = await childIn(wf.id)
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'waiting')
    await wf.pause()
    state.release()
    await waitFor(async () => (await under.geneva.find(child))?.state === 'finished')
    await waitFor(async () => (await wf.currentExecutions())[0]?.state === 'paused')
    await wf.resume()
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('invoice-5')
  })

  it('can be another workflow that runs already, or has ended', async () => {
    hold()
    const invoice = await under.geneva.start(Invoice, { input: { amount: 7 } })
    const early = await under.geneva.start(Follower, { input: { id: invoice.id } })
    await waitFor(async () => (await early.currentExecutions())[0]?.state === 'waiting')
    state.release()
    expect(await early.waitUntilFinished({ timeout: '10s' })).toBe('sent')
    const late = await under.geneva.start(Follower, { input: { id: invoice.id } })
    expect(await late.waitUntilFinished({ timeout: '10s' })).toBe('sent')
    expect((await invoice.refresh()).parentId).toBeNull()
  })

  it('that does not exist makes the node fail', async () => {
    const wf = await under.geneva.start(Follower, { input: { id: '999999999' } })
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect((await wf.history()).at(-1)?.error?.className).toBe('WorkflowNotFoundError')
  })
})
