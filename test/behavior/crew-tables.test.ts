/**
 * The tables of sagas: how often code is called, what becomes of steps and workflows after a failure, a cancel, an abort, a no
 * and a dead letter, which way a condition takes, who may do what in which state, and which events tell of it. The same with
 * one worker and with eight instances that share the database.
 */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type GraphBuilder, isGenevaError, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

type Any = WorkflowHandle<any>
const log = new Map<string, string[]>()
const callsOf = ({ id }: { readonly id: string }) => log.get(id) ?? []
const times = ({ id }: Any, name: string) => callsOf({ id }).filter(call => call === name).length

interface Args {
  /** How often it throws. */
  readonly throws?: number
}

function call(id: string, name: string, throws: number): void {
  const before = log.get(id) ?? []
  log.set(id, [...before, name])
  if (before.filter(each => each === name).length < throws) throw new Error(`${name} broke`)
}

const work = defineJob('crew work', { onException: 'rollback' }, async (args: Args, job) => {
  const { throws = 0 } = { ...args, ...(job.execution.input as Args | undefined) }
  call(job.workflowId, job.node.name, throws)
  return { inventory_count: 3, from: job.node.name }
})
const undo = defineJob('crew undo', async (_: Args, job) => call(job.workflowId, `undo ${job.node.name}`, 0))
const badUndo = defineJob('crew bad undo', async (_: Args, job) => call(job.workflowId, `undo ${job.node.name}`, 2))

/** Code that only some services have. */
class Shipping extends Workflow {
  static {
    this.named('crew shipping')
    this.step('ship')
  }
  async ship() {
    call(this.id, 'ship', 0)
  }
}
class Paying extends Workflow {
  static {
    this.named('crew paying')
    this.step('pay')
  }
  async pay() {
    call(this.id, 'pay', 0)
  }
}

const soon = { backoff: 'fixed', delay: 0, jitter: false } as const
const ever = 99
const broken = { job: work, args: { throws: ever } } as const

