/**
 * The compiled graphs that processes have registered, numbered by generation for each type. The number only rises;
 * the same graph always has the same one.
 */
import { InvariantError } from '../../errors.ts'
import type { DefinitionRecord, StoredGraph } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, json, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { runTransaction } from './run-transaction.ts'
import { oneOf, raw, sql } from './sql.ts'

/** Every try that loses a race against another process finds a higher number the next time. */
const maxTries = 100

export async function registerDefinitions(
  context: SqlContext,
  definitions: readonly DefinitionRecord[],
): Promise<Map<string, number>> {
  const generations = new Map<string, number>()
  for (const definition of definitions) generations.set(definition.type, await register(context, definition))
  return generations
}

async function register(context: SqlContext, definition: DefinitionRecord): Promise<number> {
  for (let i = 0; i < maxTries; i++) {
    const rows = await context.read(
      sql`select d.signature, d.generation, d.graph from ${context.tables.definitions} d where d.type = ${definition.type}`,
    )
    const own = rows.find(row => text(row, 'signature') === definition.signature)
    if (own) return refreshed(context, definition, own)
    const next = Math.max(0, ...rows.map(row => int(row, 'generation'))) + 1
    await runTransaction(context.database, transaction => transaction.run(insert(context, definition, next)))
  }
  throw new InvariantError(`The definition of ${definition.type} could not be registered.`)
}

/** Waits and queues may have changed where the shape has not: those who have no code should see them as they are. */
async function refreshed(context: SqlContext, definition: DefinitionRecord, own: Row): Promise<number> {
  if (json(own, 'graph') !== definition.graph) {
    await context.write(
      sql`update ${context.tables.definitions} set graph = ${context.dialect.jsonParam(definition.graph)}
        where type = ${definition.type} and signature = ${definition.signature}`,
    )
  }
  return int(own, 'generation')
}

function insert(context: SqlContext, definition: DefinitionRecord, generation: number) {
  const rows = context.rows('r', {
    columns: { type: 'text', signature: 'text', generation: 'int', graph: 'json' },
    rows: [[definition.type, definition.signature, generation, definition.graph]],
  })
  return context.dialect.insertNew(
    context.tables.definitions,
    ['type', 'signature', 'generation', 'graph', 'created_at'],
    sql`select r.type, r.signature, r.generation, r.graph, ${context.now} from ${rows}`,
  )
}

export async function findDefinition(context: SqlContext, type: string): Promise<StoredGraph | null> {
  const rows = await context.read(
    sql`select d.signature, d.graph, d.generation from ${context.tables.definitions} d
      where d.type = ${type} order by d.generation desc limit 1`,
  )
  return rows[0] ? storedGraph(rows[0]) : null
}

export async function allGraphs(context: SqlContext, types: readonly string[]): Promise<StoredGraph[]> {
  if (types.length === 0) return []
  const rows = await context.read(
    sql`select d.signature, d.graph, d.generation from ${context.tables.definitions} d
      where ${oneOf(raw('d.type'), types)} order by d.generation desc`,
  )
  return rows.map(storedGraph)
}

function storedGraph(row: Row): StoredGraph {
  return { signature: text(row, 'signature'), graph: json(row, 'graph') ?? '', generation: int(row, 'generation') }
}
