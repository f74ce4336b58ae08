/**
 * Deploys that meet a workflow in the middle of something: a join that is about to be decided, a rollback, people who are asked.
 * What was under way comes to the same end as without the deploy.
 */
import { expect, it, onTestFinished } from 'vitest'
import {
  type AnyWorkflow,
  type Compensation,
  type ConcreteClass,
  type Decision,
  type Geneva,
  type Signal,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { type Deployed, deployOver } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

type Version = ConcreteClass<AnyWorkflow>
let types = 0
let gates = new Gates()

/** A race to its end. The next version begins with a step that comes too late, and may have lost who was asked. */
function races(rule: 'any' | 'settled', step: 'slow' | 'broken', { lost = false } = {}) {
  const name = `Race ${++types}`
  const version = (deployed: boolean) =>
    class Race extends Workflow {
      static {
        this.named(name)
        if (deployed) this.defaults({ onMissingStep: 'skip' })
        if (deployed) this.step('prepare')
        this.step('enter')
        this.fork(
          'run',
          {
            a: b => b.step(step),
            b: b => b.human('agree'),
            ...(deployed && lost ? {} : { c: (b: any) => b.human('approve') }),
          },
          { join: rule },
        )
      }
      async prepare() {}
      async enter() {}
      /** Does not listen when it is told to stop. */
      async slow() {
        await gates.stop('slow', new AbortController().signal)
      }
      async broken() {
        throw new Error('broken')
      }
      async agree(_: Decision) {}
      async approve(_: Decision) {}
    }
  return { V1: version(false) as Version, V2: version(true) as Version }
}

forEachDatabase('a deploy that comes while branches run', database => {
  const under = useGeneva(database, { workflows: [] })

  /** The step has begun in a process with the old code, and people are asked. The new code is known to nobody. */
  async function running({ V1, V2 }: ReturnType<typeof races>): Promise<{ wf: WorkflowHandle<any>; fresh: Geneva }> {
    gates = new Gates()
    const old = under.another({ workflows: [V1] })
    const fresh = under.another({ workflows: [V2] })
    onTestFinished(async () => {
      gates.open('slow')
      await Promise.all([old.close(), fresh.close()])
    })
    const { id } = await old.start(V1 as ConcreteClass<Workflow>)
    await old.startWorker(quickly)
    const wf = (await fresh.find(id)) as WorkflowHandle<any>
    await waitFor(async () => (await wf.currentExecutions()).filter(({ state }) => state === 'waiting').length === 2)
    return { wf, fresh }
  }

  async function expectFinished(wf: WorkflowHandle<any>, fresh: Geneva): Promise<void> {
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(await wf.currentExecutions()).toEqual([])
    expect((await wf.events()).map(({ type }) => type)).toContain('workflow.healed')
    expect(await wf.verifyHistory()).toBeNull()
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  it('ends the workflow with its last join, once what that did without has ended', async () => {
    const { wf, fresh } = await running(races('any', 'slow'))
    await gates.arrived('slow')
    await wf.resolve('agree')
    expect((await wf.currentExecutions()).map(({ step }) => step)).toEqual(['slow'])
    gates.open('slow')
    await expectFinished(wf, fresh)
    expect(wf.partial).toBe(false)
  })

  it('ends the workflow with its last join at once where that only did without people', async () => {
    const { wf, fresh } = await running(races('any', 'broken'))
    await waitFor(async () => (await wf.history()).some(({ step, state }) => step === 'broken' && state === 'failed'))
    await wf.resolve('agree')
    await expectFinished(wf, fresh)
    expect((await wf.history()).find(({ step }) => step === 'approve')?.outcome).toBe('superseded')
  })

  it('marks it as partial where the branch that the join still waited for was taken away', async () => {
    const { wf, fresh } = await running(races('settled', 'broken', { lost: true }))
    await waitFor(async () => (await wf.history()).some(({ step, state }) => step === 'broken' && state === 'failed'))
    const old = (await under.geneva.find(wf.id)) as WorkflowHandle<any>
    await old.resolve('agree')
    await fresh.startWorker(quickly)
    await expectFinished(wf, fresh)
    expect(wf.partial).toBe(true)
  })
})

interface Tally {
  readonly join: 'all' | 'any' | 'settled' | { atLeast: number }
  readonly ann?: 'slow'
  readonly without?: 'carol'
}

/** Three are asked, in versions that differ in what the join needs, or in who is asked. */
function tallies(first: Tally, second: Tally) {
  const name = `Tally ${++types}`
  const version = ({ join, without, ann }: Tally, last: boolean) =>
    class Tally extends Workflow {
      static {
        this.named(name)
        this.defaults({ onMissingStep: 'skip' })
        this.fork(
          'vote',
          {
            a: b => b.step('ann', { onException: 'rollback', wait: ann === 'slow' ? '1 day' : 0 }),
            b: b => b.step('bob'),
            ...(without === 'carol' ? {} : { c: (b: any) => b.human('carol') }),
          },
          { join },
        )
        this.step('count', { wait: ann === 'slow' ? '1 min' : 0 })
        if (last) this.step('last')
      }
      async count() {}
      async ann() {
        throw new Error('no')
      }
      async bob() {
        if (failing) throw new Error('no')
      }
      async carol(_: Decision) {}
      async last() {}
    }
  return { V1: version(first, false) as Version, V2: version(second, true) as Version }
}
let failing = false

forEachDatabase('a deploy that changes what a join needs', database => {
  const under = useGeneva(database, { workflows: [] })

  /** Carol has not answered; nobody has looked at it with the new code, which says what it will do. */
  async function checked({ V1, V2 }: ReturnType<typeof tallies>) {
    const old = under.another({ workflows: [V1] })
    const { id } = await old.start(V1 as ConcreteClass<Workflow>)
    await old.runDue(quickly)
    await old.close()
    const fresh = under.another({ workflows: [V2] })
    onTestFinished(() => fresh.close())
    const { findings } = await fresh.check()
    expect(findings).toMatchObject([{ count: 1, examples: [id] }])
    const wf = (await fresh.find(id)) as WorkflowHandle<any>
    expect((await wf.currentExecutions()).map(({ step, state }) => `${step} ${state}`)).toEqual(['carol waiting'])
    await fresh.startWorker(quickly)
    return { wf, verdict: findings[0]?.verdict, what: findings[0]?.what }
  }

  it('says that it can never go on, and lets the policy act that has waited', async () => {
    failing = true
    const { wf, verdict, what } = await checked(tallies({ join: 'any' }, { join: { atLeast: 2 } }))
    expect(verdict).toBe('orphaned')
    expect(what).toBe(
      'The graph has changed: added last; changed vote#join. Join vote#join can never go on by this graph, because ann, bob have failed: it is rolled back.',
    )
    await waitFor(async () => (await wf.refresh()).state === 'failed')
  })

  it('says that it goes on with what it has, and lets it', async () => {
    failing = false
    const { wf, verdict, what } = await checked(tallies({ join: { atLeast: 2 } }, { join: 'any' }))
    expect(verdict).toBe('heals')
    expect(what).toBe(
      'The graph has changed: added last; changed vote#join. count is scheduled; join vote#join goes on; carol is left out, because a join goes on without it.',
    )
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toContain('carol superseded')
  })

  it.each([
    ['ends where it was decided before, also if it needs all now', { join: 'any' }, { join: 'all' }],
    [
      'ends where it was decided before, also if who has lost is gone',
      { join: 'any' },
      { join: 'any', without: 'carol' },
    ],
  ] as const)('%s', async (_, first, second) => {
    failing = false
    // Carol is asked, then bob has said yes, and before the last step comes the deploy.
    const versions = tallies({ ...first, ann: 'slow' }, { ...second, ann: 'slow' })
    const { wf, fresh } = await deployOver(under, versions)
    ;(await fresh.openedStore()).setClockOffset(90_000)
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('says that it goes on once the branch that it waited for is skipped, and lets it', async () => {
    failing = false
    const { wf, verdict, what } = await checked(tallies({ join: 'settled' }, { join: 'settled', without: 'carol' }))
    expect(verdict).toBe('needs_map')
    expect(what).toMatch(/Without that it is skipped\. Then join vote#join goes on\.$/)
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(wf.partial).toBe(true)
  })
})

let undone: string[] = []

function sagas(lost: boolean) {
  const name = `Trip ${++types}`
  const version = (deployed: boolean) =>
    class Trip extends Workflow {
      static {
        this.named(name)
        this.step('hotel', { compensate: 'cancelHotel' })
        if (!deployed || !lost) this.step('flight', { compensate: 'cancelFlight' })
        if (deployed) this.step('insure')
        this.step('pay', { onException: 'rollback', compensate: { step: 'refund', retry: 5 } })
        // What is lost is lost with its method.
        if (deployed && lost) Object.assign(this.prototype, { cancelFlight: undefined })
      }
      async hotel() {}
      async flight() {}
      async insure() {}
      async pay() {
        throw new Error('no money')
      }
      async cancelHotel(_: Compensation) {
        undone.push('hotel')
      }
      async cancelFlight(_: Compensation) {
        undone.push('flight')
      }
      async refund(_: Compensation) {
        if (!deployed) throw new Error('not now')
        undone.push('pay')
      }
    }
  return { V1: version(false) as Version, V2: version(true) as Version }
}

forEachDatabase('a deploy that comes while a workflow is rolled back', database => {
  const under = useGeneva(database, { workflows: [] })

  async function rollingBack(lost: boolean): Promise<Deployed> {
    undone = []
    const { wf, fresh } = await deployOver(under, sagas(lost))
    expect(wf.state).toBe('rolling_back')
    ;(await fresh.openedStore()).setClockOffset(600_000)
    return { wf, fresh }
  }

  it('undoes the rest with the new code, and begins nothing that is new', async () => {
    const { wf, fresh } = await rollingBack(false)
    await fresh.runDue(quickly)
    expect(undone).toEqual(['pay', 'flight', 'hotel'])
    expect((await wf.refresh()).state).toBe('failed')
    expect((await wf.history()).some(({ step }) => step === 'insure')).toBe(false)
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('leaves a letter for what the new code cannot undo any more, and goes on', async () => {
    const { wf, fresh } = await rollingBack(true)
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('failed')
    expect(undone).toEqual(['pay', 'hotel'])
    expect(await fresh.deadLetters({ workflowId: wf.id })).toMatchObject([{ step: 'flight', kind: 'compensate' }])
  })
})

/** Somebody is asked, and something waits for a message; the next version has lost both, and the one after it has them again. */
function askings() {
  const name = `Asking ${++types}`
  const version = (asks: boolean, last = false) =>
    class Asking extends Workflow {
      static {
        this.named(name)
        this.step('enter')
        if (asks) {
          this.human('approve', { deadline: '30 days' })
          this.waitFor('paid', { dependsOn: 'enter' })
        }
        this.step('end')
        if (last) this.step('last')
      }
      async enter() {}
      async approve(_: Decision) {}
      async paid(_: Signal) {}
      async end() {}
      async last() {}
    }
  return { V1: version(true) as Version, V2: version(false) as Version, V3: version(true, true) as Version }
}

forEachDatabase('a deploy that takes away what waits for people or a message', database => {
  const under = useGeneva(database, { workflows: [] })

  async function asking(): Promise<Deployed & { V3: Version }> {
    const { V3, ...versions } = askings()
    const { wf, fresh } = await deployOver(under, versions)
    expect((await wf.currentExecutions()).map(({ step, state }) => `${step} ${state}`).sort()).toEqual([
      'approve waiting',
      'paid waiting',
    ])
    return { wf, fresh, V3 }
  }

  const missing = { state: 'failed', outcome: 'paused_by_exception', error: { className: 'StepMissingError' } }

  it('lets it fail there and pause at once, as the check has said', async () => {
    const { wf, fresh } = await asking()
    const { findings, ok } = await fresh.check()
    expect(ok).toBe(false)
    expect(findings.filter(({ examples }) => examples.includes(wf.id))).toMatchObject([
      {
        verdict: 'orphaned',
        what: 'It stands at approve, paid, which the code does not have. It will fail there and pause.',
      },
    ])
    await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    expect(await wf.currentExecutions()).toEqual([])
    expect((await wf.history()).filter(({ state }) => state === 'failed')).toMatchObject([missing, missing])
    expect((await wf.explain()).sentence).toContain('approve')
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
    // And goes on when somebody has settled both.
    await wf.skip('approve')
    await wf.resolve('paid')
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('lets it fail when a paused workflow is resumed', async () => {
    const { wf, fresh } = await asking()
    await wf.pause()
    await wf.resume()
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).filter(({ state }) => state === 'failed').map(({ step }) => step)).toContain('approve')
    await wf.skip('approve')
    await wf.skip('paid')
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('asks again where the code comes back, and somebody resumes', async () => {
    const { wf, fresh, V3 } = await asking()
    await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.refresh()).state === 'paused')
    await fresh.close()
    const back = under.another({ workflows: [V3] })
    onTestFinished(() => back.close())
    await back.resume(wf.id)
    await back.runDue(quickly)
    const again = (await back.find(wf.id)) as WorkflowHandle<any>
    expect(
      (await again.currentExecutions()).map(({ step, state, attempt }) => `${step} ${state} ${attempt}`).sort(),
    ).toEqual(['approve waiting 2', 'paid waiting 2'])
    await again.decide('approve', { by: 'ann', decision: 'confirmed' })
    await again.signal('paid')
    await back.runDue(quickly)
    expect((await again.refresh()).state).toBe('finished')
    expect(await again.verifyHistory()).toBeNull()
  })
})

type Kind = 'human' | 'signal' | 'step' | 'each' | 'condition' | 'savePoint'
let called: string[] = []

/** The same node is of another kind in the next version. */
function changelings(before: Kind, after: Kind) {
  const name = `Changeling ${++types}`
  const version = (kind: Kind, deployed: boolean) =>
    class Changeling extends Workflow {
      static {
        this.named(name)
        this.step('enter')
        if (kind === 'human') this.human('approve' as never, { deadline: '30 days' })
        if (kind === 'signal') this.waitFor('approve' as never, { timeout: '30 days' })
        if (kind === 'step') this.step('approve')
        if (kind === 'each') this.each('approve' as never, { items: 'parts' } as never)
        if (kind === 'savePoint') this.savePoint('approve')
        if (kind === 'condition') {
          this.condition('approve', {
            then: b => b.step('accepted'),
            else: b => b.step('refused'),
          })
        }
        this.step('end')
      }
      parts() {
        return [1, 2]
      }
      async enter() {}
      async approve(_?: unknown): Promise<any> {
        called.push(deployed ? 'new' : 'old')
        if (!deployed) await gates.stop('approve', new AbortController().signal)
        return true
      }
      async accepted() {
        called.push('accepted')
      }
      async refused() {
        called.push('refused')
      }
      async end() {}
    }
  return { V1: version(before, false) as Version, V2: version(after, true) as Version }
}

forEachDatabase('a deploy that makes another kind of node of one', database => {
  const under = useGeneva(database, { workflows: [] })

  async function expectSound(wf: WorkflowHandle<any>, fresh: Geneva): Promise<void> {
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.currentExecutions()).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  it.each([
    ['human', 'step'],
    ['signal', 'step'],
    ['human', 'each'],
    ['human', 'condition'],
    ['human', 'savePoint'],
  ] as const)('runs what waited as a node of the kind %s as one of the kind %s', async (before, after) => {
    called = []
    const { wf, fresh } = await deployOver(under, changelings(before, after))
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['waiting'])
    const { findings } = await fresh.check()
    const finding = findings.find(({ examples }) => examples.includes(wf.id))
    expect(finding?.verdict).toBe('heals')
    if (after === 'step')
      expect(finding?.what).toMatch(/approve waits for nobody any more, and is run as what it is now\.$/)
    await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    await expectSound(wf, fresh)
    expect(called).toEqual(
      { step: ['new'], each: ['new', 'new'], condition: ['new', 'accepted'], savePoint: [] }[after],
    )
    const timers = (await wf.events()).map(({ type }) => type).filter(type => type.startsWith('timer.'))
    expect(timers).toEqual(['timer.scheduled', 'timer.canceled'])
  })

  it('is held while the workflow is paused, and runs when it is resumed', async () => {
    called = []
    const { wf, fresh } = await deployOver(under, changelings('human', 'step'))
    await wf.pause()
    await fresh.runDue(quickly)
    expect(called).toEqual([])
    await wf.resume()
    await fresh.runDue(quickly)
    expect(called).toEqual(['new'])
    await expectSound(wf, fresh)
  })

  it('asks nobody where old code comes to a node that is a step by now', async () => {
    gates = new Gates()
    called = []
    const { V1, V2 } = arrivals()
    const old = under.another({ workflows: [V1] })
    const fresh = under.another({ workflows: [V2] })
    onTestFinished(async () => {
      gates.open('reach')
      await Promise.all([old.close(), fresh.close()])
    })
    const { id } = await old.start(V1 as ConcreteClass<Workflow>)
    await old.startWorker(quickly)
    await gates.arrived('reach')
    const wf = (await fresh.find(id)) as WorkflowHandle<any>
    // It is in line with the new code before the old reports that it waits.
    await wf.pause()
    await wf.resume()
    expect((await wf.events()).map(({ type }) => type)).toContain('workflow.healed')
    gates.open('reach')
    await waitFor(async () => (await wf.currentExecutions()).every(({ state }) => state === 'scheduled'))
    expect(called).toEqual([])
    await fresh.startWorker(quickly)
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(called).toEqual(['new'])
    await expectSound(wf, fresh)
  })

  it('asks anew what was a step while old code ran, and takes one branch', async () => {
    gates = new Gates()
    called = []
    const { V1, V2 } = changelings('step', 'condition')
    const old = under.another({ workflows: [V1] })
    const fresh = under.another({ workflows: [V2] })
    onTestFinished(async () => {
      gates.open('approve')
      await Promise.all([old.close(), fresh.close()])
    })
    const { id } = await old.start(V1 as ConcreteClass<Workflow>)
    await old.startWorker(quickly)
    await gates.arrived('approve')
    const wf = (await fresh.find(id)) as WorkflowHandle<any>
    await wf.pause()
    await wf.resume()
    await fresh.startWorker(quickly)
    gates.open('approve')
    await waitFor(async () => (await wf.refresh()).state === 'finished')
    expect(called).toEqual(['old', 'new', 'accepted'])
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(
      expect.arrayContaining(['approve reattempted', 'approve success', 'accepted success', 'refused not_taken']),
    )
    await expectSound(wf, fresh)
  })
})

/** Old code is about to ask people when the next version does not any more. */
function arrivals() {
  const name = `Arrival ${++types}`
  const version = (asks: boolean) =>
    class Arrival extends Workflow {
      static {
        this.named(name)
        if (asks) this.human('approve' as never, { if: 'isReached' } as never)
        else this.step('approve')
      }
      async isReached() {
        await gates.stop('reach', new AbortController().signal)
        return true
      }
      async approve(_?: unknown) {
        called.push(asks ? 'old' : 'new')
      }
    }
  return { V1: version(true) as Version, V2: version(false) as Version }
}