forEachDatabase('the tables of sagas', database => {
  const under = useGeneva(database, { jobs: [work, undo, badUndo], workflows: [Shipping, Paying] })
  beforeEach(() => log.clear())

  const start = async (describe: (w: GraphBuilder) => void, input: object = {}): Promise<Any> =>
    under.geneva.startGraph(under.geneva.build(describe), { input })
  const ends = async (wf: Any, state: string): Promise<Any> => {
    await waitFor(async () => (await wf.refresh()).state === state, 30_000)
    return wf
  }
  const statesOf = async (wf: Any) =>
    Object.fromEntries((await wf.nodesWithState()).map(({ name, state }) => [name, state as string]))
  const eventsOf = async (wf: Any) => (await wf.events()).map(({ type }) => type as string)
  const waits = (wf: Any) =>
    waitFor(async () => (await wf.currentExecutions()).some(row => row.state === 'waiting'), 30_000)

  /** So many calls in all; one for what is called once, step or compensation; a compensation has its own. */
  async function calls(): Promise<void> {
    for (const attempts of [1, 3]) {
      const wf = await ends(await start(w => w.node('step', { ...broken, retry: { attempts, ...soon } })), 'failed')
      expect(times(wf, 'step')).toBe(attempts)
    }
    const once = await ends(await start(w => w.node('step', { ...broken, idempotent: false })), 'failed')
    expect(times(once, 'step')).toBe(1)
    const charged = await start(w => {
      w.node('charge', { job: work, compensate: { job: badUndo, retry: { attempts: 3, ...soon } } })
      w.node('hold', { job: work, compensate: { job: badUndo, idempotent: false } })
      w.node('ship', broken)
    })
    await ends(charged, 'failed')
    expect([times(charged, 'undo charge'), times(charged, 'undo hold')]).toEqual([3, 1])
    expect(await statesOf(charged)).toEqual({ charge: 'rolled_back', hold: 'failed', ship: 'rolled_back' })
    const own = (await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === charged.id)
    expect(own.map(({ step, reason }) => [step, reason])).toEqual([['hold', 'compensation_exhausted']])
    const told = await eventsOf(charged)
    for (const type of ['compensation.started', 'compensation.failed', 'compensation.completed', 'letter.opened'])
      expect(told).toContain(type)
  }

  /** A failure in a branch behind a condition: what was taken is undone, the other way was never gone. */
  async function branches(): Promise<void> {
    const wf = await start(
      w => {
        w.fork('parallel_branch', {
          first: b =>
            b.condition('check_condition', '{{ gt .count 5 }}', {
              then: c => c.node('next_action', { ...broken, compensate: undo }),
              else: c => c.node('else_action', { job: work, compensate: undo }),
            }),
          second: b => b.node('other_action', { job: work, compensate: undo }),
        })
      },
      { count: 7 },
    )
    await ends(wf, 'failed')
    expect(await statesOf(wf)).toMatchObject({ next_action: 'rolled_back', check_condition: 'rolled_back' })
    expect((await statesOf(wf)).else_action).toBe('not_taken')
    expect([times(wf, 'undo next_action'), times(wf, 'undo else_action')]).toEqual([1, 0])
  }

  /** Joins wait for what was taken; all for all of it, any for the first. */
  async function joins(): Promise<void> {
    const forked = (w: GraphBuilder) => {
      w.fork('parallel_branch', {
        first: b => {
          b.node('branch1_step1', { job: work })
          b.condition('branch1_condition', '{{ gt .count 5 }}', {
            then: c => c.node('branch1_next', { job: work }),
            else: c => c.node('branch1_else', { job: work }),
          })
        },
        second: b => {
          b.node('branch2_step1', { job: work })
          b.condition('branch2_condition', '{{ lt .count 3 }}', {
            then: c => c.node('branch2_next', { job: work }),
            else: c => c.node('branch2_else', { job: work }),
          })
        },
      })
      w.node('after', { job: work })
    }
    for (const [count, taken] of [
      [6, ['branch1_next', 'branch2_else']],
      [2, ['branch1_else', 'branch2_next']],
      [4, ['branch1_else', 'branch2_else']],
    ] as const) {
      const wf = await ends(await start(forked, { count }), 'finished')
      const called = callsOf(wf)
      expect(called.at(-1)).toBe('after')
      expect(called.filter(name => /_(next|else)$/.test(name)).toSorted()).toEqual(taken)
    }
    const all = await start(w => {
      w.parallel('parallel_group', b => [b.node('task1', { job: work }), b.node('task2', { job: work })])
      w.node('after', { job: work })
    })
    expect(callsOf(await ends(all, 'finished')).toSorted()).toEqual(['after', 'task1', 'task2'])
    const any = await start(w => {
      w.parallel('group', b => [b.node('quick', { job: work }), b.waitFor('never')], { join: 'any' })
      w.node('after', { job: work })
    })
    expect(callsOf(await ends(any, 'finished'))).toEqual(['quick', 'after'])
    const failed = await start(w => {
      w.parallel('group', b => [b.node('fine', { job: work }), b.node('bad', broken)])
      w.node('after', { job: work })
    })
    expect(times(await ends(failed, 'failed'), 'after')).toBe(0)
  }

  /** Each of the six functions, a nested field, a number that is missing, a text. */
  async function conditions(): Promise<void> {
    const tests: readonly (readonly [string, boolean])[] = [
      ['{{ eq .count 5 }}', true],
      ['{{ ne .status "active" }}', false],
      ['{{ gt .amount 100 }}', true],
      ['{{ lt .price 50 }}', true],
      ['{{ ge .user.age 18 }}', true],
      ['{{ le .count 4 }}', false],
      ['{{ gt .missing 0 }}', false],
      ['{{ eq .step_name "test7" }}', true],
      ['{{ gt .balance 100 }}', false],
    ]
    const wf = await start(
      w => {
        w.parallel('all', b =>
          tests.map(([test], index) =>
            b.condition(`test${index}`, test, {
              then: c => c.node(`yes${index}`, { job: work }),
              else: c => c.node(`no${index}`, { job: work }),
            }),
          ),
        )
      },
      { count: 5, status: 'active', amount: 100.5, price: 49, user: { age: 18 }, balance: 100 },
    )
    await ends(wf, 'finished')
    expect(callsOf(wf).toSorted()).toEqual(tests.map(([, is], index) => `${is ? 'yes' : 'no'}${index}`).toSorted())
  }

  /** A decision is kept; a no aborts and nothing follows; who may still be asked after that, and what a cancel does. */
  async function people(): Promise<void> {
    const approval = (w: GraphBuilder) => {
      w.node('process', { job: work, compensate: undo })
      w.human('approval')
      w.node('approve', { job: work })
      w.human('second')
    }
    const rejected = await start(approval)
    await waits(rejected)
    await rejected.decide('approval', { by: 'manager@company.com', decision: 'rejected', comment: 'not yet' })
    await ends(rejected, 'aborted')
    expect(await statesOf(rejected)).toEqual({
      ...{ process: 'completed', approval: 'canceled' },
      ...{ approve: 'pending', second: 'pending' },
    })
    const [kept] = await rejected.decisions()
    expect(kept).toMatchObject({ by: 'manager@company.com', decision: 'rejected', comment: 'not yet' })
    expect(kept?.at).toBeInstanceOf(Date)
    const canceled = await start(approval)
    await waits(canceled)
    await canceled.decide('approval', { by: 'ann', decision: 'confirmed' })
    await waitFor(async () => (await statesOf(canceled)).second === 'waiting', 30_000)
    await canceled.cancel({ by: 'admin@company.com', reason: 'User requested cancellation' })
    await ends(canceled, 'canceled')
    expect(await statesOf(canceled)).toEqual({
      ...{ process: 'rolled_back', approval: 'rolled_back' },
      ...{ approve: 'rolled_back', second: 'skipped' },
    })
    const told = (await canceled.events()).filter(({ type }) => type.startsWith('workflow.'))
    expect(told.map(({ type }) => type)).toEqual(['workflow.started', 'workflow.rolling_back', 'workflow.canceled'])
    expect(told[1]).toMatchObject({ by: 'admin@company.com', reason: 'User requested cancellation' })
  }

  /** Cancel and abort in every state: while it is active yes, at its end no. */
  async function control(): Promise<void> {
    const waiting = (w: GraphBuilder) => {
      w.node('done', { job: work, compensate: undo })
      w.human('approval')
    }
    const ended: [Any, string][] = []
    for (const how of ['cancel', 'abort'] as const) {
      const wf = await start(waiting)
      await waits(wf)
      await wf[how]({ by: 'system@company.com', reason: 'Critical error detected' })
      await ends(wf, how === 'cancel' ? 'canceled' : 'aborted')
      expect(times(wf, 'undo done')).toBe(how === 'cancel' ? 1 : 0)
      expect((await statesOf(wf)).approval).toBe('skipped')
      const last = (await wf.events()).findLast(({ type }) => type.startsWith('workflow.'))
      expect(last).toMatchObject({ by: 'system@company.com', reason: 'Critical error detected' })
      ended.push([wf, wf.state])
    }
    ended.push([await ends(await start(w => w.node('only', { job: work })), 'finished'), 'finished'])
    ended.push([await ends(await start(w => w.node('only', broken)), 'failed'), 'failed'])
    for (const [wf, state] of ended) {
      for (const how of ['cancel', 'abort'] as const) {
        const refused = await wf[how]().then(
          () => null,
          (error: unknown) => error,
        )
        expect(isGenevaError(refused, 'INVALID_STATE')).toBe(true)
      }
      expect((await wf.refresh()).state).toBe(state)
    }
  }

  /** Nothing is undone; the letter tells all; with the same or another input the work goes on; a cancel closes it. */
  async function letters(): Promise<void> {
    const payment = (w: GraphBuilder) => {
      w.node('validate', { job: work, compensate: undo, retry: { attempts: 2, ...soon } })
      w.node('process', { job: work, args: { throws: ever }, retry: { attempts: 3, ...soon }, onException: 'dlq' })
      w.node('notify', { job: work })
    }
    const letterOf = async (wf: Any) => {
      await ends(wf, 'dlq')
      return waitFor(async () => (await under.geneva.deadLetters()).find(({ workflowId }) => workflowId === wf.id))
    }
    const fixed = await start(payment)
    const letter = await letterOf(fixed)
    expect(letter).toMatchObject({ reason: 'retries_exhausted', error: { message: 'process broke' } })
    expect(callsOf(fixed)).toEqual(['validate', 'process', 'process', 'process'])
    expect((await statesOf(fixed)).process).toBe('paused')
    await under.geneva.requeue(letter.id, { input: { throws: 0 } })
    await ends(fixed, 'finished')
    expect(callsOf(fixed).slice(4)).toEqual(['process', 'notify'])
    const canceled = await start(payment)
    await letterOf(canceled)
    await canceled.cancel()
    await ends(canceled, 'canceled')
    expect(times(canceled, 'undo validate')).toBe(1)
    expect((await under.geneva.deadLetters()).filter(({ workflowId }) => workflowId === canceled.id)).toEqual([])
  }

  /** Each takes only what it has the code for, and nothing is bounced. */
  async function services(): Promise<void> {
    const all = [await under.geneva.start(Paying), await under.geneva.start(Shipping)]
    for (const wf of all) {
      await ends(wf, 'finished')
      expect((await wf.history()).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([[1, 'success']])
      expect((await eventsOf(wf)).filter(type => type === 'step.released')).toEqual([])
    }
  }

  it.each([1, 8])('hold with a crew of %i', { timeout: 120_000 }, async size => {
    const jobs = [work, undo, badUndo]
    const crew = Array.from({ length: size }, (_, index) => {
      const some = [Shipping, Paying].filter((_, which) => size === 1 || which === index % 2)
      return under.another({ jobs, workflows: some })
    })
    const options = { poll: 20, grace: 0, concurrency: size === 1 ? 50 : 8 } as const
    const workers = await Promise.all(crew.map(geneva => geneva.startWorker(options)))
    try {
      await Promise.all([calls, branches, joins, conditions, people, control, letters, services].map(table => table()))
    } finally {
      await Promise.all(workers.map(worker => worker.stop()))
    }
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
