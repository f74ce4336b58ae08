/** Nodes that are built at run time have generated ids; whatever people see goes by the names that they gave. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type GraphBuilder } from '../../src/index.ts'
import { LogLines } from '../../src/observe/telemetry/log-lines.ts'
import { testGeneva } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

let broken = false
const charge = defineJob('charge card', { onException: 'dlq' }, async (_: { amount?: number }) => {
  if (broken) throw new Error('declined')
  return 7
})
const refund = defineJob('refund', async (_: { amount?: number }) => {})
const slow = defineJob('slow', { timeout: '20ms' }, async () => new Promise<void>(() => {}))
const asking = defineJob('asking', async (_: { of?: unknown }, job) => job.output('charge'))
const skipping = defineJob('skipping', async (_: { of?: unknown }, job) => job.skip())

function order(w: GraphBuilder): void {
  w.node('charge', { job: charge, args: { amount: 1 } })
  w.node('confirm', { job: charge, args: { amount: 2 } })
}

const jobs = [charge, slow, asking, skipping, refund]

forEachDatabase('a node of a graph that is built at run time', database => {
  const under = useGeneva(database, { jobs, telemetry: { metrics: true } })

  beforeEach(() => {
    broken = false
  })

  it('goes by its name in history, events and views, with its id beside it', async () => {
    const { geneva } = under
    const wf = await geneva.startGraph(geneva.build(order))
    await under.runDue()
    expect((await wf.history()).map(({ step }) => step)).toEqual(['charge', 'confirm'])
    const ids = (await wf.nodesWithState()).map(({ id }) => id)
    expect((await wf.history()).map(({ node }) => node)).toEqual(ids)
    const steps = (await wf.events()).filter(({ type }) => type.startsWith('step.'))
    expect(new Set(steps.map(({ name }) => name))).toEqual(new Set(['charge', 'confirm']))
    expect(new Set(steps.map(({ node }) => node))).toEqual(new Set(ids))
    const views = await geneva.views.history(wf.id)
    expect(views.items.map(({ node, name }) => [node, name])).toEqual([
      [ids[0], 'charge'],
      [ids[1], 'confirm'],
    ])
    expect((await geneva.views.history(wf.id, { node: 'confirm' })).items).toHaveLength(1)
    const shown = await geneva.views.eventsOf(wf.id)
    expect(shown.items.filter(({ name }) => name === 'confirm').length).toBeGreaterThan(1)
  })

  it('is found by its name where it stands and where it was given up', async () => {
    const { geneva } = under
    const waiting = await geneva.startGraph(
      geneva.build(w => w.node('later', { job: charge, args: {}, wait: '1 hour' })),
    )
    expect(await idsAt('later')).toEqual([waiting.id])
    broken = true
    const wf = await geneva.startGraph(geneva.build(order))
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    expect(await idsAt('charge')).toEqual([wf.id])
    const { items } = await geneva.executions({ state: 'failed', step: 'charge' })
    expect(items).toMatchObject([{ workflowId: wf.id, step: 'charge', node: expect.stringMatching(/^n_/) }])
    const [letter, ...more] = await geneva.deadLetters({ step: 'charge' })
    expect(letter).toMatchObject({ workflowId: wf.id, step: 'charge', node: expect.stringMatching(/^n_/) })
    expect(more).toEqual([])
    expect(await geneva.deadLetters({ step: letter?.node ?? '' })).toHaveLength(1)
    expect((await geneva.views.workflow(wf.id)).deadLetters).toMatchObject([{ name: 'charge' }])
    expect((await wf.explain()).sentence).toContain('step charge was given up')
    expect((await wf.events()).find(({ type }) => type === 'letter.opened')).toMatchObject({ name: 'charge' })

    async function idsAt(at: string): Promise<string[]> {
      const found: string[] = []
      for await (const each of await geneva.list({ at })) found.push(each.id)
      const { items } = await geneva.views.workflows({ at })
      expect(items.map(({ id }) => id)).toEqual(found)
      for (const item of items) expect(item.at).toEqual([at])
      return found
    }
  })

  it('is found by its name when it has failed and keeps its workflow waiting', async () => {
    const { geneva } = under
    const wf = await geneva.startGraph(geneva.build(w => w.node('dawdle', { job: slow })))
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    const found = await geneva.views.workflows({ at: 'dawdle' })
    expect(found.items).toMatchObject([{ id: wf.id, at: ['dawdle'], error: expect.stringContaining('dawdle: ') }])
    expect((await wf.history()).at(-1)?.error?.message).toContain('Step dawdle of')
    const stuck = await geneva.stuck({ for: 0 })
    expect(stuck).toContainEqual(
      expect.objectContaining({ workflowId: wf.id, step: 'dawdle', why: expect.stringContaining('step dawdle') }),
    )
    await expect(geneva.reattempt(wf.id, 'dawdle', {}).then(() => wf.skip('dawdle'))).resolves.toBeDefined()
  })

  it('is named in what is refused, and in what tells that an output is missing', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      const first = w.node('charge', { job: skipping })
      w.node('asks', { job: asking, args: {} })
      w.node('refers', { job: asking, args: { of: first.output }, dependsOn: 'charge' })
    })
    const wf = await geneva.startGraph(graph)
    await expect(geneva.reattempt(wf.id, 'asks')).rejects.toThrow('reattempt step asks of')
    await under.runDue()
    const messages = (await wf.history()).map(({ step, error }) => [step, error?.message])
    expect(Object.fromEntries(messages)).toMatchObject({
      asks: expect.stringContaining('Step charge of workflow'),
      refers: expect.stringContaining('`job.output("charge", null)`'),
    })
  })

  it('goes by its name in what a rollback would undo', async () => {
    const { geneva } = under
    const saga = geneva.build(w => {
      w.node('charge', { job: charge, args: {}, compensate: refund })
      w.node('later', { job: charge, args: {}, wait: '1 hour' })
    })
    const wf = await geneva.startGraph(saga)
    await under.runDue()
    const [done] = await wf.history()
    expect(await wf.previewRollback()).toEqual([
      { executionId: done?.id, step: 'charge', attempt: 1, compensation: 'refund' },
    ])
  })

  it('is one line in metrics and statistics, however many workflows have it', async () => {
    const { geneva } = under
    const once = (w: GraphBuilder) => w.node('tally', { job: charge, args: {} })
    for (let n = 0; n < 3; n++) await geneva.startGraph(geneva.build(once))
    await under.runDue()
    const { slowest } = await geneva.stats()
    expect(slowest.filter(({ step }) => step === 'tally')).toMatchObject([{ executions: 3 }])
    const page = await geneva.metrics()
    expect(page).toContain('geneva_executions_started_total{workflow="(graph)",step="tally"} 3')
    expect(page).not.toMatch(/step="n_/)
  })

  it('has rows without a name where they were written before there were names', async () => {
    const { geneva } = under
    const wf = await geneva.startGraph(geneva.build(order))
    await under.runDue()
    const connection = await connectPlainly(database.name, under.url)
    await connection.query('update geneva_drive_step_executions set node_name = null')
    await connection.close()
    const [first] = await wf.nodesWithState()
    expect((await wf.history())[0]).toMatchObject({ step: first?.id, node: first?.id })
    expect(await wf.verifyHistory()).toBeNull()
  })
})

it('goes by its name in the test kit', async () => {
  await using kit = await testGeneva({ jobs })
  const wf = await kit.geneva.startGraph(kit.geneva.build(order))
  await kit.assertStepNotExecuted(wf, 'charge')
  kit.failNext('charge', new Error('planned'), { workflow: wf })
  await kit.speedrun(wf)
  await kit.assertState(wf, 'dlq')
  await kit.assertStepExecuted(wf, 'charge', { times: 1 })
  await kit.assertExecutedSteps(wf, ['charge'])
  await expect(kit.assertStepExecuted(wf, 'chargge')).rejects.toThrow('Its steps are charge, confirm')
})

it('goes by its name in the log', () => {
  const lines: object[] = []
  const write = (facts: object) => lines.push(facts)
  const log = new LogLines({ debug: write, info: write, warn: write, error: write })
  log.events([
    {
      event: { workflowId: '1', type: 'step.completed', node: 'n_8f3a', nodeName: 'charge' },
      workflowType: '',
      at: 0,
    },
  ])
  expect(lines).toMatchObject([{ step: 'charge' }])
})
