/** `defaults({ onMissingStep: 'skip' })`: workflows that stand at a step which a deploy has taken away go on without it. */
import { expect, it } from 'vitest'
import { definitionOf } from '../../src/definition/compile.ts'
import { type Child, type Decision, type Geneva, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { Deploys, expectFinished } from '../support/deploys.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const skip = { onMissingStep: 'skip' } as const
const skipped = 'It stands at b, which the code does not have: it is skipped, as `onMissingStep` says.'
const skippedLater =
  'It stands at b, which the code does not have: it is skipped when it is resumed or requeued, as `onMissingStep` says.'

/** The record says why it was left out. */
async function expectSkipped(wf: WorkflowHandle, step: string, attempt = 1): Promise<void> {
  expect((await wf.history()).findLast(row => row.step === step)).toMatchObject({
    attempt,
    state: 'skipped',
    outcome: 'skipped_by_exception',
    error: { className: 'StepMissingError', message: expect.stringContaining(`step ${step}`) },
  })
  expect(await wf.verifyHistory()).toBeNull()
}

forEachDatabase('a step that the newest code has lost and says to skip', database => {
  const under = useGeneva(database, { workflows: [] })

  it('is skipped where the workflow stands at it, and what depended on it goes on', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const V2 = deploys.version({ a: '', c: 'a' }, skip)
    expect(await deploys.check(V2)).toEqual({ verdict: 'heals', what: skipped })
    await deploys.pass(deploys.deploy(V2), 2)
    expect(deploys.ran).toEqual(['a', 'c'])
    await expectSkipped(wf, 'b')
    await expectFinished(wf)
    const events = (await wf.events()).filter(event => event.type === 'step.skipped')
    expect(events).toMatchObject([{ node: 'b', from: 'in_progress', outcome: 'skipped_by_exception' }])
    expect(under.errors.filter(({ context }) => context?.workflowId === wf.id)).toMatchObject([
      { error: { code: 'STEP_MISSING' } },
    ])
  })

  it('is skipped in one branch, and the others go on', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', p: 'a', q: 'p', c: 'b q' }), 1)
    await deploys.pass(deploys.deploy(deploys.version({ a: '', p: 'a', q: 'p', c: 'q' }, skip)), 3)
    expect(deploys.ran).toEqual(['a', 'p', 'q', 'c'])
    await expectSkipped(wf, 'b')
    await expectFinished(wf)
  })

  it('is skipped at its next attempt where it had failed', async () => {
    const deploys = new Deploys(under)
    deploys.failing.add('b')
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const V2 = deploys.version({ a: '', c: 'a' }, skip)
    expect(await deploys.check(V2)).toEqual({ verdict: 'heals', what: skippedLater })
    const fresh = deploys.deploy(V2)
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'c'])
    await expectSkipped(wf, 'b', 2)
    await expectFinished(wf)
  })

  it('is skipped when a paused workflow is resumed, and not before', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await wf.pause()
    const V2 = deploys.version({ a: '', c: 'a' }, skip)
    expect(await deploys.check(V2)).toEqual({ verdict: 'heals', what: skippedLater })
    const fresh = deploys.deploy(V2)
    await deploys.pass(fresh, 1)
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'b', state: 'paused' }])
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'c'])
    await expectFinished(wf)
  })

  it('is not skipped where old code has begun it: its end counts', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.hold(old, 'b')
    const fresh = deploys.deploy(deploys.version({ a: '', c: 'a' }, skip))
    await fresh.migrate()
    deploys.gates.open('b')
    await old.close()
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    await expectFinished(wf)
  })

  it('that may have been renamed is still asked about', async () => {
    const deploys = new Deploys(under)
    await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    expect(await deploys.check(deploys.version({ a: '', other: 'a', c: 'other' }, skip))).toEqual({
      verdict: 'needs_map',
      what: "It stands at b, which the code does not have, while other is new. If it was renamed, say so: `this.renamed({ b: 'other' })`. Without that it is skipped.",
    })
  })

  it('lets what is new in its place run, once it is skipped', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.pass(deploys.deploy(deploys.version({ a: '', other: 'a', c: 'other' }, skip)), 3)
    expect(deploys.ran).toEqual(['a', 'other', 'c'])
    await expectFinished(wf)
  })

  it('may be one of many items: each that had not begun is skipped, and the node is done', async () => {
    const deploys = new Deploys(under)
    const V1 = deploys.version({ a: '', b: 'a', c: 'b' }, { each: { b: 3 }, concurrency: 1 })
    deploys.failing.add('b/1')
    const { wf } = await deploys.start(V1, 2)
    const fresh = deploys.deploy(deploys.version({ a: '', c: 'a' }, skip))
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 3)
    expect(deploys.ran).toEqual(['a', 'b/0', 'b/2', 'c'])
    await expectSkipped(wf, 'b/1', 2)
    await expectFinished(wf)
  })

  it('is told by the newest code, not by what an older process says', async () => {
    const deploys = new Deploys(under)
    // The first never had b, says nothing, and is still there.
    const first = deploys.deploy(deploys.version({ a: '', c: 'a' }))
    await first.migrate()
    deploys.failing.add('b')
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const newest = deploys.deploy(deploys.version({ a: '', c: 'a', d: 'c' }, skip))
    await newest.resume(wf.id)
    // The next attempt may be claimed by whoever has the code. The oldest has not, and knows who has the say.
    await deploys.pass(first, 1)
    await expectSkipped(wf, 'b', 2)
    await deploys.pass(newest, 2)
    expect(deploys.ran).toEqual(['a', 'c', 'd'])
    await expectFinished(wf)
  })
})

