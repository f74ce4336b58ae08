/**
 * Looks for workflows that are not what they should be: compares what is stored with what the events say, with what must
 * always be true, and with the graph. It changes nothing. A workflow that seems wrong is looked at again under its lock, so
 * that nothing is reported that was only caught in the middle of a change.
 */
import { Graph, type GraphData } from '../definition/graph.ts'
import { isEnd } from '../engine/end-watch.ts'
import { FrozenGraphCache } from '../engine/frozen-graph-cache.ts'
import { WorkflowNotFoundError } from '../errors.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { WorkflowFile } from '../store/event-store.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { awaitedBy, checkAlwaysTrue } from './check-always-true.ts'
import { compareWithEvents } from './compare-with-events.ts'
import { compareWithGraph } from './compare-with-graph.ts'
import { byHand, type Complaint, type ComplaintKind } from './complaint.ts'

export interface DoctorOptions {
  /** The id of the only workflow to look at. */
  readonly workflow?: string
  /** Only workflows that have not ended. */
  readonly active?: boolean
  /** How many workflows are looked at, the newest first. Default: all. */
  readonly limit?: number
}

export interface DoctorFinding {
  readonly workflowId: string
  /** The stored name of its class. */
  readonly workflow: string
  readonly kind: ComplaintKind
  readonly executionId: string | null
  readonly node: string | null
  /** What is wrong, in a sentence. */
  readonly problem: string
  /** What can be done about it. */
  readonly remedy: string
}

export interface DoctorReport {
  readonly ok: boolean
  /** How many workflows were looked at. */
  readonly workflows: number
  /** The first thousand; `omitted` says how many more there are. */
  readonly findings: readonly DoctorFinding[]
  readonly omitted: number
}

const known = optionNames<DoctorOptions>({ workflow: 0, active: 0, limit: 0 })
const pageSize = 100
/** So many events, about, are held in memory at once; those of one workflow always are. */
const maxEvents = 20_000
const maxFindings = 1000
const looks = 3
const activeStates = ['ready', 'performing', 'paused', 'dlq', 'rolling_back'] as const

export async function examine(store: Store, options: DoctorOptions): Promise<DoctorReport> {
  refuseUnknownOptions('doctor', options, known)
  const graphs = new KnownGraphs(store)
  const findings: DoctorFinding[] = []
  let workflows = 0
  let omitted = 0
  for await (const ids of batchesOf(store, options)) {
    workflows += ids.length
    for (const id of await suspectsAmong(store, graphs, ids)) {
      const found = await confirm(store, graphs, id)
      const kept = found.slice(0, maxFindings - findings.length)
      findings.push(...kept)
      omitted += found.length - kept.length
    }
  }
  return { ok: findings.length === 0, workflows, findings, omitted }
}

async function suspectsAmong(store: Store, graphs: KnownGraphs, ids: readonly string[]): Promise<string[]> {
  const examined = await examineAll(store, graphs, await store.inspect(ids, false))
  return examined.map(({ file }) => file.workflow.id)
}

/** A timer that wakes a workflow is inserted without its lock, so one look may still have come in between. */
async function confirm(store: Store, graphs: KnownGraphs, id: string): Promise<DoctorFinding[]> {
  let found: Examined[] = []
  for (let look = 0; look < looks; look++) {
    found = await examineAll(store, graphs, await store.inspect([id], true))
    if (found.length === 0) break
  }
  return found.flatMap(({ file, complaints }) => complaints.map(complaint => findingOf(file, complaint)))
}

/** Workflows with many events are looked at in smaller companies. */
async function* batchesOf(store: Store, options: DoctorOptions): AsyncGenerator<string[]> {
  for await (const page of pagesOf(store, options)) {
    const counts = await store.countEvents(page)
    let batch: string[] = []
    let events = 0
    for (const id of page) {
      const own = counts.get(id) ?? 0
      if (batch.length > 0 && events + own > maxEvents) {
        yield batch
        batch = []
        events = 0
      }
      batch.push(id)
      events += own
    }
    yield batch
  }
}

async function* pagesOf(store: Store, { workflow, active, limit }: DoctorOptions): AsyncGenerator<string[]> {
  if (workflow !== undefined) {
    const found = store.isId(workflow) ? await store.findWorkflow(workflow) : null
    if (found === null) throw new WorkflowNotFoundError(workflow)
    yield [workflow]
    return
  }
  let before: string | undefined
  for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; left -= pageSize) {
    const page = await store.listWorkflows({
      limit: Math.min(pageSize, left),
      ...(active ? { states: activeStates } : {}),
      ...(before === undefined ? {} : { before }),
    })
    const ids = page.map(snapshot => snapshot.workflow.id)
    if (ids.length > 0) yield ids
    if (page.length < pageSize) return
    before = ids.at(-1)
  }
}

interface Examined {
  readonly file: WorkflowFile
  readonly complaints: readonly Complaint[]
}

async function examineAll(store: Store, graphs: KnownGraphs, files: readonly WorkflowFile[]): Promise<Examined[]> {
  const awaited = files.flatMap(file => file.active.flatMap(row => awaitedBy(row) ?? []))
  const others = await store.workflowStates(awaited.filter(id => store.isId(id)))
  const examined: Examined[] = []
  for (const file of files) {
    const graph = await graphs.of(file.workflow)
    const complaints = [
      ...compareWithEvents(file),
      ...checkAlwaysTrue(file, others),
      ...(graph === null ? withoutGraph(file) : compareWithGraph(file, graph)),
    ]
    if (complaints.length > 0) examined.push({ file, complaints })
  }
  return examined
}

/** One that has ended needs none any more, and loses it before its own row where it is removed. */
function withoutGraph({ workflow: { frozen, state } }: WorkflowFile): Complaint[] {
  if (frozen === null || isEnd(state)) return []
  const problem = 'The graph that is stored with it is missing, or cannot be read, so that nothing can be done with it.'
  return [{ kind: 'rule', problem, remedy: byHand }]
}

function findingOf({ workflow }: WorkflowFile, complaint: Complaint): DoctorFinding {
  const { kind, problem, remedy, executionId = null, node = null } = complaint
  return { workflowId: workflow.id, workflow: workflow.type, kind, executionId, node, problem, remedy }
}

/** The graphs that workflows go by, as they are stored. The code of this process is not asked, and not made known. */
class KnownGraphs {
  readonly #store: Store
  readonly #frozen: FrozenGraphCache
  readonly #byType = new Map<string, Map<number, Graph>>()

  constructor(store: Store) {
    this.#store = store
    this.#frozen = new FrozenGraphCache(store)
  }

  /** `null` for one that is not known any more. */
  async of(workflow: WorkflowRecord): Promise<Graph | null> {
    if (workflow.frozen !== null) {
      try {
        return (await this.#frozen.of([workflow])).get(workflow.id)?.graph ?? null
      } catch (error) {
        // What is stored makes no sense; it says nothing if the database was away.
        if (this.#store.isLasting(error)) return null
        throw error
      }
    }
    const known = this.#byType.get(workflow.type) ?? (await this.#load(workflow.type))
    return known.get(workflow.generation) ?? null
  }

  async #load(type: string): Promise<Map<number, Graph>> {
    const stored = await this.#store.allGraphs([type])
    const graphs = new Map(
      stored.map(({ generation, graph }) => [generation, new Graph(JSON.parse(graph) as GraphData)] as const),
    )
    this.#byType.set(type, graphs)
    return graphs
  }
}
