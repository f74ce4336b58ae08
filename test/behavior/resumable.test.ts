/** Resumable steps: they stop between any two items and go on exactly there, with everything that they had noted. */
import { beforeAll, expect, it } from 'vitest'
import { type Iteration, type NestedCursor, Workflow, type WorkflowHandle } from '../../src/index.ts'
import type { Progress } from '../../src/store/records.ts'
import { forEachDatabase } from '../support/databases.ts'
import { type GenevaUnderTest, quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

/** What the steps have done, by workflow: one list per run. */
const runsOf = new Map<string, unknown[][]>()

function newRun(workflow: Workflow<any, any>): unknown[] {
  const runs = runsOf.get(workflow.id) ?? []
  const run: unknown[] = []
  runs.push(run)
  runsOf.set(workflow.id, runs)
  return run
}

class Numbers extends Workflow {
  static {
    this.resumableStep('threes', { yieldEvery: 3 })
    this.step('after')
  }
  async threes(iter: Iteration<number>) {
    const run = newRun(this)
    expect(iter.description).toBe(`at 'threes', cursor ${iter.cursor}`)
    for await (const item of iter.over([1, 2, 3, 4, 5, 6, 7])) run.push(item)
    return run.length
  }
  async after() {
    return await this.output(this.threes)
  }
}

class Ledger extends Workflow {
  static {
    this.resumableStep('book', { yieldEvery: 2 })
  }
  async book(iter: Iteration<NestedCursor<number, string>>) {
    const run = newRun(this)
    const accounts = [1, 2, 3, 4].map(id => ({ id }))
    const fetch = (after: number | null) => accounts.filter(account => account.id > (after ?? 0))
    for await (const [account, inner] of iter.nested(fetch, a => a.id)) {
      const refs = account.id === 2 ? [] : ['a', 'b', 'c']
      for await (const ref of inner.records(
        (after, limit) => refs.filter(r => r > (after ?? '')).slice(0, limit),
        r => r,
      )) {
        run.push(`${account.id}${ref}`)
      }
    }
  }
}

const cursors: Record<string, unknown> = {
  integer: 42,
  bigint: 12_345_678_901_234_567_890n,
  string: 'töken "1"\n\u0000',
  date: new Date('2026-11-15T12:00:00.123Z'),
  array: [new Date(0), 5n, 'x', null],
  object: { page: 3, token: 'abc' },
  nested: { done: null, at: [new Date(1), 2n], inner: { id: '7' } },
  null: null,
}

class Remembering extends Workflow<null, { kind: string; by: 'set' | 'skipTo' | 'reattempt' }> {
  static {
    this.resumableStep('remember')
  }
  async remember(iter: Iteration<unknown>) {
    newRun(this).push(iter.cursor, iter.resumed, iter.advanced)
    if (iter.resumed) return
    const cursor = cursors[this.input.kind]
    if (this.input.by === 'skipTo') await iter.skipTo(cursor)
    await iter.set(cursor)
    expect(iter.advanced).toBe(true)
    if (this.input.by === 'reattempt') this.reattempt()
    await iter.suspend()
  }
}

class Unstorable extends Workflow<null, { kind: 'large' | 'function' }> {
  static {
    this.resumableStep('fail', { onException: 'skip' })
  }
  async fail(iter: Iteration<unknown>) {
    await iter.set(1)
    await iter.set(this.input.kind === 'large' ? 'x'.repeat(64 * 1024) : () => 1)
  }
}

class Counting extends Workflow {
  static {
    this.resumableStep('count', { yieldEvery: 2 })
  }
  async count(iter: Iteration<number>) {
    newRun(this).push(iter.cursor)
    iter.progress({ total: 5 })
    while ((iter.cursor ?? 0) < 5) await iter.advance({ start: 0 })
  }
}

class Waiting extends Workflow<null, { by: 'suspend' | 'skipTo' }> {
  static {
    this.resumableStep('poll')
  }
  async poll(iter: Iteration<string>) {
    newRun(this).push(iter.cursor)
    if (iter.resumed) return
    if (this.input.by === 'skipTo') await iter.skipTo('token', { wait: '1 hour' })
    await iter.suspend({ wait: '1 hour' })
  }
}

/** The same class as two deploys have it, each with a limit of its own. */
function limitedTo(maxIterations: number) {
  return class extends Workflow<null, { byHand: boolean }> {
    static {
      this.named('Limited')
      this.resumableStep('loop', { maxIterations, yieldEvery: 2 })
    }
    async loop(iter: Iteration<number>) {
      const run = newRun(this)
      if (!this.input.byHand) return iter.over([0, 1, 2, 3, 4], item => run.push(item))
      for (let i = iter.cursor ?? 0; i < 5; i++) {
        run.push(i)
        await iter.set(i + 1)
      }
    }
  }
}

class Hurried extends Workflow {
  static {
    this.resumableStep('run', { maxRuntime: 20 })
  }
  async run(iter: Iteration<number>) {
    const run = newRun(this)
    await iter.over([1, 2, 3], async item => {
      run.push(item)
      await new Promise(resolve => setTimeout(resolve, 15))
    })
  }
}

const asked = new Map<string, string[]>()
class Conditional extends Workflow<null, { skipIf?: boolean; cancelAt?: number; throwsFirst?: boolean }> {
  static {
    this.cancelIf(wf => wf.note('cancelIf') === wf.input.cancelAt)
    this.resumableStep('step', { skipIf: 'shouldSkip', yieldEvery: 1, onException: { policy: 'reattempt', limit: 3 } })
  }
  note(what: string): number {
    const all = asked.get(this.id) ?? []
    all.push(what)
    asked.set(this.id, all)
    return all.filter(each => each === what).length
  }
  shouldSkip() {
    const times = this.note('skipIf')
    if (this.input.throwsFirst && times === 1) throw new Error('cannot say yet')
    return this.input.skipIf === true || times > (this.input.throwsFirst ? 2 : 1)
  }
  async step(iter: Iteration<number>) {
    const run = newRun(this)
    await iter.over(['a', 'b', 'c'], item => run.push(item))
  }
}

class Empty extends Workflow {
  static {
    this.resumableStep('nothing')
  }
  async nothing(iter: Iteration<number>) {
    newRun(this)
    for await (const _ of iter.records(
      () => [],
      () => 1,
    ));
  }
}

/** The same class as two deploys have it. */
function unwanted(deployed: boolean) {
  return class extends Workflow<null, { wanted: boolean }> {
    static {
      this.named('Unwanted')
      this.resumableStep('send', { if: wf => wf.input.wanted })
      if (deployed) this.step('later')
    }
    async send(iter: Iteration<number>) {
      newRun(this).push(iter.resumed)
    }
    async later() {}
  }
}

const workflows = [Numbers, Ledger, Remembering, Unstorable, Counting, Waiting, Hurried, Conditional, Empty]

/** Another database gives the same ids again. */
function forget(): void {
  runsOf.clear()
  asked.clear()
}

async function ended(wf: WorkflowHandle<any>): Promise<unknown[][]> {
  await wf.waitUntilFinished({ timeout: '10s' })
  return runsOf.get(wf.id) ?? []
}

/** How far each attempt of the workflow has come, the ended ones first. */
async function progressOf(under: GenevaUnderTest, wf: WorkflowHandle<any>): Promise<Progress[]> {
  const store = await under.geneva.openedStore()
  return [...(await store.history(wf.id)), ...(await store.activeExecutions(wf.id))].map(row => row.progress)
}

forEachDatabase('a resumable step', database => {
  const under = useGeneva(database, { workflows, worker: true })
  beforeAll(forget)

  it('yields after so many items: 7 items by 3 are runs of 3, 3 and 1, in one attempt', async () => {
    const wf = await under.geneva.start(Numbers)
    expect(await ended(wf)).toEqual([[1, 2, 3], [4, 5, 6], [7]])
    expect(await wf.history()).toMatchObject([
      { step: 'threes', attempt: 1, state: 'completed', outcome: 'success' },
      { step: 'after', attempt: 1, state: 'completed' },
    ])
    expect(await wf.output('threes')).toBe(1)
    expect(await wf.output('after')).toBe(1)
  })

  it('records why it stopped, and from where it went on', async () => {
    const wf = await under.geneva.start(Numbers)
    await ended(wf)
    // It begins with its workflow, in the worker that is there, or stands in line before.
    const events = (await wf.events()).filter(({ node, type }) => node === 'threes' && type !== 'step.scheduled')
    expect(['scheduled', null]).toContain(events[0]?.from)
    expect(events[0]?.type).toBe('step.started')
    expect(events.slice(1).map(({ type, from, reason }) => [type, from, reason])).toEqual([
      ['step.suspended', 'in_progress', 'yielded after 3 items'],
      ['step.started', 'suspended', null],
      ['step.suspended', 'in_progress', 'yielded after 3 items'],
      ['step.started', 'suspended', null],
      ['step.completed', 'in_progress', null],
    ])
  })

  it('resumes at both levels of a nested iteration', async () => {
    const wf = await under.geneva.start(Ledger)
    expect((await ended(wf)).flat()).toEqual(['1a', '1b', '1c', '3a', '3b', '3c', '4a', '4b', '4c'])
    expect(runsOf.get(wf.id)).toHaveLength(5)
  })

  it('over nothing completes at once, with no iteration', async () => {
    const wf = await under.geneva.start(Empty)
    expect(await ended(wf)).toEqual([[]])
    expect(await progressOf(under, wf)).toEqual([{ cursor: null, completedIterations: 0, total: null, runs: 1 }])
  })

  it.each(Object.keys(cursors))('gets its cursor back with its type: %s', async kind => {
    for (const by of ['set', 'skipTo', 'reattempt'] as const) {
      const wf = await under.geneva.start(Remembering, { input: { kind, by } })
      expect(await ended(wf)).toStrictEqual([
        [null, false, false],
        [cursors[kind], true, false],
      ])
    }
  })

  it.each([
    ['large', 'ValueTooLargeError'],
    ['function', 'UnstorableValueError'],
  ] as const)(
    'that sets a cursor which cannot be stored (%s) has thrown, and keeps the one before',
    async (kind, name) => {
      const wf = await under.geneva.start(Unstorable, { input: { kind } })
      await ended(wf)
      expect(await wf.history()).toMatchObject([{ outcome: 'skipped_by_exception', error: { className: name } }])
      expect(await progressOf(under, wf)).toMatchObject([{ cursor: '1', completedIterations: 1 }])
    },
  )

  it('shows count and total while it goes on and when it is done', async () => {
    const wf = await under.geneva.start(Counting)
    const first = await waitFor(async () => (await progressOf(under, wf)).find(row => row.completedIterations > 0))
    expect(first.total).toBe(5)
    expect(await ended(wf)).toEqual([[null], [2], [4]])
    expect(await progressOf(under, wf)).toEqual([{ cursor: '5', completedIterations: 5, total: 5, runs: 3 }])
  })

  it.each([
    ['suspend', null],
    ['skipTo', 'token'],
  ] as const)('waits as long as %s says', async (by, cursor) => {
    const wf = await under.geneva.start(Waiting, { input: { by } })
    const [row] = await waitFor(async () => {
      const rows = await wf.currentExecutions()
      return rows[0]?.state === 'suspended' && rows
    })
    expect(Number(row?.scheduledFor) - Number(wf.createdAt)).toBeGreaterThanOrEqual(3_600_000)
    expect(await under.runDue()).toBe(0)
    expect((await wf.refresh()).state).toBe('ready')
    await under.setClock(2 * 3_600_000)
    expect(await ended(wf)).toEqual([[null], [cursor]])
    await under.setClock(0)
  })

  it('gives way after so much time', async () => {
    const wf = await under.geneva.start(Hurried)
    const runs = await ended(wf)
    expect(runs.flat()).toEqual([1, 2, 3])
    expect(runs.length).toBeGreaterThan(1)
    const reasons = (await wf.events()).filter(event => event.type === 'step.suspended').map(event => event.reason)
    expect(new Set(reasons)).toEqual(new Set(['yielded after 20 ms']))
  })

  it('is asked for its own condition once, and for those of the class on every run', async () => {
    const wf = await under.geneva.start(Conditional, { input: {} })
    expect(await ended(wf)).toEqual([['a'], ['b'], ['c'], []])
    expect(asked.get(wf.id)).toEqual(['cancelIf', 'skipIf', 'cancelIf', 'cancelIf', 'cancelIf'])
  })

  it('is skipped by its condition before it has begun', async () => {
    const wf = await under.geneva.start(Conditional, { input: { skipIf: true } })
    expect(await ended(wf)).toEqual([])
    expect(await wf.history()).toMatchObject([{ state: 'skipped', outcome: 'skipped_by_condition' }])
  })

  it('is asked again for its condition when that has thrown', async () => {
    const wf = await under.geneva.start(Conditional, { input: { throwsFirst: true } })
    expect((await ended(wf)).flat()).toEqual(['a', 'b', 'c'])
    expect(asked.get(wf.id)?.filter(what => what === 'skipIf')).toHaveLength(2)
  })

  it('ends with its workflow when a condition of the class comes true between two runs', async () => {
    const wf = await under.geneva.start(Conditional, { input: { cancelAt: 3 } })
    await expect(wf.waitUntilFinished({ timeout: '10s' })).rejects.toMatchObject({ state: 'canceled' })
    expect(runsOf.get(wf.id)).toEqual([['a'], ['b']])
    expect(await wf.history()).toMatchObject([{ state: 'canceled', outcome: 'canceled_by_condition' }])
    expect(await progressOf(under, wf)).toMatchObject([{ cursor: '2', completedIterations: 2 }])
  })
})

forEachDatabase('a resumable step with a limit of iterations', database => {
  const Limited = limitedTo(3)
  const under = useGeneva(database, { workflows: [Limited] })
  beforeAll(forget)

  it.each([
    [false, [[0, 1], [2]]],
    [
      true,
      [
        [0, 1],
        [2, 3],
      ],
    ],
  ])('fails beyond it by its policy, and goes on from its cursor once it may (by hand: %s)', async (byHand, done) => {
    const wf = await under.geneva.start(Limited, { input: { byHand } })
    // As often as it is resumed, it does no other item while the limit stands.
    for (let attempt = 1; attempt <= 3; attempt++) {
      await under.runDue()
      expect((await wf.refresh()).state).toBe('paused')
      expect(await wf.history()).toHaveLength(attempt)
      expect((await wf.history()).at(-1)).toMatchObject({
        state: 'failed',
        outcome: 'paused_by_exception',
        error: { className: 'IterationLimitError' },
      })
      expect(runsOf.get(wf.id)?.filter(run => run.length > 0)).toEqual(done)
      await wf.resume()
    }
    const deployed = under.another({ workflows: [limitedTo(10)] })
    await deployed.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(runsOf.get(wf.id)?.flat()).toEqual([0, 1, 2, 3, 4])
    expect((await progressOf(under, wf)).at(-1)).toMatchObject({ cursor: '5', completedIterations: 5 })
  })
})

forEachDatabase('a resumable step that was claimed and given back unrun', database => {
  const Unwanted = unwanted(false)
  const under = useGeneva(database, { workflows: [Unwanted] })
  beforeAll(forget)

  it.each([
    [true, [[false]], { outcome: 'success' }],
    [false, [], { outcome: 'skipped_by_condition' }],
  ])('by newer code is asked for its condition all the same, and is not resumed (%s)', async (wanted, runs, end) => {
    const { id } = await under.geneva.start(Unwanted, { input: { wanted } })
    const deployed = under.another({ workflows: [unwanted(true)] })
    await deployed.runDue(quickly)
    const wf = await deployed.find(id)
    expect(wf?.state).toBe('finished')
    expect((await wf?.events())?.map(({ type }) => type)).toContain('step.released')
    expect(runsOf.get(id) ?? []).toEqual(runs)
    expect((await wf?.history())?.[0]).toMatchObject({ step: 'send', attempt: 1, ...end })
  })
})
