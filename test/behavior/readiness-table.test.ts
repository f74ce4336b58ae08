/**
 * The conditions of readiness as a truth table of nodes that really ran, on every database: what may run, what a claim takes, and
 * what the nodes of a workflow come to. Every combination of conditions that can come about is a row.
 */
import { expect, it } from 'vitest'
import { PermanentError, Workflow } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const attempts = 2
const hour = 3_600_000

/** What is true of a node: how often it has failed and how, and how it stands now. */
interface Conditions {
  readonly parent: 'done' | 'open'
  readonly failures: number
  readonly retryable: boolean
  /** `processed`: it has completed. `claimed`: a worker runs it. */
  readonly now: 'idle' | 'claimed' | 'processed'
  readonly due: boolean
}

/** The seven conditions, in their order. */
function isReady({ now, parent, failures, retryable, due }: Conditions): boolean {
  const stateAllows = now !== 'processed'
  const notProcessed = now !== 'processed'
  const dependenciesSatisfied = parent === 'done'
  const attemptsLeft = failures < attempts
  const notInProcess = now !== 'claimed'
  return stateAllows && notProcessed && dependenciesSatisfied && attemptsLeft && retryable && notInProcess && due
}

const both = [true, false] as const
const all: readonly Conditions[] = (['done', 'open'] as const).flatMap(parent =>
  [0, 1, 2].flatMap(failures =>
    both.flatMap(retryable =>
      (['idle', 'claimed', 'processed'] as const).flatMap(now =>
        both.map(due => ({ parent, failures, retryable, now, due })),
      ),
    ),
  ),
)

/** Nothing begins before its parents are done, nothing is claimed before it is due, and no attempt follows the last one. */
function canBe({ parent, failures, retryable, now, due }: Conditions): boolean {
  if (parent === 'open') return failures === 0 && retryable && now === 'idle' && due
  if (!retryable && failures === 0) return false
  if (now !== 'idle') return due && retryable && failures < attempts
  return due || (retryable && failures < attempts)
}

const table = all.filter(canBe)

class Row extends Workflow<null, Conditions> {
  static {
    this.named('Row')
    this.step('parent')
    this.step('node', {
      queue: 'nodes',
      retry: { attempts, backoff: 'fixed', delay: hour, maxDelay: hour, jitter: false },
    })
    this.step('last', { wait: '9 days' })
  }
  parent() {
    if (this.input.parent === 'open') this.reattempt({ wait: '9 days' })
  }
  node() {
    const { failures, retryable, due } = this.input
    const { attempt } = this.execution
    if (failures === 0 && !due) this.postpone('9 days')
    if (attempt > failures) return
    throw attempt === failures && !retryable ? new PermanentError('never') : new Error('not now')
  }
  last() {}
}

/** What keeps the node, the first reason first. */
function reasonFor({ parent, failures, retryable, now, due }: Conditions): string {
  if (now === 'processed') return 'done'
  if (parent === 'open') return 'dependencies'
  if (failures === attempts || !retryable) return 'paused failed'
  if (now === 'claimed') return 'claimed'
  if (!due) return failures === 0 ? 'time' : 'backoff'
  return 'ready'
}

function decisionFor(row: Conditions): string {
  const reason = reasonFor(row)
  if (reason === 'ready') return 'has_ready_steps'
  if (reason === 'claimed') return 'processing'
  return reason === 'paused failed' ? 'blocked_by_failures' : 'waiting_for_dependencies'
}

forEachDatabase('the truth table of readiness', database => {
  const under = useGeneva(database, { workflows: [Row] })
  const rows = new Map<string, Conditions>()

  async function begin(these: (row: Conditions) => boolean): Promise<void> {
    const some = table.filter(these)
    const started = await under.geneva.startMany(
      Row,
      some.map(input => ({ input })),
    )
    for (const [index, wf] of started.entries()) rows.set(wf.id, some[index] as Conditions)
  }

  async function claim(store: Store, workerId: string, workflowId?: string): Promise<string[]> {
    const generation = (await store.findDefinition('Row'))?.generation ?? 0
    const sources = [{ queue: 'nodes', handler: 'Row', generation }]
    const only = workflowId === undefined ? {} : { workflowId }
    return (await store.claim({ workerId, sources, limit: 1000, ...only })).map(({ workflow }) => workflow.id)
  }

  /** Lets every row come to what it says: what must run twice first, what must not run at all last. */
  async function play(store: Store): Promise<void> {
    const again = ({ failures, now }: Conditions) => failures === attempts || now === 'processed'
    const once = (row: Conditions) => row.failures === 1 && !again(row)
    const postponed = ({ failures, due }: Conditions) => failures === 0 && !due
    await begin(row => again(row) || postponed(row))
    await under.runDue()
    await under.setClock(hour + 60_000)
    await under.runDue()
    await begin(row => once(row) && row.due)
    await under.runDue()
    await under.setClock(2 * hour)
    await begin(row => once(row) && !row.due)
    await under.runDue()
    await under.setClock(2 * hour + 120_000)
    await begin(row => !again(row) && !once(row) && !postponed(row))
    await under.runDue({ queues: ['default'] })
    for (const id of ['w1', 'w2']) {
      await store.registerWorker({ id, host: 'here', pid: 1, leaseMs: 600_000, handlers: ['Row'] })
    }
    for (const [id, { now }] of rows) if (now === 'claimed') expect(await claim(store, 'w1', id)).toEqual([id])
  }

  it('holds for every combination that can come about, and a claim takes exactly what it calls ready', async () => {
    const store = await under.geneva.openedStore()
    await play(store)
    expect(rows.size).toBe(12)
    const explained = await under.geneva.explainMany([...rows.keys()])
    const seen = explained.map(({ workflowId, nodes, decision }) => {
      const [, node] = nodes
      const kinds = node?.reasons.map(({ kind }) => kind).join(' ') || 'ready'
      return { row: rows.get(workflowId), ready: node?.ready, kinds, decision }
    })
    expect(seen).toEqual(
      [...rows.values()].map(row => ({
        row,
        ready: isReady(row),
        kinds: reasonFor(row),
        decision: decisionFor(row),
      })),
    )
    const facts = explained.map(({ workflowId, nodes: [, node] }) => ({ row: rows.get(workflowId), node }))
    for (const { row, node } of facts) {
      if (row?.now !== 'idle' || row.parent === 'open') continue
      expect(node).toMatchObject({ attemptsLeft: row.retryable ? attempts - row.failures : 0 })
    }
    const ready = [...rows].filter(([, row]) => isReady(row)).map(([id]) => id)
    expect(ready).toHaveLength(2)
    expect((await claim(store, 'w2')).toSorted()).toEqual(ready.toSorted())
  })
})