class Invoice extends Workflow {
  static gates = new Gates()
  static {
    this.inline('render', wf => Invoice.gates.stop('render', wf.signal))
  }
}

class Before extends Workflow {
  static {
    this.named('Waiting')
    this.step('a')
    this.human('approve', { deadline: '30 days' })
    this.waitFor('paid', { dependsOn: 'a' })
    this.child('invoice', { workflow: Invoice, start: () => ({}), dependsOn: 'a' })
    this.step('end', { dependsOn: ['approve', 'paid', 'invoice'] })
  }
  async a() {}
  async approve(_: Decision) {}
  async paid(_: Signal) {}
  async invoice(_: Child<Invoice>) {}
  async end() {}
}

class After extends Workflow {
  static {
    this.named('Waiting')
    this.defaults({ onMissingStep: 'skip' })
    this.step('a')
    this.step('end')
  }
  async a() {}
  async end() {}
}

forEachDatabase('nodes that wait, and that the newest code has lost and says to skip', database => {
  const under = useGeneva(database, { workflows: [Invoice] })
  const stateOf = async (wf: WorkflowHandle, step: string) =>
    (await wf.nodesWithState()).find(node => node.name === step)?.state

  async function waitingWorkflow(): Promise<{ old: Geneva; wf: WorkflowHandle }> {
    const old = under.another({ workflows: [Before, Invoice] })
    const { id } = await old.start(Before)
    const wf = await under.geneva.find(id)
    if (wf === null) throw new Error('It is gone.')
    await old.startWorker(quickly)
    await Invoice.gates.arrived('render')
    await waitFor(async () => (await wf.currentExecutions()).filter(row => row.state === 'waiting').length === 3)
    return { old, wf }
  }

  it('go on at once where nobody could answer them, and a child when it has ended', async () => {
    Invoice.gates = new Gates()
    const { old, wf } = await waitingWorkflow()
    const fresh = under.another({ workflows: [After, Invoice] })
    const { findings } = await fresh.check()
    expect(findings.filter(({ type }) => type === 'Waiting')).toMatchObject([
      {
        verdict: 'heals',
        what: 'It stands at approve, invoice, paid, which the code does not have: it is skipped, as `onMissingStep` says.',
      },
    ])
    // It has the code still, and would go on with it.
    await old.close()
    await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.history()).filter(row => row.state === 'skipped').length === 2)
    await expectSkipped(wf, 'approve')
    await expectSkipped(wf, 'paid')
    expect(await stateOf(wf, 'end')).not.toBe('completed')
    Invoice.gates.open('render')
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await expectSkipped(wf, 'invoice')
    await expectFinished(wf)
    expect((await fresh.doctor()).findings).toEqual([])
    await fresh.close()
  })
})

it('what is neither pause nor skip does not define a class, and a subclass inherits what its parent says', () => {
  const define = (options: object) => () =>
    class extends Workflow {
      static {
        this.defaults(options)
      }
    }
  expect(define({ onMissingStep: 'explode' })).toThrow(/onMissingStep must be 'pause' or 'skip', not "explode"/)
  class Child extends After {
    static {
      this.named('child of After')
    }
  }
  class Strict extends After {
    static {
      this.named('strict child of After')
      this.defaults({ onMissingStep: 'pause' })
    }
  }
  const said = [After, Child, Strict].map(each => definitionOf(each).graph.data.onMissingStep)
  expect(said).toEqual(['skip', 'skip', undefined])
})
