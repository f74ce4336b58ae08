/** What is told about a workflow that is being rolled back: what is undone, why that takes so long, and what may be asked. */
import { expect, it } from 'vitest'
import { type Compensation, defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const slowly = { attempts: 2, backoff: 'fixed', delay: '1 hour', jitter: false } as const

class Undone extends Workflow {
  static {
    this.named('undone slowly')
    this.onException('rollback')
    this.step('early', { compensate: 'giveBack' })
    this.savePoint('paid')
    this.step('late', { compensate: { step: 'giveBack', retry: slowly } })
    this.step('broken')
  }
  async early() {}
  async late() {}
  async broken() {
    throw new Error('broken')
  }
  async giveBack(_: Compensation) {
    throw new RangeError('the bank is closed')
  }
}

const work = defineJob('undone work', async () => {})
const broken = defineJob('undone broken', { onException: 'rollback' }, async () => {
  throw new Error('broken')
})
const giveBack = defineJob('undone giveBack', { retry: slowly }, async () => {
  throw new RangeError('the bank is closed')
})

forEachDatabase('a workflow that is being rolled back', database => {
  const under = useGeneva(database, { workflows: [Undone], jobs: [work, broken, giveBack] })
  const told =
    /^It is being rolled back: broken; what undoes step late is tried again at .* UTC, in \d+ minutes, after failure 1 of 2: RangeError: the bank is closed\.$/

  it('tells which compensation is tried again, after which failure of how many, and the error', async () => {
    const wf = await under.geneva.start(Undone)
    await under.runDue()
    const { sentence, nodes } = await wf.explain()
    expect(sentence).toMatch(told)
    const late = nodes.find(({ name }) => name === 'late')
    expect(late).toMatchObject({ undoing: true, failures: 1, attemptsLeft: 1 })
    expect(nodes.filter(({ undoing }) => undoing)).toHaveLength(1)
    await wf.abort()
  })

  it('tells the same of a stored graph, whose job says how often', async () => {
    const graph = under.geneva.build(w => {
      w.node('late', { job: work, compensate: giveBack })
      w.node('broken', { job: broken })
    })
    const wf = await under.geneva.startGraph(graph)
    await under.runDue()
    expect((await wf.explain()).sentence).toMatch(told)
    await wf.abort()
  })

  it('offers what it takes: after a failure a cancel, which undoes the rest, and then only an abort', async () => {
    const wf = await under.geneva.start(Undone)
    await under.runDue()
    const actions = async () => (await under.geneva.views.workflow(wf.id)).actions
    expect(await actions()).toEqual(['cancel', 'abort'])
    await wf.cancel({ by: 'ann' })
    expect(wf.state).toBe('rolling_back')
    expect(await actions()).toEqual(['abort'])
    await wf.abort()
    expect(await actions()).toEqual([])
  })
})
