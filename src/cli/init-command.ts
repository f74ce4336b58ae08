/**
 * `geneva init`: looks at an application, writes what it needs to begin, and prints what to do next. It never overwrites a file
 * without asking, so it can be run again; with `--yes`, or where nobody can answer, what is there stays.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { Geneva, type SchemaPlan } from '../index.ts'
import { databaseKinds } from '../store/open-store.ts'
import { AppCommand } from './app-command.ts'
import { detectProject, type Language, type Project } from './detect-project.ts'
import { answerIsNo, WrongUsage } from './exit-codes.ts'
import { setUpReport, setUpText, type Written } from './init-report.ts'
import { drizzleJournal, earlierMigration, migrationFile } from './migration-file.ts'
import { type NewFile, projectFiles } from './project-files.ts'
import { note, printJson, say } from './terminal.ts'

interface Flags {
  readonly yes?: boolean
  readonly language?: Language
  readonly migration: boolean
  readonly json?: boolean
}

export function initCommand(): Command {
  return new AppCommand('init', {
    description: 'set up an application: configuration, a first workflow, migrations',
    examples: [
      ['init', 'look at this folder, ask, and write'],
      ['init --yes', 'take what was found, and ask nothing'],
    ],
    more: 'Files that are there stay, unless you say otherwise. DATABASE_URL, or a line of .env, says which database.',
  })
    .argument('[folder]', 'the folder of the application; made if it is not there', '.')
    .option('-y, --yes', 'ask nothing')
    .addOption(
      new Option('--language <language>', 'of the files (default: after package.json)').choices(['ts', 'js', 'mjs']),
    )
    .option('--no-migration', 'no migration file, even if the application has migrations of its own')
    .option('--json', 'print one JSON document')
    .action(init)
}

async function init(folder: string, flags: Flags): Promise<void> {
  const asks = flags.yes !== true && flags.json !== true && process.stdin.isTTY === true
  if (existsSync(folder) && !statSync(folder).isDirectory()) throw new WrongUsage(`${folder} is a file, not a folder.`)
  const detected = detectProject(resolve(folder), process.env)
  const chosen = await settle({ ...detected, ...(flags.language ? { language: flags.language } : {}) }, asks)
  const project = chosen && (flags.migration ? chosen : { ...chosen, migrator: null })
  if (project === null) {
    note('Nothing was written.')
    process.exitCode = answerIsNo
    return
  }
  const plan = await planFor(project)
  const files = [...projectFiles(project), ...(plan ? migrationFiles(project, plan) : [])]
  const written: Written[] = []
  for (const file of files) written.push(await write(project, file, asks))
  const report = setUpReport(project, { plan, written, folder })
  if (flags.json) printJson(report)
  else say(setUpText(project, report))
}

/** What was found, with what a person says instead. `null` if they would rather not. */
async function settle(project: Project, asks: boolean): Promise<Project | null> {
  if (!asks) return project
  const { confirm, isCancel, select } = await prompts()
  const options = databaseKinds.map(kind => ({ value: kind.name, label: kind.name }))
  const name = await select({ message: 'Which database?', options, initialValue: project.database.name })
  if (isCancel(name)) return null
  const database = databaseKinds.find(kind => kind.name === name) ?? project.database
  if (project.migrator === null) return { ...project, database }
  const { tool, folder } = project.migrator
  const wanted = await confirm({ message: `Add a migration for ${tool} to ${folder}?` })
  if (isCancel(wanted)) return null
  return { ...project, database, migrator: wanted ? project.migrator : null }
}

/** What the database says; `null` where it cannot be asked: the rest is written nevertheless. */
async function planFor({ databaseUrl, database, migrator }: Project): Promise<SchemaPlan | null> {
  if (databaseUrl === null && migrator === null) return null
  await using geneva = new Geneva({ database: databaseUrl ?? database.url })
  return geneva.schema.plan().catch(error => {
    const lacking = migrator === null ? '' : ' There is no migration file yet: run `geneva init` again when it does.'
    note(`The database does not answer (${(error as Error).message}).${lacking}`)
    return null
  })
}

function migrationFiles(project: Project, { statements }: SchemaPlan): NewFile[] {
  const { migrator, folder, isModule, database } = project
  if (migrator === null || statements.length === 0) return []
  const place = join(folder, migrator.folder)
  const names = existsSync(place) ? readdirSync(place) : []
  if (earlierMigration(names) !== null) return []
  const at = new Date()
  const file = migrationFile({ migrator, statements, at, isModule, names })
  if (migrator.tool !== 'drizzle') return [file]
  const path = `${migrator.folder}/meta/_journal.json`
  const known = existsSync(join(folder, path)) ? readFileSync(join(folder, path), 'utf8') : null
  const tag = file.path.slice(migrator.folder.length + 1, -'.sql'.length)
  // An entry is added; nothing that was there goes.
  return [
    file,
    { path, text: drizzleJournal(known, database.word, { tag, at }), what: 'its line in the journal', adds: true },
  ]
}

async function write({ folder }: Project, file: NewFile, asks: boolean): Promise<Written> {
  const path = join(folder, file.path)
  const { what } = file
  if (existsSync(path) && !file.adds) {
    const isSame = readFileSync(path, 'utf8') === file.text
    const ask = async () =>
      (await prompts()).confirm({ message: `${file.path} is there. Overwrite it?`, initialValue: false })
    if (!asks || isSame || (await ask()) !== true) return { path: file.path, action: 'kept', what }
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, file.text)
  return { path: file.path, action: 'written', what }
}

/** Loaded only where somebody is asked: no other command needs them. */
function prompts() {
  return import('@clack/prompts')
}
