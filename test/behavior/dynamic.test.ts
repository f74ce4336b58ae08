/** Workflows that are built at run time: stored with their graph, run by named jobs. */
import { beforeEach, expect, it } from 'vitest'
import { defineHero, defineJob, defineTemplate } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const ran: string[] = []
let failing = new Set<string>()

const work = defineJob('work', async (args: { n: number }, job) => {
  ran.push(job.node.name)
  if (failing.has(job.node.name)) throw new Error(`${job.node.name} broke`)
  return args.n * 2
})
const sum = defineJob('sum', async (args: { numbers: number[] }) => args.numbers.reduce((a, b) => a + b, 0))
const report = defineJob('report', { queue: 'reports' }, async (args: { total: number }, job) => ({
  text: `${args.total}`,
  hero: job.hero,
  key: job.idempotencyKey,
}))
const Users = defineHero('User', { id: (user: { id: number }) => user.id, load: id => ({ id }) })
const doubling = defineTemplate('doubling', (w, args: { upTo: number }) => {
  const all = w.fanOut(
    Array.from({ length: args.upTo }, (_, n) => n + 1),
    { name: n => `double_${n}`, job: work, args: n => ({ n }), dependsOn: null },
  )
  w.node('sum', { job: sum, args: { numbers: all.outputs } })
})

forEachDatabase('a graph that is built at run time', database => {
  const under = useGeneva(database, { jobs: [work, sum, report], templates: [doubling] })

  beforeEach(() => {
    ran.length = 0
    failing = new Set()
  })

  it('fans out, fans in, and hands outputs to the arguments of later nodes', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      const all = w.fanOut([1, 2, 3], { name: n => `work_${n}`, job: work, args: n => ({ n }), dependsOn: null })
      const total = w.node('sum', { job: sum, args: { numbers: all.outputs } })
      w.node('report', { job: report, args: { total: total.output } })
    })
    const wf = await geneva.startGraph(graph, { hero: Users.ref(42) })
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toMatchObject({ text: '12', hero: { type: 'User', id: 42 } })
    expect(ran.toSorted()).toEqual(['work_1', 'work_2', 'work_3'])
    expect(await wf.verifyHistory()).toBeNull()
    expect((await wf.nodesWithState()).map(node => [node.name, node.state])).toEqual([
      ['work_1', 'completed'],
      ['work_2', 'completed'],
      ['work_3', 'completed'],
      ['sum', 'completed'],
      ['report', 'completed'],
    ])
  })

  it('keeps its dependents waiting while a node has failed, and others go on', async () => {
    const { geneva } = under
    failing.add('b')
    const graph = geneva.build(w => {
      w.node('a', { job: work, args: { n: 1 } })
      w.node('b', { job: work, args: { n: 2 }, dependsOn: 'a' })
      w.node('c', { job: work, args: { n: 3 }, dependsOn: 'a' })
      w.node('d', { job: work, args: { n: 4 }, dependsOn: 'c' })
      w.node('e', { job: work, args: { n: 5 }, dependsOn: ['b', 'd'] })
    })
    const wf = await geneva.startGraph(graph)
    await under.runDue()
    expect(ran.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect((await wf.refresh()).state).toBe('paused')
    failing.clear()
    const [b] = (await wf.nodesWithState()).filter(node => node.name === 'b')
    await geneva.reattempt(wf.id, 'b')
    expect((await wf.refresh()).state).toBe('ready')
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(10)
    expect((await wf.history()).filter(row => row.node === b?.id).map(row => [row.attempt, row.state])).toEqual([
      [1, 'failed'],
      [2, 'completed'],
    ])
  })

  it('is expanded from a template, and says so', async () => {
    const { geneva } = under
    const wf = await geneva.startGraph(geneva.build(doubling, { upTo: 4 }))
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(20)
    expect((await geneva.exportDag(wf.id)).template).toEqual({ name: 'doubling', args: { upTo: 4 } })
  })

  it('is repaired in place while it is paused: what has started stays', async () => {
    const { geneva } = under
    failing.add('b')
    const graph = geneva.build(w => {
      w.node('a', { job: work, args: { n: 1 } })
      w.node('b', { job: work, args: { n: 2 } })
      w.node('c', { job: work, args: { n: 3 } })
    })
    const wf = await geneva.startGraph(graph)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    const dag = await geneva.exportDag(wf.id)
    const ids = new Map(Object.entries(dag.nodes).map(([id, node]) => [node.name, id]))
    const without = { ...dag, nodes: Object.fromEntries(Object.entries(dag.nodes).filter(([, n]) => n.name !== 'b')) }
    const rewired = structuredClone(without) as unknown as { nodes: Record<string, { depends_on: string[] }> }
    const c = rewired.nodes[ids.get('c') ?? '']
    if (c) c.depends_on = [ids.get('a') ?? '']
    await expect(geneva.importDag(rewired, { into: wf.id })).rejects.toThrow('have started')
    const added = structuredClone(dag) as { nodes: Record<string, object> }
    added.nodes.n_00000000000000aa = { name: 'extra', job: 'work', args: { n: 9 }, depends_on: [ids.get('a')] }
    await geneva.importDag(JSON.stringify(added), { into: wf.id, by: 'ann', reason: 'forgotten' })
    failing.clear()
    await wf.resume()
    await under.runDue()
    await wf.waitUntilFinished({ timeout: '5s' })
    expect(ran.toSorted()).toEqual(['a', 'b', 'b', 'c', 'extra'])
    expect((await wf.events()).find(event => event.type === 'workflow.graph_replaced')).toMatchObject({ by: 'ann' })
  })

  it('is rerun in part, with the outputs of what came before', async () => {
    const { geneva } = under
    const graph = geneva.build(w => {
      const a = w.node('a', { job: work, args: { n: 4 } })
      const b = w.node('b', { job: work, args: { n: 1 } })
      w.node('sum', { job: sum, args: { numbers: [a.output, b.output] } })
    })
    const wf = await geneva.startGraph(graph)
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(10)
    ran.length = 0
    const again = await geneva.rerun(wf.id, { from: 'b' })
    await under.runDue()
    expect(await again.waitUntilFinished({ timeout: '5s' })).toBe(10)
    expect(ran).toEqual(['b'])
    expect(await again.verifyHistory()).toBeNull()
  })
})
