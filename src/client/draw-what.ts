/** A picture of whatever a person may mean: a class, a graph, a workflow by its id, a class by its stored name. */
import type { BuiltGraph } from '../definition/built-graph.ts'
import { type FrozenGraph, graphOfFrozen } from '../definition/frozen-graph.ts'
import type { ConcreteClass } from '../definition/workflow.ts'
import { type DrawOptions, drawGraph } from '../drawing/draw-graph.ts'
import { pictureOf } from '../drawing/picture.ts'
import { WorkflowNotFoundError } from '../errors.ts'
import type { Connection } from './connection.ts'
import { findOne } from './workflow-list.ts'

export async function drawWhat(
  connection: Connection,
  what: ConcreteClass<any> | BuiltGraph | FrozenGraph | string,
  options?: DrawOptions,
): Promise<string> {
  const { registry } = connection
  // A class whose code is here needs no database.
  if (typeof what === 'string' && !registry.has(what)) return drawStored(connection, what, options)
  if (typeof what === 'string' || typeof what === 'function') {
    return drawGraph(pictureOf(registry.definitionFor(what).graph), options)
  }
  const defaults = { type: null, queue: 'default', priority: 0, jobOptions: () => null }
  return drawGraph(pictureOf(graphOfFrozen(what, defaults)), options)
}

async function drawStored(connection: Connection, name: string, options?: DrawOptions): Promise<string> {
  const { engine, wrap } = await connection.open()
  if (!engine.store.isId(name)) return drawGraph(pictureOf(await engine.courses.graphOf(name)), options)
  const found = await findOne(engine.store, null, name)
  if (found === null) throw new WorkflowNotFoundError(name)
  return wrap(found).draw(options)
}
