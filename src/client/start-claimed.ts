/**
 * Lets workflows that are started here begin at once, in a worker of this process that has room: their first rows are written
 * already claimed.
 */
import type { Engine } from '../engine/engine.ts'
import type { Opening } from '../engine/openings.ts'
import { reachOf } from '../engine/reach.ts'
import type { NewExecution } from '../store/change.ts'
import type { ActiveExecution, ClaimedExecution } from '../store/records.ts'
import type { StartCall, StartOrder, StartResult } from '../store/store.ts'

export async function startClaimed(
  engine: Engine,
  orders: readonly StartOrder[],
  call: StartCall,
): Promise<StartResult[]> {
  const places = call.repeated ? orders.map(() => null) : engine.openings.keepPlaces(orders.map(firstStep))
  const claimed = orders.map((order, index) => withOwner(order, places[index] ?? null))
  const revision = places.find(place => place !== null)?.revision
  try {
    const started = engine.store.start(claimed, { ...call, ...(revision === undefined ? {} : { revision }) })
    // Not before it is on its way.
    const graphs = claimed.filter((order, index) => order.graph !== null && places[index] !== null)
    // Whoever needs what could not be made ready asks for it again, and hears why.
    if (graphs.length > 0) setImmediate(() => prepareFor(engine, graphs).catch(() => {}))
    const results = await started
    const begun = results.filter((result, index) => begin(engine, claimed[index], result, places[index] ?? null))
    if (begun.length < orders.length) engine.ends.noteWork()
    return results
  } finally {
    // Does nothing where a step has begun.
    for (const place of places) place?.giveUp()
  }
}

/** What is needed once the first steps have ended, while the database writes that they have begun. */
async function prepareFor({ ids, courses }: Engine, orders: readonly StartOrder[]): Promise<void> {
  let followers = 0
  for (const { graph, type, first } of orders) {
    if (graph === null) continue
    const parsed = courses.prepareFrozen(type, graph)
    followers += reachOf(
      parsed,
      first.map(row => row.node),
    ).nodes.length
  }
  await ids.ensure(followers)
}

/** A row that could begin now, if it is the only one, and nothing has to be looked at first. */
function firstStep({ first, taken, formerTypes, lane = '' }: StartOrder): NewExecution | null {
  const [row] = first
  if (row === undefined || first.length > 1 || taken !== null || formerTypes.length > 0) return null
  if (lane !== '' || row.kind !== 'forward' || row.state !== 'scheduled') return null
  return 'inMs' in row.due && row.due.inMs === 0 ? row : null
}

function withOwner(order: StartOrder, place: Opening | null): StartOrder {
  const [row] = order.first
  if (place === null || row === undefined) return order
  const progress = { ...row.progress, runs: row.progress.runs + 1 }
  return { ...order, first: [{ ...row, state: 'in_progress', owner: place.workerId, fence: row.fence + 1, progress }] }
}

function begin(
  { courses }: Engine,
  order: StartOrder | undefined,
  result: StartResult,
  place: Opening | null,
): boolean {
  const row = order?.first[0]
  if (place === null || row === undefined || order === undefined) return false
  if (result.kind !== 'started' || result.claimedAt === undefined) return false
  if (order.graph !== null) courses.keepFrozen(result.workflow, order.graph)
  place.begin(claimedFrom(order, row, { ...result, claimedAt: result.claimedAt }, place.revision))
  return true
}

function claimedFrom(
  { input, trace = null }: StartOrder,
  row: NewExecution,
  { workflow, claimedAt }: { readonly workflow: ClaimedExecution['workflow']; readonly claimedAt: number },
  revision: number,
): ClaimedExecution {
  const times = { createdAt: claimedAt, dueAt: claimedAt, startedAt: claimedAt }
  const execution: ActiveExecution = {
    ...row,
    ...times,
    nodeName: row.nodeName ?? null,
    lane: row.lane ?? '',
    startMark: false,
    heldFrom: null,
  }
  return { workflow, execution, input, trace, revision }
}
