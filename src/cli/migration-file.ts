/**
 * The statements that make our tables, in the format of the tool by which an application changes its own. Pure: whoever calls it
 * writes the file.
 */
import type { Migrator } from './detect-project.ts'
import type { NewFile } from './project-files.ts'

interface Wanted {
  readonly migrator: Migrator
  readonly statements: readonly string[]
  readonly at: Date
  /** How a `.js` file of this application is read. */
  readonly isModule: boolean
  /** What is in the folder already. */
  readonly names: readonly string[]
}

const what = 'a migration that makes the tables'

export function migrationFile({ migrator, statements, at, isModule, names }: Wanted): NewFile {
  const { tool, folder } = migrator
  const stamp = at.toISOString().replace(/\D/g, '').slice(0, 14)
  switch (tool) {
    case 'prisma':
      return { path: `${folder}/${stamp}_geneva_drive/migration.sql`, text: script(statements, ''), what }
    case 'drizzle':
      return {
        path: `${folder}/${numbered(names)}_geneva_drive.sql`,
        text: script(statements, '--> statement-breakpoint\n'),
        what,
      }
    case 'knex':
      return { path: `${folder}/${stamp}_geneva_drive.js`, text: knexFile(statements, isModule), what }
    case 'kysely':
      return { path: `${folder}/${stamp}_geneva_drive.${isModule ? 'js' : 'mjs'}`, text: kyselyFile(statements), what }
  }
}

/** The migration that a run before has written, if there is one: a second one would be run as well. */
export function earlierMigration(names: readonly string[]): string | null {
  return names.find(name => /_geneva_drive(\.(js|mjs|sql))?$/.test(name)) ?? null
}

/** What the tool has to be told, so that it does not take our tables for leftovers. */
export function warningFor({ tool }: Migrator): string | null {
  if (tool === 'prisma') {
    return 'Prisma drops tables that its schema does not name: list geneva_drive_* under `tables.external` in prisma.config.ts.'
  }
  if (tool === 'drizzle')
    return "Keep `drizzle-kit push` away from them: tablesFilter: ['!geneva_drive_*'] in drizzle.config."
  return null
}

/** The journal of drizzle with one more entry; without it the file would never be run. */
export function drizzleJournal(text: string | null, dialect: string, { tag, at }: { tag: string; at: Date }): string {
  const journal = text === null ? { version: '7', dialect, entries: [] } : JSON.parse(text)
  const entries = [
    ...journal.entries,
    { idx: journal.entries.length, version: journal.version, when: at.getTime(), tag, breakpoints: true },
  ]
  return `${JSON.stringify({ ...journal, entries }, null, 2)}\n`
}

function script(statements: readonly string[], between: string): string {
  return `${statements.map(statement => `${statement};\n`).join(between)}`
}

function knexFile(statements: readonly string[], isModule: boolean): string {
  const [up, down] = isModule
    ? ['export async function up', 'export async function down']
    : ['exports.up = async function', 'exports.down = async function']
  return `${listOf(statements)}
${up}(knex) {
  for (const statement of statements) await knex.raw(statement)
}

${down}() {
  throw new Error('Workflows would be lost: drop the tables geneva_drive_* by hand.')
}
`
}

function kyselyFile(statements: readonly string[]): string {
  return `import { sql } from 'kysely'

${listOf(statements)}
export async function up(db) {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
`
}

function listOf(statements: readonly string[]): string {
  return `/** The tables of geneva-drive. */
const statements = [
${statements.map(statement => `  ${JSON.stringify(statement)},\n`).join('')}]
`
}

function numbered(names: readonly string[]): string {
  const used = names.map(name => Number(/^(\d{4})_/.exec(name)?.[1] ?? -1))
  return String(Math.max(-1, ...used) + 1).padStart(4, '0')
}
