/**
 * Brings the tables up to date. One lock is taken before anything is looked at, so any number of processes may call
 * it at once; whoever comes second finds the work done.
 */
import { isGenevaError, SchemaError } from '../../errors.ts'
import type { SchemaPlan } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, text } from './decode.ts'
import type { Executor, KeyType } from './dialect.ts'
import { detectKeyType } from './key-type.ts'
import { foundation } from './migrations/foundation.ts'
import type { Migration } from './migrations/migration.ts'
import { nodeNames } from './migrations/node-names.ts'
import { taggedMarks } from './migrations/tagged-marks.ts'
import { raw, render, type Sql, sql } from './sql.ts'

const migrations: readonly Migration[] = [foundation, nodeNames, taggedMarks]

/**
 * Recorded before any table is there. Not every database undoes DDL: whoever goes on after a crash makes the rest with keys of the
 * same type. It changes nothing and is no migration, so it has the number before the first.
 */
const keyChoice = { version: 0, name: 'key type', compatibleFrom: 0 } as const

interface SchemaStatus {
  /** 0: the tables have a type of keys, and are not all there. */
  readonly version: number
  /** The oldest code that these tables still serve. */
  readonly compatibleFrom: number
  readonly keyType: KeyType
}

/** `keyType` decides for new tables; without it the application's own tables do. */
export async function migrate(context: SqlContext, keyType?: KeyType): Promise<void> {
  const current = await readStatus(context, context.database).catch(() => null)
  if (current !== null && current.version >= migrations.length) {
    refuseNewer(current)
    context.keyType = current.keyType
    return
  }
  const { migrationLock } = context.dialect
  const name = `${context.tables.schema ?? ''}.${context.tables.prefix}`
  const locked = async (session: Executor) => {
    await migrationLock.acquire(session, name)
    try {
      await bringUpToDate(context, session, keyType)
      await migrationLock.commit(session)
    } catch (error) {
      await migrationLock.rollback(session).catch(() => {})
      throw error
    } finally {
      await migrationLock.release(session, name)
    }
  }
  await context.database.session(locked, { mayTakeLong: true }).catch(error => {
    throw refusalOf(context, error)
  })
}

/** What the database refuses is mostly for want of rights. */
function refusalOf({ dialect, tables }: SqlContext, error: unknown): unknown {
  if (isGenevaError(error) || dialect.classify(error) === 'transient') return error
  const reason = error instanceof Error ? error.message : String(error)
  return new SchemaError(
    `The tables ${tables.prefix}* could not be brought up to date: ${reason}. If this user may not change them, let another one run \`geneva migrate\`, and open the database with \`migrate: false\`.`,
    { cause: error },
  )
}

async function bringUpToDate(context: SqlContext, session: Executor, wanted?: KeyType): Promise<void> {
  const { dialect, tables } = context
  for (const statement of recordTable(context)) await session.run(statement)
  const status = await readStatus(context, session)
  refuseNewer(status)
  const keyType = status?.keyType ?? wanted ?? (await detectKeyType(context, session))
  if (status === null) await session.run(recordOf(context, keyChoice, keyType))
  for (const migration of migrations.slice(status?.version ?? 0)) {
    for (const statement of migration.statements({ dialect, tables, keyType }))
      await runOnce(context, session, statement)
    await session.run(recordOf(context, migration, keyType))
  }
  context.keyType = keyType
}

/** The schema, where there is one, and the table that says which migrations have run. */
function recordTable({ dialect, tables }: SqlContext): Sql[] {
  const type = dialect.columnTypes('bigint')
  return [
    ...dialect.createSchema(tables.schema),
    raw(
      `create table if not exists ${tables.name('migrations')} (version ${type.int} not null primary key,
      name ${type.key} not null, key_type ${type.key} not null, compatible_from ${type.int} not null, applied_at ${type.int} not null)${dialect.tableOptions}`,
    ),
  ]
}

type Recorded = Pick<Migration, 'version' | 'name' | 'compatibleFrom'>

function recordOf({ dialect, tables }: SqlContext, migration: Recorded, keyType: KeyType): Sql {
  return sql`insert into ${tables.migrations} (version, name, key_type, compatible_from, applied_at)
      values (${migration.version}, ${migration.name}, ${keyType}, ${migration.compatibleFrom}, ${dialect.now})`
}

/** The statements that `migrate` would run now, as text that any client can run. Changes nothing. */
export async function planMigrations(context: SqlContext, wanted?: KeyType): Promise<SchemaPlan> {
  const { dialect, tables } = context
  const status = await currentStatus(context)
  refuseNewer(status)
  const keyType = status?.keyType ?? wanted ?? (await context.database.session(s => detectKeyType(context, s)))
  const pending = migrations.slice(status?.version ?? 0)
  const statements = [
    ...(status === null ? [...recordTable(context), recordOf(context, keyChoice, keyType)] : []),
    ...pending.flatMap(migration => [
      ...migration.statements({ dialect, tables, keyType }),
      recordOf(context, migration, keyType),
    ]),
  ]
  return {
    version: status?.version ?? 0,
    latest: migrations.length,
    keyType,
    statements: statements.map(statement => textOf(statement)),
  }
}

/** Only constants of this program are bound in a migration: numbers, and words that need no quoting. */
function textOf(statement: Sql): string {
  const literal = (position: number) => {
    const value = statement.values[position - 1]
    return typeof value === 'number' ? String(value) : `'${String(value)}'`
  }
  return render(statement, literal)
    .text.replace(/\s*\n\s*/g, ' ')
    .trim()
}

async function runOnce(context: SqlContext, session: Executor, statement: Sql): Promise<void> {
  try {
    await session.run(statement)
  } catch (error) {
    if (!context.dialect.alreadyDone(error)) throw error
  }
}

/** Makes sure that the tables are there and fit this code, without changing them. */
export async function checkSchema(context: SqlContext): Promise<void> {
  const status = await currentStatus(context)
  if (status === null || status.version < migrations.length) {
    throw new SchemaError(
      `The tables ${context.tables.prefix}* are ${status === null ? 'missing' : `at version ${status.version}, the code needs ${migrations.length}`}. Run \`geneva migrate\`.`,
    )
  }
  refuseNewer(status)
  context.keyType = status.keyType
}

/** Makes sure that newer code has not taken away what this one needs. What else may be wrong with the tables, their use tells. */
export async function refuseOutgrown(context: SqlContext): Promise<void> {
  refuseNewer(await currentStatus(context))
}

/** During a deploy old code works on newer tables, as long as those still have what it needs. */
function refuseNewer(status: SchemaStatus | null): void {
  if (status !== null && status.compatibleFrom > migrations.length) {
    throw new SchemaError(
      `The tables are at version ${status.version}, and need code that knows version ${status.compatibleFrom}; this code knows versions up to ${migrations.length}. Upgrade geneva-drive in this process.`,
    )
  }
}

/** `null` while there are no tables. */
async function currentStatus(context: SqlContext): Promise<SchemaStatus | null> {
  try {
    return await readStatus(context, context.database)
  } catch (error) {
    if (context.dialect.classify(error) !== 'lasting') throw error
    return null
  }
}

async function readStatus(context: SqlContext, executor: Executor): Promise<SchemaStatus | null> {
  const rows = await executor.query(
    sql`select version, key_type, compatible_from from ${context.tables.migrations} order by version desc limit 1`,
  )
  const row = rows[0]
  return row
    ? {
        version: int(row, 'version'),
        keyType: text(row, 'key_type') as KeyType,
        compatibleFrom: int(row, 'compatible_from'),
      }
    : null
}
