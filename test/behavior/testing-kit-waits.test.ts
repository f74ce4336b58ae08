/** The testing kit and what waits for people, signals and other workflows, for a limited time. */
import { beforeAll, expect, it } from 'vitest'
import { type Child, type Decision, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import type { TestKit } from '../../src/testing.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useKits } from '../support/use-kits.ts'

const hour = 60 * 60 * 1000

class Approved extends Workflow {
  static {
    this.step('ask', { wait: '1 hour' })
    this.human('approve', { deadline: '30 days', escalate: [{ after: '7 days', to: 'boss' }] })
    this.step('proceed', { wait: '1 hour' })
  }
  async ask() {}
  async approve(_: Decision) {}
  async proceed() {}
}

class Delivered extends Workflow {
  static {
    this.waitFor('delivered', { timeout: '14 days', onTimeout: 'skip' })
    this.step('thank', { wait: '1 hour' })
  }
  async delivered(_: Signal) {}
  async thank() {}
}

class Parcel extends Workflow {
  static {
    this.step('send', { wait: '2 days' })
  }
  async send() {}
}

class Sender extends Workflow {
  static {
    this.child('parcel', { workflow: Parcel, start: () => ({}), timeout: '1 day' })
    this.step('thank')
  }
  async parcel(_: Child<Parcel>) {}
  async thank() {}
}

const open = useKits()

forEachDatabase('a speedrun', database => {
  let url: string
  beforeAll(async () => {
    url = (await database.isolated()).url
  })

  /** How far the clock went, in whole hours. */
  async function hoursOf(kit: TestKit, run: () => Promise<unknown>): Promise<number> {
    const begun = await kit.now()
    await run()
    return Math.floor(((await kit.now()).getTime() - begun.getTime()) / hour)
  }

  async function waitingAt(wf: WorkflowHandle): Promise<string[]> {
    return (await wf.currentExecutions()).filter(({ state }) => state === 'waiting').map(({ step }) => step)
  }

  it('stops where people have to decide, whatever their deadline, and goes on once they have', async () => {
    const kit = await open({ database: url, workflows: [Approved] })
    const wf = await kit.start(Approved)
    expect(await hoursOf(kit, () => kit.speedrun(wf))).toBe(1)
    expect(await waitingAt(wf)).toEqual(['approve'])
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    expect(await hoursOf(kit, () => kit.speedrun(wf))).toBe(1)
    await kit.assertState(wf, 'finished')
    await kit.assertExecutedSteps(wf, ['ask', 'approve', 'proceed'])
  })

  it('goes to the end of that time when the test says so', async () => {
    const kit = await open({ database: url, workflows: [Approved] })
    const wf = await kit.start(Approved)
    await kit.speedrun(wf)
    await kit.advance('30 days')
    await kit.speedrun(wf)
    expect(await waitingAt(wf)).toEqual([])
    await kit.assertStepNotExecuted(wf, 'proceed')
  })

  it('stops where a signal has to come, whatever its timeout', async () => {
    const kit = await open({ database: url, workflows: [Delivered] })
    const wf = await kit.start(Delivered)
    expect(await hoursOf(kit, () => kit.speedrun(wf))).toBe(0)
    expect(await waitingAt(wf)).toEqual(['delivered'])
    await wf.signal('delivered')
    await kit.speedrun(wf)
    await kit.assertState(wf, 'finished')
    const late = await kit.speedrun(await kit.start(Delivered))
    await kit.advance('14 days')
    await kit.speedrun(late)
    await kit.assertState(late, 'finished')
    await kit.assertStepSkipped(late, 'delivered')
  })

  it('stops where another workflow has to end, whatever the timeout', async () => {
    const kit = await open({ database: url, workflows: [Sender, Parcel] })
    const wf = await kit.start(Sender)
    expect(await hoursOf(kit, () => kit.speedrun(wf))).toBe(0)
    expect(await waitingAt(wf)).toEqual(['parcel'])
    await kit.assertStepNotExecuted(wf, 'thank')
    await wf.abort()
  })
})
