/** A workflow whose stored graph is gone, though the workflow is not: somebody has damaged the database, and hears of it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineJob, type Geneva } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const nothing = defineJob('nothing', async () => {})

forEachDatabase('a workflow whose stored graph is missing', database => {
  const under = useGeneva(database, { jobs: [nothing] })
  let plain: PlainConnection
  /** As another process would come to it: the one that has started it knows the graph. */
  let other: Geneva

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    other = under.another()
  })
  afterAll(() => plain.close())

  async function damaged(): Promise<string> {
    const graph = under.geneva.build(w => void w.node('a', { job: nothing }))
    const { id } = await under.geneva.startGraph(graph)
    await plain.query(`delete from geneva_drive_graphs where workflow_id = ${id}`)
    return id
  }

  const says = (id: string) => ({
    code: 'INVARIANT',
    message: expect.stringContaining(`graph of workflow ${id} is missing`),
  })

  it.each(['pause', 'cancel', 'abort'] as const)('is not said to have been changed by %s', async request => {
    const id = await damaged()
    await expect(other[request](id)).rejects.toMatchObject(says(id))
    expect(await other.find(id)).toMatchObject({ id, state: 'ready' })
  })

  it('is there, and cannot be explained', async () => {
    const id = await damaged()
    await expect(other.explain(id)).rejects.toMatchObject(says(id))
    await expect(other.explain('999999999')).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' })
  })

  it('is named by the doctor', async () => {
    const id = await damaged()
    const { findings } = await other.doctor({ workflow: id })
    expect(findings).toMatchObject([{ workflowId: id, kind: 'rule', problem: expect.stringContaining('missing') }])
  })

  it('is told of again and again by the worker that has claimed it, which goes on with the others', async () => {
    const ids = [await damaged(), await damaged()]
    under.errors.length = 0
    await other.startWorker({ ...quickly, lease: 400 })
    const sound = await under.geneva.startGraph(under.geneva.build(w => void w.node('a', { job: nothing })))
    await waitFor(async () => (await under.geneva.find(sound.id))?.state === 'finished')
    const told = (id: string) =>
      under.errors
        .flatMap(({ error }) => (error instanceof AggregateError ? error.errors : [error]))
        .filter(error => error instanceof Error && error.message.includes(`graph of workflow ${id} is missing`)).length
    for (const id of ids) await waitFor(() => told(id) >= 3)
  })
})

forEachDatabase('an abandoned workflow whose stored graph is missing', database => {
  const under = useGeneva(database, { jobs: [nothing] })
  const graph = () => under.geneva.build(w => void w.node('a', { job: nothing }))

  it('keeps `runDue` from nothing else: it tells of it', async () => {
    const other = under.another()
    const { id } = await under.geneva.startGraph(graph())
    const plain = await connectPlainly(database.name, under.url)
    await plain.query(`delete from geneva_drive_graphs where workflow_id = ${id}`)
    await plain.close()
    // It is claimed, and left behind.
    await other.runDue(quickly)
    const sound = await under.geneva.startGraph(graph())
    under.errors.length = 0
    await other.runDue(quickly)
    expect(await under.geneva.find(sound.id)).toMatchObject({ state: 'finished' })
    expect(under.errors).toMatchObject([{ error: { errors: [{ code: 'INVARIANT' }] }, context: null }])
  })
})

forEachDatabase('abandoned workflows whose stored graphs are missing', database => {
  const under = useGeneva(database, { jobs: [nothing] })
  const graph = () => under.geneva.build(w => void w.node('a', { job: nothing }))
  /** More than are looked for at once. */
  const many = 130

  it('do not hide others behind them, however many they are', async () => {
    const store = await under.geneva.openedStore()
    const ids: string[] = []
    for (let count = 0; count < many; count++) ids.push((await under.geneva.startGraph(graph())).id)
    const handlers = ['job:nothing']
    await store.registerWorker({ id: 'dead', host: 'test', pid: 1, leaseMs: 60_000, handlers })
    const sources = [{ queue: 'default', handler: 'job:nothing', generation: 1 }]
    expect(await store.claim({ workerId: 'dead', sources, limit: many })).toHaveLength(many)
    const sound = await under.geneva.startGraph(graph())
    expect(await store.claim({ workerId: 'dead', sources, limit: 1 })).toHaveLength(1)
    const plain = await connectPlainly(database.name, under.url)
    await plain.query(`delete from geneva_drive_graphs where workflow_id in (${ids.join(', ')})`)
    await plain.close()
    await store.retireWorker('dead')
    await under.another().startWorker(quickly)
    await waitFor(async () => (await under.geneva.find(sound.id))?.state === 'finished')
    expect(await store.findAbandoned(handlers, 2 * many)).toHaveLength(many)
  })
})
