/**
 * `geneva migrate`: brings the tables up to date, or tells whether they are. Safe to run from many hosts at once.
 */
import { Command, Option } from 'commander'
import { type DatabaseOptions, databaseUrlForms, Geneva, InvalidArgumentError, isGenevaError } from '../index.ts'

/** The exit code of `--check` when the tables are missing or too old. */
const outdated = 3

interface MigrateOptions {
  readonly database?: string
  readonly prefix?: string
  readonly schema?: string
  readonly keyType?: 'bigint' | 'uuid'
  readonly check?: boolean
  readonly json?: boolean
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('create or update the tables that workflows are kept in')
    .addOption(new Option('-d, --database <url>', databaseUrlForms).env('DATABASE_URL'))
    .option('--prefix <text>', 'what table names begin with (default: geneva_drive_)')
    .option('--schema <name>', 'the schema that the tables live in')
    .addOption(
      new Option('--key-type <type>', 'type of new keys (default: after your own tables)').choices(['bigint', 'uuid']),
    )
    .option('--check', 'change nothing; exit with 3 if the tables are missing or too old')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=... geneva migrate --check')
    .action(migrate)
}

async function migrate(options: MigrateOptions): Promise<void> {
  if (options.database === undefined) {
    throw new InvalidArgumentError('No database is given. Use --database <url>, or set DATABASE_URL.')
  }
  const { database: url, prefix, schema, keyType } = options
  const database: DatabaseOptions = {
    url,
    ...(prefix === undefined ? {} : { prefix }),
    ...(schema === undefined ? {} : { schema }),
    ...(keyType === undefined ? {} : { keyType }),
  }
  const geneva = new Geneva({ database, migrate: options.check !== true })
  try {
    await geneva.migrate()
    answer(options, true, options.check ? 'The tables are up to date.' : 'The tables are ready.')
  } catch (error) {
    if (options.check !== true || !isGenevaError(error, 'SCHEMA')) throw error
    answer(options, false, error.message)
    process.exitCode = outdated
  } finally {
    await geneva.close()
  }
}

function answer(options: MigrateOptions, upToDate: boolean, message: string): void {
  if (options.json) console.log(JSON.stringify({ upToDate, message }))
  else console.error(message)
}
