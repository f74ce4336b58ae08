/**
 * A deploy that takes away the last branch that a join could still have gone on with, and says to skip what it has lost: the
 * policies of the branches that have failed act then, whoever brings the workflow in line with the new code.
 */
import { expect, it } from 'vitest'
import {
  type AnyWorkflow,
  type Compensation,
  type ConcreteClass,
  type Decision,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { type Deployed, deployOver, type WaitingPolicy, waitingPolicies } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

let types = 0

/**
 * Two branches that fail, and one in which somebody is asked; `deployed` has lost that one. Or it has all of them, and its join
 * needs them all.
 */
function versions(policy: WaitingPolicy, onMissingStep: 'skip' | 'pause', needsAll = false) {
  const name = `Offer ${++types}`
  const version = (deployed: boolean) =>
    class Offer extends Workflow {
      static {
        this.named(name)
        if (deployed) this.defaults({ onMissingStep })
        this.step('enter', { compensate: 'leave' })
        this.fork(
          'ask',
          {
            a: b => b.step('first', { onException: policy }),
            b: b => b.step('second', { onException: 'pause' }),
            ...(deployed && !needsAll ? {} : { c: (b: any) => b.human('approve') }),
          },
          { join: deployed && needsAll ? 'all' : 'any' },
        )
        this.step('after')
        this.task('beside', { dependsOn: 'enter', wait: '1 min' })
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
      async beside() {}
    }
  return { V1: version(false) as ConcreteClass<AnyWorkflow>, V2: version(true) as ConcreteClass<AnyWorkflow> }
}

forEachDatabase('a join that a deploy has lost', database => {
  const under = useGeneva(database, { workflows: [] })

  /** Both branches have failed, and the third waits. */
  async function deployed(policy: WaitingPolicy, onMissingStep: 'skip' | 'pause' = 'skip'): Promise<Deployed> {
    const { wf, fresh } = await deployOver(under, versions(policy, onMissingStep))
    expect((await wf.currentExecutions()).map(({ step, state }) => `${step} ${state}`).sort()).toEqual([
      'approve waiting',
      'beside scheduled',
    ])
    return { wf, fresh }
  }

  async function expectEnd(wf: WorkflowHandle<any>, state: string, entered: string): Promise<void> {
    await waitFor(async () => (await wf.refresh()).state === state)
    const history = await wf.history()
    expect(history.find(({ step }) => step === 'enter')?.state).toBe(entered)
    expect(history.find(({ step }) => step === 'approve')?.outcome).toBe('skipped_by_exception')
    expect(history.some(({ step }) => step === 'after')).toBe(false)
    expect(await wf.verifyHistory()).toBeNull()
  }

  it.each(waitingPolicies)(
    'lets the policy that has waited act when a worker heals it: %s',
    async (policy, state, entered) => {
      const { wf, fresh } = await deployed(policy)
      await fresh.startWorker(quickly)
      await waitFor(async () => (await wf.events()).some(({ type }) => type === 'workflow.healed'))
      // What pauses it waits for what can still go on.
      if (policy === 'pause') (await fresh.openedStore()).setClockOffset(90_000)
      await expectEnd(wf, state, entered)
    },
  )

  it.each(waitingPolicies)(
    'lets it act when a worker that claims a step heals it: %s',
    async (policy, state, entered) => {
      const { wf, fresh } = await deployed(policy)
      ;(await fresh.openedStore()).setClockOffset(90_000)
      await fresh.runDue(quickly)
      await expectEnd(wf, state, entered)
    },
  )

  it.each(waitingPolicies)('lets it act when a resume heals it: %s', async (policy, state, entered) => {
    const { wf, fresh } = await deployed(policy)
    await wf.pause()
    const answer = wf.resume()
    if (policy === 'pause') {
      // Failed steps get a new attempt, and fail again.
      await answer
      ;(await fresh.openedStore()).setClockOffset(90_000)
    } else await answer.catch(() => {})
    await fresh.runDue(quickly)
    await expectEnd(wf, state, entered)
  })

  it.each(waitingPolicies)(
    'because it needs all by now lets it act when a worker claims a step: %s',
    async (policy, state, entered) => {
      const { wf, fresh } = await deployOver(under, versions(policy, 'skip', true))
      ;(await fresh.openedStore()).setClockOffset(90_000)
      await fresh.runDue(quickly)
      expect((await wf.refresh()).state).toBe(state)
      const history = await wf.history()
      expect(history.find(({ step }) => step === 'enter')?.state).toBe(entered)
      expect(await wf.verifyHistory()).toBeNull()
      await wf.abort().catch(() => {})
    },
  )

  const ends = { pause: 'pauses when nothing else goes on', cancel: 'is canceled', rollback: 'is rolled back' }
  const foretold = { ...ends, dlq: 'goes to the dead letter queue' }

  it.each(waitingPolicies)('is foretold by the check, with what follows: %s', async policy => {
    const { wf, fresh } = await deployed(policy)
    const { findings, ok } = await fresh.check()
    expect(ok).toBe(false)
    expect(findings).toMatchObject([
      {
        verdict: 'orphaned',
        what: `It stands at approve, which the code does not have: it is skipped, as \`onMissingStep\` says. Join ask#join can never go on by this graph, because first, second have failed: it ${foretold[policy]}.`,
        examples: [wf.id],
      },
    ])
    await wf.abort()
  })

  const asked = waitingPolicies.filter(([policy]) => policy !== 'pause')

  it.each(asked)('waits where people are to settle the branch that is gone: %s', async (policy, state, entered) => {
    const { wf, fresh } = await deployed(policy, 'pause')
    const [finding] = (await fresh.check()).findings
    expect(finding).toMatchObject({
      verdict: 'orphaned',
      what: `It stands at approve, which the code does not have. It will fail there and pause. Join ask#join can never go on by this graph, because first, second have failed: it ${foretold[policy]}, once somebody has settled that.`,
    })
    ;(await fresh.openedStore()).setClockOffset(90_000)
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('paused')
    const history = await wf.history()
    expect(history.find(({ step }) => step === 'approve')?.error?.className).toBe('StepMissingError')
    expect(history.find(({ step }) => step === 'enter')?.state).toBe('completed')
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
    // Nothing is undone before somebody has said that the branch is not to come back.
    await wf.skip('approve')
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe(state)
    expect((await wf.history()).find(({ step }) => step === 'enter')?.state).toBe(entered)
    await wf.abort().catch(() => {})
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
