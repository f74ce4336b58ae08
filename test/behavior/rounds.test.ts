/**
 * A workflow that people have sent back to an earlier step: what is done again counts, what the rounds before have left does
 * not, and nothing of them runs on into the new one.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Decision, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let round = 1

/** The first round needs three attempts at its first step, so that it is a longer way than the second. */
class Invoice extends Workflow {
  static {
    this.named('rounds invoice')
    this.step('write', { retry: { attempts: 3, backoff: 'fixed', delay: 0 } })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('pay')
  }
  async write() {
    if (this.execution.attempt < 3) throw new Error('no ink')
    return `round ${round}`
  }
  async accept(_: Decision) {}
  async pay() {
    calls.push(`pay ${await this.output(this.write)}`)
  }
}

/** Its result is what was written last. */
class Letter extends Workflow {
  static {
    this.named('rounds letter')
    this.step('write', { retry: { attempts: 5, backoff: 'fixed', delay: 0 } })
    this.human('accept', { onReject: { backTo: 'write' } })
  }
  async write() {
    if (this.execution.attempt < 5) throw new Error('no ink')
    return 'written'
  }
  async accept(_: Decision) {
    return `accepted in round ${round}`
  }
}

forEachDatabase('in a new round', database => {
  const under = useGeneva(database, { workflows: [Invoice, Letter] })

  beforeEach(() => {
    calls.length = 0
    round = 1
  })

  async function sendBack(wf: WorkflowHandle<any>): Promise<void> {
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    round++
  }

  it('a step is known by what it has left last, however many attempts the rounds before needed', async () => {
    const wf = await under.geneva.start(Invoice)
    await under.runDue()
    await sendBack(wf)
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['pay round 2'])
    expect(await wf.output('write')).toBe('round 2')
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('everything stands behind the rounds before, and the result of the workflow is that of the last', async () => {
    const wf = await under.geneva.start(Letter)
    await under.runDue()
    await sendBack(wf)
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
    await under.runDue()
    expect(await wf.waitUntilFinished()).toBe('accepted in round 2')
    const steps = (await wf.history()).map(({ step, attempt }) => `${step} ${attempt}`)
    const first = Array.from({ length: 5 }, (_, index) => `write ${index + 1}`)
    expect(steps).toEqual([...first, 'accept 1', 'write 6', 'accept 2'])
    expect((await under.geneva.views.workflow(wf.id)).output).toBe('accepted in round 2')
  })
})
