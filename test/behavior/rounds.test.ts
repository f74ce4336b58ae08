/**
 * A workflow that people have sent back to an earlier step: what is done again counts, what the rounds before have left does
 * not, and nothing of them runs on into the new one.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Decision, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const calls: string[] = []
let round = 1
const gates = new Gates()

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

/** Once it was sent back it has nothing more to say. */
class Notice extends Workflow {
  static {
    this.named('rounds notice')
    this.step('write')
    this.human('accept', { onReject: { backTo: 'write' } })
  }
  async write() {
    if (round > 1) this.finish()
  }
  async accept(_: Decision) {}
}

/** Its slow branch does not listen when a join goes on without it. In the second round it is quick. */
class Race extends Workflow<null, { gate: string; throws: boolean }> {
  static {
    this.named('rounds race')
    this.step('write')
    this.fork('run', { a: b => b.step('slow', { compensate: 'slowDown' }), b: b => b.step('quick') }, { join: 'any' })
    this.human('accept', { onReject: { backTo: 'write' } })
  }
  async write() {
    calls.push(`write ${this.execution.attempt}`)
  }
  async slow() {
    calls.push(`slow ${this.execution.attempt}`)
    if (this.execution.attempt > 1) return
    const { gate, throws } = this.input
    await gates.stop(gate, this.signal)
    if (throws) throw new Error('told to stop')
  }
  async slowDown() {
    calls.push('slowDown')
  }
  async quick() {
    // Not before the other has begun: nobody begins what a join has gone on without.
    await gates.arrived(this.input.gate)
  }
  async accept(_: Decision) {}
}

/** In its second round it has less to send, and grants no discount. */
class Campaign extends Workflow {
  static {
    this.named('rounds campaign')
    this.step('plan')
    this.each('mail', { items: () => Array.from({ length: round === 1 ? 5 : 2 }, (_, index) => index) })
    this.condition('isGenerous', () => round === 1, { then: b => b.step('discount') })
    this.step('sum')
    this.human('accept', { onReject: { backTo: 'plan' } })
    this.step('close')
  }
  async plan(): Promise<string> {
    return `${await this.output(this.plan, 'no plan')} before round ${round}`
  }
  async mail(item: number) {
    return `${item} of round ${round}`
  }
  async discount() {
    return 10
  }
  async sum() {
    calls.push(`${(await this.output(this.mail)).join()}; discount ${await this.output(this.discount, 0)}`)
  }
  async accept(_: Decision) {}
  async close() {
    calls.push(await this.output(this.plan))
  }
}

forEachDatabase('in a new round', database => {
  const under = useGeneva(database, { workflows: [Invoice, Letter, Campaign, Notice] })

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

  it('nothing is seen of the outputs that the rounds before have left', async () => {
    const wf = await under.geneva.start(Campaign)
    await under.runDue()
    expect(await wf.output('discount')).toBe(10)
    const stale = await under.geneva.find(Campaign, wf.id)
    await sendBack(wf)
    expect(await stale?.output('mail')).toBeUndefined()
    await under.runDue()
    const [, second] = calls
    expect(second).toBe('0 of round 2,1 of round 2; discount 0')
    expect(await wf.output('mail')).toEqual(['0 of round 2', '1 of round 2'])
    expect(await wf.output('discount')).toBeUndefined()
    await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
    await under.runDue()
    expect(calls.at(-1)).toBe('no plan before round 2')
  })

  it('a workflow may be declared finished before it comes to those who sent it back, and the doctor agrees', async () => {
    const wf = await under.geneva.start(Notice)
    await under.runDue()
    await sendBack(wf)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('a rerun takes over what this round has done, and not what an earlier one did', async () => {
    const wf = await under.geneva.start(Campaign)
    await under.runDue()
    await sendBack(wf)
    await under.runDue()
    const again: WorkflowHandle<any> = await under.geneva.rerun(wf.id, { from: 'accept' })
    expect(await again.output('mail')).toEqual(['0 of round 2', '1 of round 2'])
    expect(await again.output('discount')).toBeUndefined()
    const items = (await again.history()).filter(({ step }) => step.startsWith('mail/'))
    expect(items).toHaveLength(2)
    await wf.cancel()
    await again.cancel()
    await under.runDue()
  })
})

forEachDatabase('while a step still runs that a join went on without,', database => {
  const under = useGeneva(database, { workflows: [Race], worker: true })
  const stateOf = async (wf: WorkflowHandle<any>, step: string) =>
    (await wf.currentExecutions()).find(execution => execution.step === step)?.state

  beforeEach(() => {
    calls.length = 0
  })

  async function rejected(throws: boolean): Promise<{ wf: WorkflowHandle<any>; gate: string }> {
    const gate = `${database.name} ${throws}`
    const wf: WorkflowHandle<any> = await under.geneva.start(Race, { input: { gate, throws } })
    await waitFor(async () => (await stateOf(wf, 'accept')) === 'waiting')
    expect(await stateOf(wf, 'slow')).toBe('in_progress')
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    await waitFor(async () => (await stateOf(wf, 'accept')) === 'waiting')
    return { wf, gate }
  }

  it.each([false, true])(
    'going back does everything again, and what that step reports is refused (it throws: %s)',
    async throws => {
      const { wf, gate } = await rejected(throws)
      expect(calls.filter(call => call.startsWith('write'))).toEqual(['write 1', 'write 2'])
      gates.open(gate)
      await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
      await waitFor(async () => (await wf.refresh()).state === 'finished')
      const history = await wf.history()
      expect(history.filter(({ step }) => step === 'slow')[0]).toMatchObject({ state: 'skipped', outcome: 'stopped' })
      for (const step of ['write', 'run', 'quick', 'slow', 'accept']) {
        expect(history.filter(row => row.step === step).map(({ attempt }) => attempt)).toEqual([1, 2])
      }
      expect(await wf.verifyHistory()).toBeNull()
      expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    },
  )
})
