/**
 * What a `child` node needs while its code runs: preparing the workflow that it starts, watching one that exists, and
 * reading what became of it.
 */
import type { Child } from '../definition/step-names.ts'
import { WorkflowNotFoundError } from '../errors.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ParentKey, WorkflowRecord } from '../store/records.ts'
import type { StartOrder } from '../store/store.ts'
import type { Engine } from './engine.ts'
import { readOutput } from './read-output.ts'
import { idsFor, prepareStart, startOrder } from './start-orders.ts'
import { traced } from './tracing.ts'

export interface ChildHost {
  /** Everything that can be wrong with the start is found here; it is carried out with the end of the run. */
  prepare(workflowClass: unknown, what: object): Promise<StartOrder>
  /** The id of the workflow that is watched: of one that was continued, the last. Throws `WorkflowNotFoundError`. */
  watch(workflowId: string): Promise<string>
  read(workflowId: string): Promise<{ readonly workflow: WorkflowRecord; readonly child: Child }>
}

export function childHost(engine: Engine, parent: ParentKey, maxInputBytes: number): ChildHost {
  const { store } = engine
  return {
    prepare: (workflowClass, what) => prepareChild({ engine, parent, maxInputBytes }, workflowClass, what),
    async watch(workflowId) {
      const [timerId = ''] = await store.takeIds(1)
      for (;;) {
        const { id } = await engine.findLast(workflowId)
        const found = await store.watch(id, parent, timerId)
        if (found === null) throw new WorkflowNotFoundError(workflowId)
        // Continued between the two looks: its watches have moved on before this one came.
        if (found.continuedAs === null) return id
      }
    },
    async read(workflowId) {
      const workflow = await engine.find(workflowId)
      return { workflow, child: await childFrom(engine, workflow) }
    },
  }
}

async function prepareChild(
  { engine, parent, maxInputBytes }: { engine: Engine; parent: ParentKey; maxInputBytes: number },
  workflowClass: unknown,
  what: object,
): Promise<StartOrder> {
  const definition = engine.registry.definitionFor(workflowClass as Parameters<typeof engine.registry.definitionFor>[0])
  const { type, graph, allowMultiple, formerTypes } = definition
  const prepare = async (trace: string | null) => {
    const prepared = await prepareStart(definition, what, {}, maxInputBytes)
    const generation = engine.courses.generationOf(type)
    const course = { type, graph, allowMultiple, formerTypes, generation, trace, handlerOf: () => type }
    const [timerId = '', ...ids] = await engine.store.takeIds(1 + idsFor(graph, prepared))
    return { ...startOrder(course, prepared, ids), parent: { ...parent, timerId } }
  }
  return traced(engine.tracing, type, prepare, order => [order.id])
}

async function childFrom(engine: Engine, workflow: WorkflowRecord): Promise<Child> {
  const { store, courses } = engine
  const course = await courses.one(workflow)
  const output = async (step: string | null) => {
    if (step !== null) return (await readOutput(store, course.graph, workflow, step))?.value
    const found = await store.findOutput(workflow.id, null, workflow.rounds)
    return found === null ? undefined : decodeValue(found.output)
  }
  return {
    id: workflow.id,
    result: () => output(courses.findDefinition(workflow.type)?.resultNode ?? null),
    output: (step: string) => output(step) as Promise<any>,
  }
}
