/** Control flow in graphs that were built at run time: conditions, forks, joins, people and signals, without any class. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type Decided,
  defineForm,
  defineJob,
  type GraphBuilder,
  InvalidArgumentError,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let failing = new Set<string>()
const hour = 3_600_000

const work = defineJob('work', async (args: { returns?: object }, job) => {
  calls.push(job.node.name)
  if (failing.has(job.node.name)) throw new Error(`${job.node.name} broke`)
  return args.returns ?? {}
})
const report = defineJob('report', async (args: { what: unknown }) => args.what)
const reportDecided = defineJob('reportDecided', async (args: { what: Decided<{ limit: number }> }) => args.what)
const reportParcel = defineJob('reportParcel', async (args: { what: { signedBy: string } }) => args.what)
const approval = defineForm('approval', z.object({ limit: z.number() }))
const parcel = defineForm('parcel', z.object({ signedBy: z.string() }))

forEachDatabase('a graph without a class', database => {
  const under = useGeneva(database, {
    jobs: [work, report, reportDecided, reportParcel],
    forms: [approval, parcel],
  })
  const start = async (describe: (w: GraphBuilder) => unknown, input: unknown = {}) => {
    const wf = await under.geneva.startGraph(
      under.geneva.build(w => {
        describe(w)
      }),
      { input },
    )
    await under.runDue()
    return wf.refresh()
  }
  const statesOf = async (wf: WorkflowHandle<any>) =>
    Object.fromEntries((await wf.nodesWithState()).map(node => [node.name, node.state]))

  beforeEach(async () => {
    calls.length = 0
    failing = new Set()
    await under.setClock(0)
  })

  it('goes the way that a condition in CEL answers, by outputs, input and arguments', async () => {
    const describe = (w: GraphBuilder) => {
      const sum = w.node('sum', { job: work, args: { returns: { total: 150 } } })
      w.condition('large', 'outputs.sum.total > args.limit && input.country == "NL" && args.sum.total == 150', {
        then: b => b.node('review', { job: work }),
        else: b => b.node('accept', { job: work }),
        args: { limit: 100, sum: sum.output },
      })
      w.node('end', { job: work })
    }
    const yes = await start(describe, { country: 'NL' })
    expect(yes.state).toBe('finished')
    expect(calls).toEqual(['sum', 'review', 'end'])
    expect(await yes.output('large')).toBe(true)
    expect(await statesOf(yes)).toMatchObject({ large: 'completed', review: 'completed', accept: 'not_taken' })
    expect(await yes.verifyHistory()).toBeNull()
    calls.length = 0
    const no = await start(describe, { country: 'BE' })
    expect(no.state).toBe('finished')
    expect(calls).toEqual(['sum', 'accept', 'end'])
  })

  it('asks a template about the single parent, then the arguments, then the input, through nested conditions', async () => {
    const describe = (w: GraphBuilder) => {
      w.node('count', { job: work, args: { returns: { count: 7, user: { age: 30 } } } })
      w.condition('many', '{{ gt .count 5 }}', {
        then: b =>
          b.condition('adult', '{{ ge .user.age 18 }}', {
            then: c => c.condition('named', '{{ eq .step_name "named" }}', { then: d => d.node('yes', { job: work }) }),
            else: c => c.node('child', { job: work }),
          }),
        else: b => b.node('few', { job: work }),
        args: { count: 1 },
      })
      w.condition('missing', '{{ lt .nothing 1 }}', { then: b => b.node('zero', { job: work }) })
      w.condition('kind', '{{ eq .product "digital" }}', { else: b => b.node('ship', { job: work }) })
    }
    const wf = await start(describe, { count: 2, product: 'digital' })
    expect(wf.state).toBe('finished')
    expect(calls).toEqual(['count', 'yes', 'zero'])
  })

  it('begins with a condition, a fork or a save point as well as with a job', async () => {
    const wf = await start(
      w => {
        w.condition('first', '{{ .go }}', { then: b => b.node('gone', { job: work }), dependsOn: null })
        w.savePoint('point', { dependsOn: null })
        w.fork(
          'split',
          { a: b => b.node('a', { job: work }), b: b => b.node('b', { job: work }) },
          { dependsOn: null, join: false },
        )
      },
      { go: true },
    )
    expect(wf.state).toBe('finished')
    expect(calls.toSorted()).toEqual(['a', 'b', 'gone'])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('stops at a comparison that has no answer, as its policy says, and goes on once it is skipped or resolved', async () => {
    const describe = (onException?: 'skip') => (w: GraphBuilder) => {
      w.node('sum', { job: work, args: { returns: { total: 'a lot' } } })
      w.condition('large', '{{ gt .total 100 }}', {
        then: b => b.node('review', { job: work }),
        ...(onException && { onException }),
      })
      w.node('end', { job: work })
    }
    const wf = await start(describe())
    expect(wf.state).toBe('paused')
    expect((await wf.history()).at(-1)).toMatchObject({ outcome: 'paused_by_exception' })
    expect((await wf.history()).at(-1)?.error?.message).toContain('compares numbers')
    await wf.skip('large')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['sum', 'end'])
    calls.length = 0
    const answered = await start(describe())
    await expect(answered.resolve('large')).rejects.toThrow(/large is a condition .* `true` or `false`/)
    await expect(answered.resolve('large', { output: 'yes' })).rejects.toThrow(InvalidArgumentError)
    await answered.resolve('large', { output: true, by: 'ann', reason: 'it is a lot' })
    await under.runDue()
    expect((await answered.refresh()).state).toBe('finished')
    expect(calls).toEqual(['sum', 'review', 'end'])
    expect(await answered.output('large')).toBe(true)
    const told = (await answered.events()).find(event => event.outcome === 'resolved')
    expect(told).toMatchObject({ type: 'step.completed', by: 'ann', reason: 'it is a lot' })
    expect(await answered.verifyHistory()).toBeNull()
    calls.length = 0
    expect((await start(describe('skip'))).state).toBe('finished')
    expect(calls).toEqual(['sum', 'end'])
  })

  it('joins all branches of a fork, and only what was taken in them', async () => {
    const wf = await start(
      w => {
        w.fork('both', {
          one: b => {
            b.node('a1', { job: work })
            b.condition('big', '{{ gt .count 5 }}', {
              then: c => c.node('a2', { job: work }),
              else: c => c.node('a3', { job: work }),
            })
          },
          two: b =>
            b.condition('small', '{{ lt .count 3 }}', {
              then: c => c.node('b1', { job: work }),
              else: c => c.node('b2', { job: work }),
            }),
        })
        w.node('end', { job: work })
      },
      { count: 9 },
    )
    expect(wf.state).toBe('finished')
    expect(calls.toSorted()).toEqual(['a1', 'a2', 'b2', 'end'])
    expect(calls.at(-1)).toBe('end')
  })

  it('goes on with any branch, or with whatever is settled', async () => {
    const two = (join: 'any' | 'settled') => (w: GraphBuilder) => {
      w.fork(
        'race',
        { job: b => b.node('quick', { job: work }), person: b => b.waitFor('answer') },
        { dependsOn: null, join },
      )
      w.node('end', { job: work })
    }
    const any = await start(two('any'))
    expect(any.state).toBe('finished')
    expect(await statesOf(any)).toMatchObject({ quick: 'completed', answer: 'canceled', end: 'completed' })
    calls.length = 0
    failing = new Set(['quick'])
    const settled = await start(two('settled'))
    expect(settled.state).toBe('ready')
    await settled.signal('answer', 'yes')
    await under.runDue()
    expect(await settled.refresh()).toMatchObject({ state: 'finished', partial: true })
    expect(calls).toEqual(['quick', 'end'])
  })

  it('waits for people without a worker, and hands on what they decided', async () => {
    const wf = await start(w => {
      const approve = w.human('approve', { form: approval, quorum: 2, prompt: 'Pay?', dependsOn: null })
      w.node('after', { job: reportDecided, args: { what: approve.output } })
    })
    const [waiting] = await wf.currentExecutions()
    expect(waiting?.state).toBe('waiting')
    expect((await wf.explain()).sentence).toContain('approve')
    const decide = (by: string, data: unknown) =>
      under.geneva.decide(waiting?.id ?? '', { decision: 'confirmed', by, comment: `by ${by}`, data })
    await expect(decide('ann', { limit: 'none' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await decide('ann', { limit: 5 })
    await decide('bob', { limit: 7 })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    const bob = { decision: 'confirmed', by: 'bob', comment: 'by bob', data: { limit: 7 } }
    const ann = { decision: 'confirmed', by: 'ann', comment: 'by ann', data: { limit: 5 } }
    expect(await wf.output('approve')).toEqual({ ...bob, decisions: [ann, bob] })
    expect(await wf.output('after')).toEqual({ ...bob, decisions: [ann, bob] })
    expect((await wf.history())[0]).toMatchObject({ outcome: 'confirmed' })
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('takes what people send in where nobody has the form', async () => {
    const wf = await start(w => w.human('approve', { form: approval }))
    const elsewhere = under.another({ jobs: [work] })
    const found = await elsewhere.find(wf.id)
    await found?.decide('approve', { decision: 'confirmed', by: 'ann', data: 'anything' })
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('approve')).toMatchObject({ data: 'anything' })
  })

  it('ends as aborted, or goes back, when a person says no', async () => {
    const aborted = await start(w => w.human('approve'))
    await aborted.decide('approve', { decision: 'rejected', by: 'ann', comment: 'no' })
    expect(aborted.state).toBe('aborted')
    const back = await start(w => {
      const write = w.node('write', { job: work })
      w.human('accept', { onReject: { backTo: write } })
    })
    await back.decide('accept', { decision: 'rejected', by: 'ann' })
    await under.runDue()
    await back.decide('accept', { decision: 'confirmed', by: 'ann' })
    expect(back.state).toBe('finished')
    expect(calls).toEqual(['write', 'write'])
  })

  it('fails as timed out when nobody decides in time, and waits anew when it is resumed', async () => {
    const wf = await start(w => {
      w.human('approve', { deadline: '2 hours', escalate: { after: '1 hour', to: 'lead' } })
      w.node('end', { job: work })
    })
    await under.setClock(1.1 * hour)
    await under.runDue()
    expect((await wf.events()).find(({ type }) => type === 'decision.escalated')).toMatchObject({ reason: 'to lead' })
    await under.setClock(2.1 * hour)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).at(-1)).toMatchObject({
      outcome: 'timed_out',
      error: { className: 'NothingCameError' },
    })
    await wf.resume()
    await under.runDue()
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['waiting'])
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['end'])
  })

  it('waits for a signal, also for one that came early, and hands on its payload', async () => {
    const describe = (w: GraphBuilder) => {
      w.node('send', { job: work, wait: '1 hour' })
      const delivered = w.waitFor('delivered', { payload: parcel, timeout: '2 hours', onTimeout: 'skip' })
      w.waitFor('paid', { dependsOn: null })
      w.join('both', { dependsOn: [delivered, 'paid'] })
      w.node('thank', { job: work })
    }
    const early = await start(describe)
    await expect(early.signal('delivered', {})).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await early.signal('delivered', { signedBy: 'Bob' })
    await early.signal('paid', new Date(0))
    await under.setClock(1.1 * hour)
    await under.runDue()
    expect((await early.refresh()).state).toBe('finished')
    expect(await early.output('delivered')).toEqual({ signedBy: 'Bob' })
    expect(await early.output('paid')).toEqual(new Date(0))
    expect(await early.verifyHistory()).toBeNull()
    const late = await start(describe)
    await late.signal('paid')
    await under.setClock(2.2 * hour)
    await under.runDue()
    await under.setClock(4.3 * hour)
    await under.runDue()
    expect((await late.refresh()).state).toBe('finished')
    expect(await statesOf(late)).toMatchObject({ delivered: 'skipped', thank: 'completed' })
  })

  it('takes a decision while it is paused, and goes on from there when it is resumed', async () => {
    failing = new Set(['broken'])
    const wf = await start(w => {
      w.fork('both', { job: b => b.node('broken', { job: work }), person: b => b.human('approve') })
      w.node('end', { job: work })
    })
    expect(wf.state).toBe('paused')
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    expect(wf.state).toBe('paused')
    failing = new Set()
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is the same graph after it was exported and imported', async () => {
    const wf = await start(w => {
      w.node('sum', { job: work, args: { returns: { total: 150 } } })
      w.condition('large', 'outputs.sum.total > 100', { then: b => b.human('approve', { form: approval }) })
      w.parallel('last', b => [b.waitFor('signal'), b.node('job', { job: work })], { join: 'any' })
    })
    const imported = await under.geneva.importDag(JSON.stringify(await under.geneva.exportDag(wf.id)))
    const copy = await under.geneva.startGraph(imported, {})
    await under.runDue()
    await copy.decide('approve', { decision: 'confirmed', by: 'ann', data: { limit: 1 } })
    await under.runDue()
    expect((await copy.refresh()).state).toBe('finished')
    expect(calls).toEqual(['sum', 'sum', 'job'])
    await wf.cancel()
  })

  it('lets any worker answer and wait, whatever queues and jobs it has', async () => {
    const wf = await under.geneva.startGraph(
      under.geneva.build(w => {
        w.parallel('conditions', b => {
          for (const n of Array.from({ length: 25 }, (_, index) => index))
            b.condition(`c${n}`, `{{ eq .n ${n} }}`, { then: c => c.human(`ask${n}`) })
        })
        w.human('last')
      }),
      { input: { n: 3 } },
    )
    const stranger = under.another({ jobs: [] })
    const queues = { elsewhere: 1 }
    await stranger.runDue({ ...quickly, queues })
    await wf.decide('ask3', { decision: 'confirmed', by: 'ann' })
    await stranger.runDue({ ...quickly, queues })
    await wf.decide('last', { decision: 'confirmed', by: 'ann' })
    expect(wf.state).toBe('finished')
    expect(await under.geneva.queues.list()).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('stops where a run of so many steps stops, also before a node without code', async () => {
    const wf = await under.geneva.startGraph(
      under.geneva.build(w => {
        w.node('one', { job: work })
        w.condition('c', 'true', { then: b => b.node('two', { job: work }) })
      }),
    )
    await under.runDue({ maxSteps: 1 })
    expect(calls).toEqual(['one'])
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('has nothing that the doctor complains about', async () => {
    const waiting = await start(w => {
      w.node('sum', { job: work })
      w.condition('c', 'true', { then: b => b.human('ask') })
    })
    expect((await waiting.currentExecutions()).map(({ state }) => state)).toEqual(['waiting'])
    const { findings } = await under.geneva.doctor()
    expect(findings.filter(({ workflowId }) => workflowId === waiting.id)).toEqual([])
    await waiting.cancel()
  })
})
