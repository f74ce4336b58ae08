/**
 * What workers and applications ask of a store all the time, by name, each with the rows that it is about: so that all of it can be gone
 * through again whatever else the tables hold.
 */
import { factsOfClaim } from '../../src/engine/assume.ts'
import type { AssumedFacts, WorkflowChange, WorkflowFacts } from '../../src/store/change.ts'
import type { ActiveExecution, ClaimedExecution, Progress } from '../../src/store/records.ts'
import type { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { OpenApplicationTransaction, StartOrder } from '../../src/store/store.ts'
import {
  changeOf,
  closerLookOf,
  ended,
  finishedChange,
  handedOverChange,
  makeOrder,
  type OrderOptions,
  sampleSource,
  startSome,
} from './open-store.ts'

/** Watches the call: what comes before it only makes the rows that it is about. */
export type Watching = (call: () => Promise<unknown>) => Promise<void>
export type HotCall = (watch: Watching) => Promise<void>

/** `one`: calls that name the active rows they are about by their keys. `other`: those that look for some. */
export interface HotCalls {
  readonly one: Readonly<Record<string, HotCall>>
  readonly other: Readonly<Record<string, HotCall>>
}

/** The worker `w1` must be registered. `open`: a transaction as the application would open it. */
export function hotCalls(store: SqlStore, open: OpenApplicationTransaction): HotCalls {
  return {
    one: { ...reports(store), ...branches(store), ...transactions(store, open), ...ofOneRow(store), ...lives(store) },
    other: { ...starts(store, open), ...claims(store), ...reads(store) },
  }
}

export const worker = 'w1'

async function claimed(store: SqlStore, count: number, options: OrderOptions = {}): Promise<ClaimedExecution[]> {
  await startSome(store, count, options)
  const found = await store.claim({ workerId: worker, sources: [sampleSource], limit: count })
  if (found.length < count) throw new Error(`Of ${count} rows only ${found.length} were claimed.`)
  return found
}

async function claimedOne(store: SqlStore, options: OrderOptions = {}): Promise<ClaimedExecution> {
  const [one] = await claimed(store, 1, options)
  if (one === undefined) throw new Error('Nothing was claimed.')
  return one
}

function starts(store: SqlStore, open: OpenApplicationTransaction): Record<string, HotCall> {
  let keys = 0
  const order = (more: OrderOptions = {}) => {
    const name = `start ${++keys}`
    const hero = { type: 'User', idText: name, idKind: 'string' } as const
    return makeOrder(store, { hero, idempotencyKey: name, tags: ['red'], ...more })
  }
  const orders = (count: number, more: OrderOptions = {}) =>
    Promise.all(Array.from({ length: count }, () => order(more)))
  const graph = { signature: 's', graph: '{}' }
  const held = { state: 'in_progress', owner: worker, fence: 1 } as const
  const starting =
    (make: () => Promise<StartOrder[]>): HotCall =>
    async watch => {
      const given = await make()
      await watch(() => store.start(given))
    }
  return {
    'start one': starting(() => orders(1)),
    'start many': starting(() => orders(20, { graph })),
    'start one that a worker has at once': starting(() => orders(1, { first: held })),
    'start many that a worker has at once': starting(() => orders(20, { first: held })),
    'start some that must end in time': starting(() => orders(3, { deadline: { inMs: 60_000 }, graph })),
    'start again what may have been started': async watch => {
      const given = await orders(3)
      await store.start(given)
      await watch(() => store.start(given, { repeated: true }))
    },
    'start one that others stand in the way of': async watch => {
      const first = await order()
      await store.start([first])
      const { hero, idempotencyKey } = first
      const given = [
        await order({ hero }),
        await order({ idempotencyKey }),
        await order({ formerTypes: ['Old'], hero }),
      ]
      await watch(() => store.start(given))
    },
    'start some in a transaction of the application': async watch => {
      const [few, many] = [await orders(2, { graph }), await orders(30)]
      await watch(() => open(transaction => store.start(few, { transaction })))
      await watch(() => open(transaction => store.start(many, { transaction })))
    },
    'start a child': async watch => {
      const given = await childOf(store, await order())
      await watch(() => store.start([given]))
    },
  }
}

async function childOf(store: SqlStore, parent: StartOrder): Promise<StartOrder> {
  await store.start([parent])
  const [timerId = ''] = await store.takeIds(1)
  return makeOrder(store, { parent: { workflowId: parent.id, node: 'one', timerId } })
}

function claims(store: SqlStore): Record<string, HotCall> {
  const elsewhere = { ...sampleSource, queue: 'mail' }
  const request = { workerId: worker, limit: 10 }
  return {
    'claim from one line': async watch => {
      await startSome(store, 30)
      await watch(() => store.claim({ ...request, sources: [sampleSource] }))
      await watch(() => store.claim({ ...request, sources: [sampleSource], limit: 20 }))
    },
    'claim from two lines': async watch => {
      await startSome(store, 20)
      await watch(() => store.claim({ ...request, sources: [sampleSource, elsewhere], limit: 20 }))
    },
    'claim from an empty line': watch => watch(() => store.claim({ ...request, sources: [elsewhere] })),
    'look at all that is held': async watch => {
      await claimed(store, 3)
      await watch(() => store.heartbeat(worker, 60_000))
      await watch(() => store.heldBy(worker))
    },
    'look for what the dead have left': async watch => {
      await watch(() => store.findAbandoned(['Sample'], 10))
      await store.registerWorker({ id: 'gone', host: 'h', pid: 1, leaseMs: 60_000, handlers: ['Sample'] })
      const [workflowId = ''] = await startSome(store, 1)
      await store.claim({ workerId: 'gone', sources: [sampleSource], limit: 1 })
      await watch(() => store.retireWorker('gone'))
      await watch(() => store.findAbandoned(['Sample'], 10))
      await watch(() => store.findAbandoned(['Sample'], 10, { except: [workflowId] }))
      await watch(() => store.findAbandoned(['Sample'], 10, { among: [workflowId] }))
    },
    'lock what the dead have left': async watch => {
      const rows = await claimed(store, 3)
      const targets = rows.map(({ workflow }) => ({ workflowId: workflow.id, lockRows: true, withLatest: true }))
      await watch(() => store.change(targets, () => null, { passesLocked: true }))
      await watch(() => store.change(targets.slice(0, 1), () => null, { patienceMs: 1000 }))
    },
    'look for queues': watch => watch(() => store.queuesInLine(['Sample'])),
  }
}

/** Of chains: every third ends, the others go on. */
function reports(store: SqlStore): Record<string, HotCall> {
  const decide = (facts: readonly Pick<WorkflowFacts, 'workflow' | 'active'>[], first: 'ends' | 'goes on') =>
    Promise.all(
      facts.map((fact, index) =>
        index % 3 === (first === 'ends' ? 0 : 2)
          ? finishedChange(fact as WorkflowFacts)
          : handedOverChange(store, fact),
      ),
    )
  const assumed =
    (count: number, first: 'ends' | 'goes on'): HotCall =>
    async watch => {
      const facts = (await claimed(store, count)).map(factsOfClaim)
      const changes = await decide(facts, first)
      await watch(() => assume(store, facts, changes))
    }
  const looked =
    (count: number, first: 'ends' | 'goes on'): HotCall =>
    async watch => {
      const rows = await claimed(store, count)
      const changes = await decide(rows.map(factsOfClaim), first)
      const targets = rows.map(row => targetOf(row))
      await watch(() => store.change(targets, changesOf(changes), { workerId: worker }))
    }
  return {
    'report one that ends': assumed(1, 'ends'),
    'report one that goes on': assumed(1, 'goes on'),
    'report two of which one ends': assumed(2, 'ends'),
    'report many': assumed(40, 'goes on'),
    'report one that ends after a look': looked(1, 'ends'),
    'report one that goes on after a look': looked(1, 'goes on'),
    'report many after a look': looked(40, 'goes on'),
  }
}

/** What nobody had to look at must be as it was taken to be. */
async function assume(store: SqlStore, facts: readonly AssumedFacts[], changes: readonly WorkflowChange[]) {
  const time = await store.changeAssumed(facts, changes, { workerId: worker, revision: null })
  if (time === null) throw new Error('Something was not as it was taken to be.')
}

function targetOf({ execution }: ClaimedExecution) {
  const { workflowId, slot, id } = execution
  return { workflowId, slots: [slot, 'other'], held: [execution], fanIns: ['join'], settle: [id], repeated: true }
}

function changesOf(changes: readonly WorkflowChange[]) {
  const all = new Map(changes.map(change => [change.workflowId, change]))
  return ({ workflow }: WorkflowFacts) => all.get(workflow.id) ?? null
}

/** Of a graph: a counter is begun, counted down and removed as its branches end, and what comes after them begins. */
function branches(store: SqlStore): Record<string, HotCall> {
  const fork = async () => {
    const nodes = ['a', 'b', 'c', 'd']
    const held = { state: 'in_progress', owner: worker } as const
    const order = await makeOrder(store, { first: nodes.map(node => ({ slot: node, node, ...held })) })
    await store.start([order])
    return order.id
  }
  const factsAt = async (id: string, more: Pick<AssumedFacts, 'uncounted' | 'counted'>): Promise<AssumedFacts> => {
    const workflow = (await store.findWorkflow(id))?.workflow
    const [execution] = await store.activeExecutions(id)
    if (workflow === undefined || execution === undefined) throw new Error(`Workflow ${id} has no branch left.`)
    return { ...factsOfClaim({ workflow, execution, input: null }), active: [execution], complete: false, ...more }
  }
  const none = { inserted: [], updated: [], removed: [], cleared: false } as const
  const gone = ({ workflow, active }: AssumedFacts, more: Partial<WorkflowChange>) => {
    const removals = active.map(({ slot }) => ({ slot }))
    return changeOf(workflow.id, { endings: active.map(row => ended(row)), removals, ...more })
  }
  const joined = async (row: ActiveExecution) => {
    const [next = ''] = await store.takeIds(1)
    return { ...row, id: next, slot: 'join', node: 'join', state: 'scheduled', owner: null, due: { inMs: 0 } } as const
  }
  return {
    'report the branches of a fork': async watch => {
      const id = await fork()
      const begun = await factsAt(id, { uncounted: ['join'], counted: [] })
      const inserted = [{ node: 'join', open: 2 }]
      await watch(() => assume(store, [begun], [gone(begun, { fanIns: { ...none, inserted } })]))
      const further = await factsAt(id, { uncounted: [], counted: [{ node: 'join', by: 1, leaves: 'some' }] })
      const updated = [{ node: 'join', open: 1, by: 1 }]
      await watch(() => assume(store, [further], [gone(further, { fanIns: { ...none, updated } })]))
      const last = await factsAt(id, { uncounted: [], counted: [{ node: 'join', by: 1, leaves: 'none' }] })
      const [row] = last.active
      const insertions = row === undefined ? [] : [await joined(row)]
      const removed = [{ node: 'join' }]
      await watch(() => assume(store, [last], [gone(last, { fanIns: { ...none, removed }, insertions })]))
    },
    'look at a fork before its join': async watch => {
      const id = await fork()
      const look = () => closerLookOf({ parents: ['a', 'b'], others: true, waiting: [{ prefix: 'all/', count: 2 }] })
      const target = { workflowId: id, slots: ['a', 'b'], fanIns: ['join'] }
      await watch(() => store.change([target], () => null, { workerId: worker, look }))
      const outworn = [{ node: 'a', after: 0, upTo: 5 }]
      await watch(() => store.change([target], () => null, { workerId: worker, look: () => closerLookOf({ outworn }) }))
      await watch(() => store.change([{ workflowId: id, withLatest: true }], () => null))
      const cleared = changeOf(id, { fanIns: { ...none, cleared: true } })
      await watch(() => store.change([target], () => cleared, { workerId: worker }))
    },
  }
}

function transactions(store: SqlStore, open: OpenApplicationTransaction): Record<string, HotCall> {
  const finishing =
    (outcome: 'ends' | 'goes on', own: OpenApplicationTransaction | null): HotCall =>
    async watch => {
      const row = await claimedOne(store)
      const facts = factsOfClaim(row)
      const change = outcome === 'ends' ? finishedChange(facts) : await handedOverChange(store, facts)
      const call = { workerId: worker }
      const find = (_: unknown, error: unknown) => Promise.reject(error)
      await watch(() =>
        store.transact(own, ({ change: write }) => write([targetOf(row)], changesOf([change]), call), find),
      )
    }
  const checkpointing =
    (own: OpenApplicationTransaction | null): HotCall =>
    async watch => {
      const { execution } = await claimedOne(store)
      await watch(async () => {
        if ((await store.checkpointWith(execution, at(1), async () => null, own)) === 'lost') throw new Error('Lost.')
      })
    }
  return {
    'end with a transactional step': finishing('ends', null),
    'go on from a transactional step': finishing('goes on', null),
    'end with a transactional step of a library': finishing('ends', open),
    'go on from a transactional step of a library': finishing('goes on', open),
    'write a checkpoint with an item': checkpointing(null),
    'write a checkpoint with an item of a library': checkpointing(open),
  }
}

function at(count: number): Progress {
  return { cursor: `${count}`, completedIterations: count, total: null, runs: 1 }
}

function ofOneRow(store: SqlStore): Record<string, HotCall> {
  return {
    'write a checkpoint': async watch => {
      const { execution } = await claimedOne(store)
      await watch(() => store.checkpoint(execution, at(1)))
    },
    'write down that code is called': async watch => {
      const { execution } = await claimedOne(store)
      await watch(() => store.markStarted(execution))
    },
    'look at what runs': async watch => {
      const rows = (await claimed(store, 40)).map(({ execution }) => execution)
      for (const count of [1, 2, 40]) await watch(() => store.heartbeat(worker, 60_000, rows.slice(0, count)))
    },
  }
}

/** The end of a workflow that others wait for, or that goes on as another. */
function lives(store: SqlStore): Record<string, HotCall> {
  return {
    'wake who waits for the end': async watch => {
      const child = await childOf(store, await makeOrder(store))
      await store.start([child])
      const end = (facts: WorkflowFacts) => ({ ...finishedChange(facts), wakes: true })
      await watch(() => store.change([{ workflowId: child.id, slots: [''] }], end))
    },
    'look at what is to be undone': async watch => {
      const facts = factsOfClaim(await claimedOne(store))
      await assume(store, [facts], [await handedOverChange(store, facts)])
      const { id } = facts.workflow
      const undo = {
        undone: id,
        below: 1_000_000_000,
        isEnough: () => true,
        namesOf: (node: string) => [node, 'other'],
      }
      const look = () => closerLookOf({ undo })
      await watch(() => store.change([{ workflowId: id, slots: [''] }], () => null, { look }))
    },
    'go on as a new workflow': async watch => {
      const { id, first, input } = await makeOrder(store, { tags: ['red'] })
      const [old = ''] = await startSome(store, 1, { tags: ['red'] })
      const as = { id, first, input, lane: '', generation: 1, deadline: null }
      const end = (facts: WorkflowFacts) => ({
        ...finishedChange(facts),
        continuation: { stage: 'begun', as } as const,
      })
      await watch(() => store.change([{ workflowId: old, slots: [''] }], end))
    },
  }
}

function reads(store: SqlStore): Record<string, HotCall> {
  return {
    'read one workflow': async watch => {
      const hero = { type: 'User', idText: 'reader', idKind: 'string' } as const
      const row = await claimedOne(store, { hero, allowMultiple: true, tags: ['red'] })
      const facts = factsOfClaim(row)
      await assume(store, [facts], [finishedChange(facts)])
      const { id } = row.workflow
      await watch(() => store.findWorkflow(id))
      await watch(() => store.findByHero(['Sample'], hero))
      await watch(() => store.workflowStates([id]))
      await watch(() => store.findEnds([id]))
      await watch(() => store.input(id))
      await watch(() => store.tags(id))
      await watch(() => store.events(id))
      await watch(() => store.frozenGraphs([id]))
    },
    'read what steps have come to': async watch => {
      const row = await claimedOne(store)
      const facts = factsOfClaim(row)
      await assume(store, [facts], [await handedOverChange(store, facts, '1')])
      const { id } = row.workflow
      await watch(() => store.history(id))
      await watch(() => store.activeExecutions(id))
      await watch(() => store.findOutput(id, 'one', null))
      await watch(() => store.findOutput(id, null, null))
      await watch(() => store.findOutputs(id, 'one/', null))
      await watch(() => store.findFirstOutputs(id, { prefix: 'one/', count: 100 }, null))
      await watch(() => store.findAncestors([row.execution.id]))
      await watch(() => store.findEnded(row.execution.id))
    },
    'read events as they come': async watch => {
      await startSome(store, 3)
      const last = await store.lastEvent()
      await watch(() => store.lastEvent())
      await watch(() => store.readEvents({ after: last - 3, limit: 100, memory: null }))
      await watch(() => store.readEvents({ after: last, limit: 100, memory: null }))
    },
  }
}
