/**
 * Chooses the type of our keys after the application's: uuids where most of its tables have them, else bigint.
 */
import type { SqlContext } from './context.ts'
import type { Executor, KeyType } from './dialect.ts'

const uuidType = /uuid|(char|character|varying)\(36\)|binary\(16\)/i

/** An empty database, or a tie, gets bigint. */
export async function detectKeyType(context: SqlContext, executor: Executor): Promise<KeyType> {
  const types = await context.dialect.applicationKeyTypes(executor, context.tables)
  const uuids = types.filter(type => uuidType.test(type)).length
  return uuids > types.length - uuids ? 'uuid' : 'bigint'
}
