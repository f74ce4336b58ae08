/**
 * Readiness as a truth table, on every database: what it calls ready is exactly what a claim takes, whatever the state, the
 * time, the queue and the code; and the conditions hold one by one in workflows that really run.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readinessOf } from '../../src/engine/readiness.ts'
import { Workforce } from '../../src/engine/workforce.ts'
import { type Explanation, PermanentError, Workflow } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { makeOrder, openTestStore } from '../support/open-store.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { chain } from '../unit/engine/facts.ts'

const states = ['scheduled', 'suspended', 'in_progress', 'waiting', 'paused'] as const
const dues = [-60_000, 0, 60_000] as const
const handlers = ['Served', 'Unserved'] as const
const queues = ['default', 'elsewhere'] as const
const generations = [1, 2, 3] as const

interface Row {
  readonly state: (typeof states)[number]
  readonly inMs: number
  readonly handler: string
  readonly queue: string
  readonly generation: number
}

/** Every combination there is. */
const table: readonly Row[] = states.flatMap(state =>
  dues.flatMap(inMs =>
    handlers.flatMap(handler =>
      queues.flatMap(queue => generations.map(generation => ({ state, inMs, handler, queue, generation }))),
    ),
  ),
)

const serves = { queues: ['default'], generations: { Served: 2 } }

forEachDatabase('readiness', database => {
  let store: Store
  beforeAll(async () => {
    store = await openTestStore(database)
  })
  afterAll(() => store.close())

  it('calls ready exactly what a claim of the live workers takes', async () => {
    await store.registerWorker({ id: 'w1', host: 'here', pid: 1, leaseMs: 60_000, handlers: ['Served'], serves })
    await store.registerWorker({ id: 'gone', host: 'there', pid: 2, leaseMs: -1000, handlers: ['Unserved'] })
    const orders = await Promise.all(
      table.map(({ inMs, ...row }) =>
        makeOrder(store, {
          generation: row.generation,
          first: { ...row, due: { inMs }, owner: row.state === 'in_progress' ? 'w1' : null },
        }),
      ),
    )
    await store.start(orders)
    const facts = await store.readiness(orders.map(({ id }) => id))
    const workers = new Workforce(facts.workers)
    const around = { graph: chain('one', 'two'), now: facts.now, workers, attemptsOf: () => null }
    const ready = facts.workflows
      .filter(standing => readinessOf(standing, around)[0]?.ready)
      .map(({ workflow }) => workflow.id)
    const claimed = await store.claim({
      workerId: 'w1',
      sources: [{ queue: 'default', handler: 'Served', generation: 2 }],
      limit: 1000,
    })
    expect(ready.toSorted()).toEqual(claimed.map(({ workflow }) => workflow.id).toSorted())
    // Two states, two times that have come, and two generations.
    expect(ready).toHaveLength(8)
  })

  it('reads every fact that it is told from in one look, of the workflows that were asked for alone', async () => {
    const parent = await makeOrder(store, { first: { node: 'one', failures: 2, attempt: 3, input: '{"child":"1"}' } })
    await store.start([parent])
    const child = await makeOrder(store, { parent: { workflowId: parent.id, node: 'one', timerId: parent.id } })
    const other = await makeOrder(store)
    await store.start([child, other])
    await store.change([{ workflowId: parent.id }], ({ workflow, active: [row] }) => {
      if (!row) throw new Error('no row')
      const { blockedBy, finishing, rollback, partial, rounds, crooked, openLetters, generation, frozen } = workflow
      return {
        workflowId: parent.id,
        update: {
          state: 'paused',
          pauseCause: 'request',
          blockedBy,
          finishing,
          rollback,
          partial,
          rounds,
          crooked,
          openLetters,
          generation,
          frozen,
        },
        undone: [],
        stops: [],
        messages: { decisions: [], signals: [], taken: [] },
        endings: [
          {
            execution: { ...row, id: child.first[0]?.id ?? '', node: 'zero', attempt: 4 },
            state: 'failed',
            outcome: 'paused_by_exception',
            error: { className: 'TypeError', message: 'not a number', stack: 'long' },
            reason: 'because',
            output: null,
          },
        ],
        replacements: [],
        insertions: [],
        dropped: [],
        removals: [],
        moves: [],
        fanIns: { inserted: [{ node: 'end', open: 2 }], updated: [], removed: [], cleared: false },
        continuation: null,
        wakes: false,
        graph: null,
        letters: { opened: [], closed: [] },
        events: [
          { workflowId: parent.id, type: 'workflow.paused', from: 'ready', to: 'paused', by: 'bea', reason: 'earlier' },
          { workflowId: parent.id, type: 'workflow.paused', from: 'ready', to: 'paused', by: 'ann', reason: 'lunch' },
          { workflowId: parent.id, type: 'step.held', executionId: row.id, to: 'paused', reason: 'not this' },
        ],
      }
    })
    const { workflows, now } = await store.readiness([parent.id, parent.id])
    expect(Math.abs(now - (await store.now()))).toBeLessThan(60_000_000)
    expect(workflows).toHaveLength(1)
    expect(workflows[0]).toMatchObject({
      workflow: { id: parent.id, state: 'paused', pauseCause: 'request' },
      active: [{ node: 'one', attempt: 3, failures: 2, state: 'scheduled', handler: 'Sample', input: null }],
      change: { by: 'ann', reason: 'lunch' },
    })
    expect(workflows[0]?.latest.get('zero')).toMatchObject({
      attempt: 4,
      outcome: 'paused_by_exception',
      error: { className: 'TypeError', message: 'not a number' },
      reason: 'because',
    })
    expect([...(workflows[0]?.fanIns ?? [])]).toEqual([['end', 2]])
    expect([...(workflows[0]?.children ?? [])]).toEqual([[child.id, { id: child.id, type: 'Sample', state: 'ready' }]])
    expect((await store.readiness([])).workflows).toEqual([])
  })
})

