/** What a node of a graph without a class can say as a step of a class can: `timeout`, `if`, `skipIf`, `alsoDependsOn`. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type GraphBuilder, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let slowFor = 0

const work = defineJob('work', async (args: { returns?: unknown }, job) => {
  calls.push(job.node.name)
  return args.returns ?? {}
})
const skips = defineJob('skips', async (_args, job) => job.skip('nothing to do'))
const openGate = defineJob('openGate', async (_args, job) => {
  calls.push(job.node.name)
  return { open: true }
})
const slow = defineJob(
  'slow',
  { timeout: '1 hour', retry: { attempts: 2, backoff: 'fixed', delay: 0 } },
  (_args, job) => {
    if (job.execution.attempt > slowFor) return 'quick'
    return new Promise<string>(resolve => job.signal.addEventListener('abort', () => resolve('late')))
  },
)

forEachDatabase('a node of a graph without a class', database => {
  const under = useGeneva(database, { jobs: [work, skips, openGate, slow] })
  const start = async (describe: (w: GraphBuilder) => unknown, input: unknown = {}) => {
    const { geneva } = under
    const wf = await geneva.startGraph(
      geneva.build(w => {
        describe(w)
      }),
      { input },
    )
    await under.runDue()
    return wf.refresh()
  }
  const statesOf = async (wf: WorkflowHandle<any>) =>
    Object.fromEntries((await wf.nodesWithState()).map(node => [node.name, node.state]))

  beforeEach(() => {
    calls.length = 0
    slowFor = 0
  })

  it('has a timeout of its own, which counts instead of that of its job, and its retries go on', async () => {
    slowFor = 1
    const wf = await start(w => w.node('call', { job: slow, timeout: '30ms' }))
    expect(wf.state).toBe('finished')
    expect(await wf.output('call')).toBe('quick')
    expect((await wf.history()).map(row => row.outcome)).toEqual(['timed_out', 'success'])
    const twice = await start(w =>
      w.fanOut(['a'], { name: one => one, job: slow, timeout: 30, retry: 1, onException: 'skip' }),
    )
    expect((await twice.history())[0]).toMatchObject({ outcome: 'skipped_by_exception' })
    expect(Object.values((await under.geneva.exportDag(twice.id)).nodes)[0]).toMatchObject({ timeout_ms: 30 })
  })

  it('runs only if its expression is true, in CEL or as a template, and what follows goes on', async () => {
    const describe = (w: GraphBuilder) => {
      w.node('sum', { job: work, args: { returns: { total: 150 } } })
      w.node('review', { job: work, if: 'outputs.sum.total > input.limit' })
      w.node('accept', { job: work, dependsOn: 'sum', skipIf: '{{ gt .total .limit }}' })
      w.node('end', { job: work, dependsOn: ['review', 'accept'] })
    }
    const yes = await start(describe, { limit: 100 })
    expect(yes.state).toBe('finished')
    expect(calls).toEqual(['sum', 'review', 'end'])
    expect(await statesOf(yes)).toEqual({ sum: 'completed', review: 'completed', accept: 'skipped', end: 'completed' })
    const skipped = (await yes.history()).find(row => row.state === 'skipped')
    expect(skipped).toMatchObject({ outcome: 'skipped_by_condition', attempt: 1 })
    const told = (await yes.events()).filter(({ node }) => node === skipped?.node).map(({ type }) => type)
    expect(told.at(-1)).toBe('step.skipped')
    expect(await yes.verifyHistory()).toBeNull()
    calls.length = 0
    expect((await start(describe, { limit: 200 })).state).toBe('finished')
    expect(calls).toEqual(['sum', 'accept', 'end'])
  })

  it('is asked when it is about to run, not when it is scheduled', async () => {
    const wf = await start(w => {
      w.node('gate', { job: openGate })
      w.node('later', { job: work, wait: '1 hour', skipIf: 'outputs.gate.open' })
    })
    expect((await wf.nodesWithState()).map(node => node.state)).toEqual(['completed', 'scheduled'])
    await under.setClock(3_600_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.nodesWithState()).map(node => node.state)).toEqual(['completed', 'skipped'])
    expect(calls).toEqual(['gate'])
  })

  it('can be one of a fan-out, asked about its own arguments', async () => {
    const wf = await start(w => {
      w.fanOut([5, 50, 500], { name: n => `n${n}`, job: work, args: n => ({ returns: n }), if: 'args.returns > 10' })
    })
    expect(wf.state).toBe('finished')
    expect(calls.toSorted()).toEqual(['n50', 'n500'])
  })

  it('is skipped before its arguments are looked for, which may be why', async () => {
    const describe = (w: GraphBuilder) => {
      const found = w.node('find', { job: skips })
      w.node('use', { job: work, args: { returns: found.output }, if: 'has(outputs.find)' })
      w.node('useToo', { job: work, args: { returns: found.output }, skipIf: '{{ .isDone }}', dependsOn: 'find' })
    }
    const wf = await start(describe, { isDone: true })
    expect(wf.state).toBe('finished')
    expect(await statesOf(wf)).toEqual({ find: 'skipped', use: 'skipped', useToo: 'skipped' })
  })

  it('that asks people or waits for a signal is skipped without waiting', async () => {
    const wf = await start(
      w => {
        w.human('approve', { if: 'input.total > 100' })
        w.waitFor('paid', { skipIf: '{{ le .total 100 }}' })
        w.human('check', { if: 'input.total == 5', onReject: 'abort' })
      },
      { total: 5 },
    )
    expect(await statesOf(wf)).toEqual({ approve: 'skipped', paid: 'skipped', check: 'waiting' })
    await wf.decide('check', { decision: 'confirmed', by: 'ann' })
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('fails where its expression has no answer, and its policy acts', async () => {
    const broken = (onException?: 'skip') => (w: GraphBuilder) =>
      w.node('odd', { job: work, if: 'input.total > 100', ...(onException && { onException }) })
    const wf = await start(broken(), { total: 'a lot' })
    expect(wf.state).toBe('paused')
    expect((await wf.history())[0]?.error?.message).toContain('has no answer')
    expect((await start(broken('skip'), { total: 'a lot' })).state).toBe('finished')
    expect(calls).toEqual([])
  })

  it('depends on what was added before it and on what it names besides', async () => {
    const wf = await start(w => {
      const beside = w.node('beside', { job: work, dependsOn: null, wait: '1 hour' })
      w.node('first', { job: work, dependsOn: null })
      w.node('both', { job: work, alsoDependsOn: beside })
    })
    expect(calls).toEqual(['first'])
    await under.setClock(3_600_000)
    await under.runDue()
    await under.setClock(0)
    expect(calls).toEqual(['first', 'beside', 'both'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('keeps all of it through an export and an import', async () => {
    const { geneva } = under
    const built = geneva.build(w => {
      w.node('sum', { job: work, args: { returns: { total: 150 } }, timeout: '2 minutes' })
      w.human('approve', { skipIf: 'outputs.sum.total < 1000' })
      w.node('end', { job: work, if: '{{ gt .count 5 }}', alsoDependsOn: 'sum' })
    })
    const wf = await geneva.startGraph(built, { input: { count: 3 } })
    const exported = await geneva.exportDag(wf.id)
    const again = await geneva.importDag(JSON.stringify(exported))
    expect(again).toEqual(exported)
    expect(again.signature).toBe(built.signature)
    const copy = await geneva.startGraph(again, { input: { count: 7 } })
    await under.runDue()
    expect(await statesOf(await wf.refresh())).toEqual({ sum: 'completed', approve: 'skipped', end: 'skipped' })
    expect(await statesOf(await copy.refresh())).toEqual({ sum: 'completed', approve: 'skipped', end: 'completed' })
  })
})
