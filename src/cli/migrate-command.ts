/**
 * `geneva migrate`: brings the tables up to date, tells whether they are, or prints the statements that would do it. Safe to run
 * from many hosts at once.
 */
import { Argument, Option } from 'commander'
import { Geneva, isGenevaError, type SchemaPlan } from '../index.ts'
import { AppCommand, type Shared, withGeneva } from './app-command.ts'
import { answerIsNo, WrongUsage } from './exit-codes.ts'
import { databaseFrom, moduleOf } from './find-geneva.ts'
import { note, printJson, say } from './terminal.ts'

interface Flags extends Shared {
  readonly keyType?: 'bigint' | 'uuid'
  readonly check?: boolean
  readonly dryRun?: boolean
}

export function migrateCommand(): AppCommand {
  return new AppCommand('migrate', {
    description: 'create or update the tables that workflows are kept in',
    examples: [
      ['migrate', 'the database of geneva.config.*, or DATABASE_URL'],
      ['migrate status', 'which version they are at; exit code 3 if they are too old'],
      ['migrate --dry-run', 'print the statements, for a database administrator or your own migrations'],
      ['migrate --database $URL --key-type uuid', 'no code needed'],
    ],
    more: 'Exit code 3: the tables are missing or too old (status, --check).',
  })
    .addArgument(new Argument('[what]', 'bring them up to date, or tell').choices(['up', 'status']).default('up'))
    .option('--dry-run', 'print the statements that would run, and change nothing')
    .option('--check', 'the same as status')
    .addOption(
      new Option('--key-type <type>', 'type of new keys (default: after your own tables)').choices(['bigint', 'uuid']),
    )
    .locating()
    .action(migrate)
}

async function migrate(what: 'up' | 'status', flags: Flags): Promise<void> {
  await opened(flags, async ({ schema }) => {
    if (flags.dryRun) return tellPlan(await schema.plan(), flags)
    if (what === 'status' || flags.check) return tellStatus(() => schema.plan(), flags)
    await schema.bringUpToDate()
    answer(flags, { upToDate: true, message: 'The tables are ready.' })
  })
}

/** The type of keys is for new tables, and a module has its own say in it. */
async function opened(flags: Flags, act: (geneva: Geneva) => Promise<void>): Promise<void> {
  const { keyType, database = process.env.DATABASE_URL } = flags
  if (keyType === undefined) return withGeneva({ ...flags, makes: true }, act)
  const module = flags.database === undefined ? moduleOf(flags) : (flags.app ?? null)
  if (module !== null || database === undefined) {
    throw new WrongUsage('--key-type goes with --database <url>. A module says it itself: database: { url, keyType }.')
  }
  await using geneva = new Geneva({ database: { ...databaseFrom(database, flags), keyType } })
  await act(geneva)
}

function tellPlan(plan: SchemaPlan, flags: Flags): void {
  const { statements, version, latest, keyType } = plan
  if (flags.json) printJson(plan)
  else if (statements.length === 0) note('The tables are up to date: nothing would run.')
  else {
    note(`${statements.length} statements, from version ${version} to ${latest}, keys of type ${keyType}:`)
    for (const statement of statements) say(`${statement};`)
  }
}

async function tellStatus(read: () => Promise<SchemaPlan>, flags: Flags): Promise<void> {
  try {
    const { version, latest } = await read()
    const upToDate = version >= latest
    const standing =
      version === 0 ? 'The tables are missing' : `The tables are at version ${version}, the code needs ${latest}`
    const message = upToDate ? 'The tables are up to date.' : `${standing}. Run \`geneva migrate\`.`
    answer(flags, { upToDate, message, version, latest })
  } catch (error) {
    if (!isGenevaError(error, 'SCHEMA')) throw error
    answer(flags, { upToDate: false, message: error.message })
  }
}

function answer(flags: Flags, told: { upToDate: boolean; message: string; version?: number; latest?: number }): void {
  if (flags.json) printJson(told)
  else note(told.message)
  if (!told.upToDate) process.exitCode = answerIsNo
}
