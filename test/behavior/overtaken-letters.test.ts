/** A dead letter of a branch that the join does without, by itself or after a deploy: nobody has to handle it, and whoever does ends the workflow, because nothing is left to do. */
import { expect, it } from 'vitest'
import { type Geneva, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { deployOver } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

function version(name: string, join: 'all' | 'any') {
  return class extends Workflow {
    static {
      this.named(name)
      this.fork('ask', { a: b => b.step('first'), b: b => b.step('second', { onException: 'dlq' }) }, { join })
    }
    async first() {}
    async second() {
      throw new Error('no answer')
    }
  }
}

/** Lost with the second courier, whose step is given up. */
class Delivery extends Workflow {
  static {
    this.fork('ask', { a: b => b.step('first'), b: b => b.step('second', { onException: 'dlq' }) }, { join: 'any' })
    this.step('book')
  }
  async first() {
    throw new Error('closed')
  }
  async second() {
    throw new Error('no answer')
  }
  async book() {}
}

const ways: readonly (readonly [
  string,
  (wf: WorkflowHandle<any>, geneva: Geneva, letter: string) => Promise<unknown>,
])[] = [
  ['requeued', (_, geneva, letter) => geneva.requeue(letter, { by: 'ann' })],
  ['discarded and its step skipped', (_, geneva, letter) => geneva.discard(letter, { then: 'skip', by: 'ann' })],
  ['repeated', wf => wf.reattempt('second', { by: 'ann' })],
  ['skipped', wf => wf.skip('second', { by: 'ann' })],
  ['resolved', wf => wf.resolve('second', { by: 'ann' })],
]

forEachDatabase('a letter that a join has overtaken', database => {
  const under = useGeneva(database, { workflows: [Delivery] })

  it('is closed by that, and the workflow goes on', async () => {
    const wf: WorkflowHandle<any> = await under.geneva.start(Delivery)
    await under.runDue({ maxSteps: 1 })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    await wf.resolve('first', { by: 'ann' })
    expect(await under.geneva.deadLetters({ workflowId: wf.id })).toEqual([])
    const closed = (await wf.events()).find(({ type }) => type === 'letter.discarded')
    expect(closed).toMatchObject({ node: 'second', by: null, reason: 'join ask#join was decided' })
    expect((await wf.refresh()).state).toBe('ready')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it.each(ways)('ends its workflow when it is %s', async (how, handle) => {
    const name = `Asking ${how}`
    const { wf, fresh } = await deployOver(under, { V1: version(name, 'all'), V2: version(name, 'any') })
    const [letter] = await fresh.deadLetters({ workflowId: wf.id })
    expect([wf.state, letter?.step]).toEqual(['dlq', 'second'])
    await handle(wf, fresh, letter?.id ?? '')
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    const closed = (await wf.events()).findLast(({ type }) => /^letter\.(requeued|discarded|resolved)$/.test(type))
    expect(closed).toMatchObject({ by: 'ann' })
  })
})
