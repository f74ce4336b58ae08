/** A dead letter of a branch that the join does without after a deploy: whoever handles it ends the workflow, because nothing is left to do. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
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

forEachDatabase('a letter that a join has overtaken', database => {
  const under = useGeneva(database, { workflows: [] })

  it.each(['requeued', 'repeated'])('ends its workflow when it is %s', async how => {
    const name = `Asking ${how}`
    const { wf, fresh } = await deployOver(under, { V1: version(name, 'all'), V2: version(name, 'any') })
    const [letter] = await fresh.deadLetters({ workflowId: wf.id })
    expect([wf.state, letter?.step]).toEqual(['dlq', 'second'])
    if (how === 'requeued') await fresh.requeue(letter?.id ?? '')
    else await wf.reattempt('second')
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
  })
})
