/** What a person does after `geneva init`, in order, as lines to be copied. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Migrator, Project } from './detect-project.ts'
import { configPath, workflowPath } from './project-files.ts'

export interface NextStep {
  readonly why: string
  /** For a shell, or for a file of the application: it says which. */
  readonly command: string
}

/** `isPlanned`: the database has answered, so a migration could be written where the application has such. */
export function nextSteps(project: Project, folder: string, isPlanned: boolean): NextStep[] {
  const { migrator, database, databaseUrl } = project
  return [
    ...(folder === '.'
      ? []
      : [{ why: 'in the application', command: `cd ${/^[\w./-]+$/.test(folder) ? folder : `'${folder}'`}` }]),
    ...install(project),
    ...(databaseUrl === null && database.driver !== null
      ? [{ why: 'your own database', command: `export DATABASE_URL=${database.url}` }]
      : []),
    ...(migrator === null || isPlanned
      ? []
      : [{ why: 'once the database answers: this writes the migration', command: 'npx geneva init --yes' }]),
    migrator === null
      ? { why: 'make the tables', command: 'npx geneva migrate' }
      : { why: 'make the tables', command: migrateBy[migrator.tool] },
    ...(project.language === 'ts' ? [forTypeScript] : []),
    ...startFrom(project),
    { why: 'start a workflow', command: `npx geneva start Welcome --input '{"name":"Ann"}'` },
    { why: 'run what is due; leave it running, in a terminal of its own', command: 'npx geneva worker' },
    { why: 'look at it', command: 'npx geneva list' },
  ]
}

const forTypeScript: NextStep = {
  why: 'in tsconfig.json: Node runs these files as they are, so they name each other with their endings',
  command: '"allowImportingTsExtensions": true, "noEmit": true, "types": ["node"],',
}

const migrateBy: Readonly<Record<Migrator['tool'], string>> = {
  knex: 'npx knex migrate:latest',
  kysely: 'npx kysely migrate:latest',
  prisma: 'npx prisma migrate deploy',
  drizzle: 'npx drizzle-kit migrate',
}

/** What is not in package.json, or not in node_modules. */
function install({ folder, hasPackage, dependencies, database, language }: Project): NextStep[] {
  const wanted = ['geneva-drive', ...(database.driver === null ? [] : [database.driver])]
  const isMissing = (name: string) => !dependencies.has(name) && !existsSync(join(folder, 'node_modules', name))
  const missing = wanted.filter(isMissing)
  return [
    ...(hasPackage ? [] : [{ why: 'a package, to install into', command: 'npm init -y' }]),
    ...(missing.length === 0 ? [] : [{ why: 'what it needs', command: `npm install ${missing.join(' ')}` }]),
    ...(language === 'ts' && isMissing('@types/node')
      ? [{ why: 'what the compiler needs', command: 'npm install --save-dev @types/node' }]
      : []),
  ]
}

/** How the application itself starts one. */
function startFrom(project: Project): NextStep[] {
  if (project.framework === 'express') {
    const start = `  const workflow = await geneva.start(Welcome, { input: { name: 'Ann' } })
  response.status(202).json({ id: workflow.id })
})`
    const command = project.isModule
      ? `${imports(project)}\n\n${route}\n${start}`
      : `${route}\n${loads(project)}\n${start}`
    return [{ why: 'in your application, where its routes are', command }]
  }
  if (project.framework !== 'next') return []
  return [{ why: 'in next.config, so that it is not bundled', command: `serverExternalPackages: ['geneva-drive'],` }]
}

const route = `app.post('/welcome', async (request, response) => {`

function imports(project: Project): string {
  return `import { geneva } from './${configPath(project)}'\nimport { Welcome } from './${workflowPath(project)}'`
}

/** Where files are no modules, `import` is only allowed as a call. */
function loads(project: Project): string {
  const load = (names: string, path: string) => `  const { ${names} } = await import('./${path}')`
  return `${load('geneva', configPath(project))}\n${load('Welcome', workflowPath(project))}`
}
