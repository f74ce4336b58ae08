/** A dead letter of a branch that the join does without after a deploy: whoever handles it ends the workflow, because nothing is left to do. */
import { expect, it, onTestFinished } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
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

forEachDatabase('a letter that a join has overtaken', database => {
  const under = useGeneva(database, { workflows: [] })

  it.each(['requeued', 'repeated'])('ends its workflow when it is %s', async how => {
    const [before, deployed] = [version(`Asking ${how}`, 'all'), version(`Asking ${how}`, 'any')]
    const old = under.another({ workflows: [before] })
    const { id } = await old.start(before)
    await old.runDue(quickly)
    await old.close()
    const fresh = under.another({ workflows: [deployed] })
    onTestFinished(() => fresh.close())
    const wf = await fresh.find(id)
    const [letter] = await fresh.deadLetters({ workflowId: id })
    expect([wf?.state, letter?.step]).toEqual(['dlq', 'second'])
    if (how === 'requeued') await fresh.requeue(letter?.id ?? '')
    else await wf?.reattempt('second')
    await fresh.runDue(quickly)
    expect((await wf?.refresh())?.state).toBe('finished')
  })
})