let failing = true

class Diamond extends Workflow {
  static {
    this.step('first')
    this.task('left', { dependsOn: 'first', retry: { attempts: 3, jitter: false } })
    this.task('right', { dependsOn: 'first', wait: '1 hour' })
    this.task('last', { dependsOn: ['left', 'right'] })
  }
  async first() {}
  async left() {
    if (failing) throw new Error('not today')
  }
  async right() {}
  async last() {}
}

class Strict extends Workflow {
  static {
    this.step('only', { retry: 3 })
  }
  async only() {
    throw new PermanentError('never')
  }
}

/** Each node and why it does not run. */
function reasonsIn({ nodes }: Explanation): Record<string, string> {
  const words = nodes.map(
    ({ id, ready, reasons }) => [id, ready ? 'ready' : reasons.map(r => r.kind).join(' ')] as const,
  )
  return Object.fromEntries(words)
}

forEachDatabase('readiness of what runs', database => {
  const under = useGeneva(database, { workflows: [Diamond, Strict] })

  it('follows a workflow from condition to condition', async () => {
    failing = true
    await under.setClock(0)
    const wf = await under.geneva.start(Diamond)
    const waiting = { left: 'dependencies', right: 'dependencies', last: 'dependencies' }
    expect(reasonsIn(await wf.explain())).toEqual({ first: 'no_worker', ...waiting })
    const worker = await under.geneva.startWorker({ ...quickly, queues: ['none'] })
    expect(reasonsIn(await wf.explain()), 'a worker of another queue').toEqual({ first: 'no_worker', ...waiting })
    await worker.stop()

    await under.runDue()
    const failed = await wf.explain()
    expect(reasonsIn(failed)).toEqual({ first: 'done', left: 'backoff', right: 'time', last: 'dependencies' })
    expect(failed.decision).toBe('waiting_for_dependencies')
    expect(failed.nodes.find(({ id }) => id === 'left')).toMatchObject({
      failures: 1,
      attemptsLeft: 2,
      retryable: true,
    })
    expect(failed.nodes.find(({ id }) => id === 'last')?.openParents).toEqual(['left', 'right'])

    for (const offset of [10_000, 60_000]) {
      await under.setClock(offset)
      await under.runDue()
    }
    const exhausted = await wf.explain()
    expect(reasonsIn(exhausted)).toEqual({ first: 'done', left: 'failed', right: 'time', last: 'dependencies' })
    expect(exhausted.state, 'the other branch goes on').toBe('ready')
    expect(exhausted.nodes.find(({ id }) => id === 'left')?.reasons).toMatchObject([
      { kind: 'failed', why: 'attempts_exhausted', attempt: 3, error: { className: 'Error', message: 'not today' } },
    ])

    await under.setClock(2 * 3_600_000)
    await under.runDue()
    const blocked = await wf.explain()
    expect([blocked.state, blocked.decision]).toEqual(['paused', 'blocked_by_failures'])
    expect(reasonsIn(blocked)).toMatchObject({ left: 'paused failed', right: 'done', last: 'paused dependencies' })

    failing = false
    await wf.resume()
    await under.runDue()
    const over = await wf.explain()
    expect([over.state, over.decision]).toEqual(['finished', null])
    expect(reasonsIn(over)).toEqual({ first: 'done', left: 'done', right: 'done', last: 'done' })
    await under.setClock(0)
  })

  it('has no attempts left after an error that is not retried, whatever the retry says', async () => {
    const wf = await under.geneva.start(Strict)
    await under.runDue()
    const { nodes, decision } = await wf.explain()
    expect(decision).toBe('blocked_by_failures')
    expect(nodes).toMatchObject([
      {
        attempt: 1,
        attemptsLeft: 0,
        retryable: false,
        reasons: [
          { kind: 'paused', cause: 'exception' },
          { kind: 'failed', why: 'not_retryable', error: { className: 'PermanentError' } },
        ],
      },
    ])
  })
})
