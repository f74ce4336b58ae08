/** Who works on this database, and what is defined in it, with or without the code. */
import type { Engine } from '../../engine/engine.ts'
import { toDate } from '../../primitives/to-date.ts'
import type { Store } from '../../store/store.ts'
import { type FoldOptions, type GraphView, graphView } from './graph-view.ts'

export interface WorkerStatus {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** It holds its lease. */
  readonly alive: boolean
  readonly startedAt: Date
  readonly leaseUntil: Date
  /** The classes and jobs that it has code for. */
  readonly handlers: readonly string[]
  /** `null`: it has not said. */
  readonly queues: readonly string[] | null
  readonly running: number
}

export interface DefinitionStatus {
  readonly type: string
  readonly generation: number
  readonly registeredAt: Date
  /** This process has the code. */
  readonly hasCode: boolean
  readonly heroTypes: readonly string[]
}

export interface DefinitionDetail extends DefinitionStatus {
  readonly graph: GraphView
}

export async function listWorkers(store: Store): Promise<WorkerStatus[]> {
  const { workers } = await store.views.workers()
  return workers.map(worker => ({
    ...worker,
    startedAt: toDate(worker.startedAt),
    leaseUntil: toDate(worker.leaseUntil),
  }))
}

export async function listDefinitions(engine: Engine): Promise<DefinitionStatus[]> {
  const known = await engine.store.views.definitions()
  return known.map(({ type, generation, createdAt }) => {
    const definition = engine.courses.findDefinition(type)
    return {
      type,
      generation,
      registeredAt: toDate(createdAt),
      hasCode: definition !== null,
      heroTypes: definition?.heroTypes.map(hero => hero.type) ?? [],
    }
  })
}

/** `null` for a type that no process has ever registered. */
export async function definitionDetail(
  engine: Engine,
  type: string,
  options: FoldOptions = {},
): Promise<DefinitionDetail | null> {
  const known = (await listDefinitions(engine)).find(definition => definition.type === type)
  if (known === undefined) return null
  return { ...known, graph: graphView(await engine.courses.graphOf(type), null, options) }
}
