/**
 * A deploy has lost a join, and the first who touches the workflow after it is a person: whatever they ask for, the policies of
 * the branches that have failed act, as they do when a worker comes first.
 */
import { expect, it, onTestFinished } from 'vitest'
import {
  type AnyWorkflow,
  type Compensation,
  type ConcreteClass,
  type Decision,
  type FrozenGraph,
  type Geneva,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { type Deployed, deployOver, type WaitingPolicy, waitingPolicies } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

type Beside = 'pause' | 'dlq'
let types = 0

/** Two branches that fail, and one in which somebody is asked, which `deployed` has lost; beside them a step that fails. */
function versions(policy: WaitingPolicy, beside: Beside) {
  const name = `Tender ${++types}`
  const version = (deployed: boolean) =>
    class Tender extends Workflow {
      static {
        this.named(name)
        if (deployed) this.defaults({ onMissingStep: 'skip' })
        this.step('enter', { compensate: 'leave' })
        this.fork(
          'ask',
          {
            a: b => b.step('first', { onException: policy }),
            b: b => b.step('second', { onException: 'pause' }),
            ...(deployed ? {} : { c: (b: any) => b.human('approve') }),
          },
          { join: 'any' },
        )
        this.step('after')
        this.task('beside', { dependsOn: 'enter', wait: '1 min', onException: beside })
        this.task('write', { dependsOn: 'enter' })
        this.human('review', { dependsOn: 'write', onReject: { backTo: 'write' } })
      }
      async enter() {}
      async leave(_: Compensation) {}
      async first() {
        throw new Error('first')
      }
      async second() {
        throw new Error('second')
      }
      async approve(_: Decision) {}
      async after() {}
      async beside() {
        throw new Error('beside')
      }
      async write() {}
      async review(_: Decision) {}
    }
  return { V1: version(false) as ConcreteClass<AnyWorkflow>, V2: version(true) as ConcreteClass<AnyWorkflow> }
}

/** What is due so many minutes later runs. */
async function pass(geneva: Geneva, minutes: number): Promise<void> {
  ;(await geneva.openedStore()).setClockOffset(minutes * 60_000)
  await geneva.runDue(quickly)
}

forEachDatabase('a join that a deploy has lost before somebody asks for something', database => {
  const under = useGeneva(database, { workflows: [] })

  /** All but the people have ended; nobody has looked at the workflow with the new code. */
  async function deployed(policy: WaitingPolicy, beside: Beside): Promise<Deployed> {
    const { wf, fresh } = await deployOver(under, versions(policy, beside), async old => {
      await pass(old, 0)
      await pass(old, 2)
    })
    expect(wf.state).toBe(beside === 'pause' ? 'paused' : 'dlq')
    return { wf, fresh }
  }

  async function letterOf(fresh: Geneva, wf: WorkflowHandle<any>): Promise<string> {
    const [letter] = await fresh.deadLetters({ workflowId: wf.id })
    return letter?.id ?? ''
  }

  async function expectEnd(wf: WorkflowHandle<any>, fresh: Geneva, [state, entered]: [string, string]): Promise<void> {
    await pass(fresh, 4)
    expect((await wf.refresh()).state).toBe(state)
    const history = await wf.history()
    expect(history.find(({ step }) => step === 'enter')?.state).toBe(entered)
    expect(history.some(({ step }) => step === 'after')).toBe(false)
    if (state === 'dlq') {
      const letters = await fresh.deadLetters({ workflowId: wf.id })
      expect(letters.map(({ step }) => step)).toContain('first')
    }
    expect(await wf.verifyHistory()).toBeNull()
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
    await wf.abort().catch(() => {})
  }

  it.each(waitingPolicies)(
    'lets the policy that has waited act when a step is reattempted: %s',
    async (policy, ...end) => {
      const { wf, fresh } = await deployed(policy, 'pause')
      await wf.reattempt('beside')
      await expectEnd(wf, fresh, end)
    },
  )

  it.each(waitingPolicies)('lets it act when a step is skipped: %s', async (policy, ...end) => {
    const { wf, fresh } = await deployed(policy, 'pause')
    await wf.skip('beside')
    await expectEnd(wf, fresh, end)
  })

  it.each(waitingPolicies)('lets it act when somebody sends the workflow back: %s', async (policy, ...end) => {
    const { wf, fresh } = await deployed(policy, 'pause')
    await wf.decide('review', { by: 'ann', decision: 'rejected' })
    await expectEnd(wf, fresh, end)
  })

  // Where it says `pause`, the letter that is opened anew comes first.
  const stopping = waitingPolicies.filter(([policy]) => policy !== 'pause')

  it.each(stopping)('lets it act when a letter is requeued: %s', async (policy, ...end) => {
    const { wf, fresh } = await deployed(policy, 'dlq')
    await fresh.requeue(await letterOf(fresh, wf), { by: 'ann' })
    await expectEnd(wf, fresh, end)
  })

  it.each(stopping)('lets it act when the step of a letter is reattempted: %s', async (policy, ...end) => {
    const { wf, fresh } = await deployed(policy, 'dlq')
    await wf.reattempt('beside')
    await expectEnd(wf, fresh, end)
  })

  it.each(waitingPolicies)('lets it act when the step of a letter is skipped: %s', async (policy, ...end) => {
    const { wf, fresh } = await deployed(policy, 'dlq')
    await wf.skip('beside')
    await expectEnd(wf, fresh, end)
  })

  it('is not lost to whoever asks for another attempt in one of its branches', async () => {
    const { wf, fresh } = await deployed('rollback', 'pause')
    await wf.reattempt('first')
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.currentExecutions()).map(({ step }) => step)).toContain('first')
    await wf.resume()
    // It fails again, and now nothing can do without it.
    await expectEnd(wf, fresh, ['failed', 'rolled_back'])
    expect((await wf.history()).filter(({ step }) => step === 'first')).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  })
})

/** The graph, with a join that does not wait for the answer of people any more. */
function withoutApproval(dag: FrozenGraph): string {
  // What people write into the file, which nothing has checked yet.
  const edited = structuredClone(dag) as any
  const [approval] = Object.entries<any>(edited.nodes).find(([, { name }]) => name === 'approve') ?? []
  for (const node of Object.values<any>(edited.nodes)) {
    if (node.kind !== 'join') continue
    node.depends_on = node.depends_on.filter((id: string) => id !== approval)
    node.join.branches = node.join.branches.filter(([id]: string[]) => id !== approval)
  }
  return JSON.stringify(edited)
}

forEachDatabase('a join that an imported graph has lost', database => {
  const under = useGeneva(database, { workflows: [] })

  it.each(waitingPolicies)('lets the policy that has waited act: %s', async (policy, state, entered) => {
    const { V1 } = versions(policy, 'pause')
    const geneva = under.another({ workflows: [V1] })
    onTestFinished(() => geneva.close())
    const wf: WorkflowHandle<any> = await geneva.start(V1 as ConcreteClass<Workflow>)
    await pass(geneva, 0)
    await pass(geneva, 2)
    expect((await wf.refresh()).state).toBe('paused')
    await geneva.freeze(wf.id)
    await geneva.importDag(withoutApproval(await geneva.exportDag(wf.id)), { into: wf.id, by: 'ann' })
    await geneva.runDue(quickly)
    expect((await wf.refresh()).state).toBe(state)
    const history = await wf.history()
    expect(history.find(({ step }) => step === 'enter')?.state).toBe(entered)
    expect(history.some(({ step }) => step === 'after')).toBe(false)
    expect(await wf.verifyHistory()).toBeNull()
    expect((await geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    await wf.abort().catch(() => {})
  })
})
