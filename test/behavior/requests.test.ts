/** What may be asked of a workflow from outside in each of its states: done with its effect, or refused with none. */
import { expect, it } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class Errand extends Workflow<null, { gate?: string; fails?: boolean }> {
  static {
    this.allowMultiple()
    this.step('first', { wait: 0 })
    this.step('later', { wait: '1 day' })
    this.step('last')
  }
  async first() {
    if (this.input.fails && this.execution.attempt === 1) throw new Error('first failed')
    if (this.input.gate) await gates.stop(this.input.gate, this.signal)
  }
  later() {}
  last() {}
}

type Situation = 'ready' | 'performing' | 'paused' | 'rolling_back' | 'finished' | 'canceled'

forEachDatabase('a request from outside', database => {
  const under = useGeneva(database, { workflows: [Errand], worker: true })
  let count = 0

  /** A workflow in the state that is asked for, with what lets a running step go. */
  async function workflowThatIs(state: Situation): Promise<{ wf: WorkflowHandle<Errand>; letGo: () => Promise<void> }> {
    const running = state === 'performing' || state === 'rolling_back'
    const gate = `${database.name} ${++count}`
    const wf = await under.geneva.start(Errand, { input: running ? { gate } : {} })
    if (running) await gates.arrived(gate)
    else await waitFor(async () => (await wf.currentExecutions())[0]?.step === 'later')
    if (state === 'paused') await wf.pause()
    if (state === 'rolling_back' || state === 'canceled') await wf.cancel()
    if (state === 'finished') {
      await wf.skip('later')
      await wf.waitUntilFinished({ timeout: '10s' })
    }
    expect((await wf.refresh()).state).toBe(state)
    const letGo = async () => {
      gates.open(gate)
      await waitFor(async () => !['performing', 'rolling_back'].includes((await wf.refresh()).state))
    }
    return { wf, letGo }
  }

  function ask(wf: WorkflowHandle<Errand>, request: string): Promise<unknown> {
    if (request === 'skip') return wf.skip('later')
    return (wf as unknown as Record<string, () => Promise<unknown>>)[request]?.() ?? Promise.reject(new Error(request))
  }

  it.each([
    ['pause', 'ready', 'paused'],
    ['pause', 'performing', 'paused'],
    ['pause', 'paused', 'paused'],
    ['resume', 'paused', 'ready'],
    ['skip', 'ready', 'finished'],
    ['skip', 'paused', 'paused'],
    ['cancel', 'ready', 'canceled'],
    ['cancel', 'performing', 'rolling_back'],
    ['cancel', 'paused', 'canceled'],
    ['cancel', 'rolling_back', 'rolling_back'],
  ] as const)('to %s a workflow that is %s makes it %s', async (request, from, to) => {
    const { wf, letGo } = await workflowThatIs(from)
    await ask(wf, request)
    await waitFor(async () => (await wf.refresh()).state === to)
    await letGo()
  })

  it.each([
    ['pause', 'rolling_back', 'Only a workflow that is ready or performing can be paused.'],
    ['pause', 'finished', 'Only a workflow that is ready or performing can be paused.'],
    ['pause', 'canceled', 'Only a workflow that is ready or performing can be paused.'],
    ['resume', 'ready', 'Only a paused workflow can be resumed.'],
    ['resume', 'performing', 'Only a paused workflow can be resumed.'],
    ['resume', 'rolling_back', 'Only a paused workflow can be resumed.'],
    ['resume', 'finished', 'Only a paused workflow can be resumed.'],
    ['resume', 'canceled', 'Only a paused workflow can be resumed.'],
    ['skip', 'performing', 'It is not due yet; the workflow stands at first (in_progress).'],
    ['skip', 'rolling_back', 'It is ending or has ended.'],
    ['skip', 'finished', 'It is ending or has ended.'],
    ['skip', 'canceled', 'It is ending or has ended.'],
    ['cancel', 'finished', 'It has ended.'],
    ['cancel', 'canceled', 'It has ended.'],
  ] as const)('to %s a workflow that is %s is refused, and nothing changes', async (request, from, remedy) => {
    const { wf, letGo } = await workflowThatIs(from)
    const connection = await connectPlainly(database.name, under.url)
    const before = await countRows(connection)
    const executions = await wf.history()
    const refused = ask(wf, request)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_STATE', workflowId: wf.id, state: from })
    await expect(refused).rejects.toThrow(`Workflow ${wf.id} is ${from}: cannot ${request}`)
    await expect(refused).rejects.toThrow(remedy)
    expect((await wf.refresh()).state).toBe(from)
    expect(await countRows(connection)).toEqual(before)
    expect(await wf.history()).toEqual(executions)
    await connection.close()
    await letGo()
  })

  it('to skip a running step is refused', async () => {
    const { wf, letGo } = await workflowThatIs('performing')
    await expect(wf.skip('first')).rejects.toThrow('The step is running; wait for it, or cancel the workflow.')
    await letGo()
  })

  it('to skip a step where the workflow does not stand is refused', async () => {
    const { wf } = await workflowThatIs('ready')
    await expect(wf.skip('last')).rejects.toThrow('It is not due yet; the workflow stands at later (scheduled).')
    await expect(wf.skip('nonsense' as 'last')).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('is recorded with who asked and why', async () => {
    const { wf } = await workflowThatIs('ready')
    await wf.pause({ by: 'ann', reason: 'stock-taking' })
    await wf.resume({ by: 'bob', reason: 'done counting' })
    await wf.skip('later', { by: 'eve', reason: 'no need' })
    await wf.waitUntilFinished({ timeout: '10s' })
    const asked = (await wf.events()).filter(event => event.by !== null && event.type !== 'step.started')
    expect(asked.map(event => [event.type, event.from, event.to, event.by, event.reason])).toEqual([
      ['workflow.paused', 'ready', 'paused', 'ann', 'stock-taking'],
      ['workflow.resumed', 'paused', 'ready', 'bob', 'done counting'],
      ['step.skipped', 'scheduled', 'skipped', 'eve', 'no need'],
    ])
    expect((await wf.history())[1]).toMatchObject({ step: 'later', state: 'skipped', reason: 'no need' })
  })

  it('reaches a workflow by its id alone, also where its code is not known', async () => {
    const { wf } = await workflowThatIs('ready')
    const stranger = under.another({ workflows: [] })
    await stranger.pause(wf.id, { by: 'operator' })
    await stranger.resume(wf.id)
    await stranger.skip(wf.id, 'later')
    await wf.waitUntilFinished({ timeout: '10s' })
    expect((await wf.history()).map(execution => execution.outcome)).toEqual([
      'success',
      'skipped_by_flow_control',
      'success',
    ])
    const other = await workflowThatIs('ready')
    await stranger.cancel(other.wf.id, { reason: 'tidying up' })
    expect((await other.wf.refresh()).state).toBe('canceled')
  })

  it.each(['pause', 'resume', 'cancel', 'skip'] as const)('to %s what does not exist says so', async request => {
    for (const id of ['4711000', 'x', '-1', '0', "1' or '1'='1", '9'.repeat(40), '', '1e3', ' 1']) {
      const asked = request === 'skip' ? under.geneva.skip(id, 'first') : under.geneva[request](id)
      await expect(asked).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND', workflowId: id })
    }
  })

  it('must say who and why in text', async () => {
    const { wf } = await workflowThatIs('ready')
    await expect(wf.pause({ by: 7 as unknown as string })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(wf.pause({ reason: {} as unknown as string })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(wf.pause(null as unknown as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect((await wf.refresh()).state).toBe('ready')
  })
})
