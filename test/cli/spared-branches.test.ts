/** `geneva skip`, `resolve` and `reattempt` without a step, where a join has done without a step that failed. */
import { expect, it } from 'vitest'
import { Workflow, type WorkflowHandle } from '../../src/index.ts'
import { bareApplication } from '../support/bare-application.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const { shell, moduleFor } = bareApplication('spared')

let broken = true

class Delivery extends Workflow {
  static {
    this.parallel('couriers', b => [b.step('askDhl'), b.step('askUps')], { join: 'any' })
    this.step('book')
  }
  async askDhl() {
    throw new Error('closed')
  }
  async askUps() {}
  async book() {
    if (broken) throw new Error('full')
  }
}

forEachDatabase('geneva reattempt without a step', database => {
  const under = useGeneva(database, { workflows: [Delivery] })

  it('tries the step again that keeps the workflow, and not one that a join has done without', async () => {
    broken = true
    const wf: WorkflowHandle<any> = await under.geneva.start(Delivery)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect(await shell.run('reattempt', moduleFor(under.url), wf.id)).toMatchObject({ code: 0, stderr: '' })
    broken = false
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.history()).filter(({ step }) => step === 'askDhl')).toHaveLength(1)
  })
})
