/** What `geneva init` tells when it is done: what it has found, what it has written, and what comes next. */
import type { SchemaPlan } from '../index.ts'
import type { Framework, Project } from './detect-project.ts'
import { warningFor } from './migration-file.ts'
import { type NextStep, nextSteps } from './next-steps.ts'
import { styled } from './terminal.ts'

export interface Written {
  readonly path: string
  readonly action: 'written' | 'kept'
  readonly what: string
}

export interface SetUpReport {
  readonly database: string
  readonly framework: Framework
  readonly language: string
  /** The tool that makes the tables; `null`: Geneva itself. */
  readonly migrations: string | null
  /** The type of the keys, after those of the application; `null` where the database was not asked. */
  readonly keyType: string | null
  readonly files: readonly Written[]
  readonly warning: string | null
  readonly next: readonly NextStep[]
}

interface Done {
  readonly plan: SchemaPlan | null
  readonly written: readonly Written[]
  readonly folder: string
}

export function setUpReport(project: Project, { plan, written, folder }: Done): SetUpReport {
  const { database, framework, language, migrator } = project
  return {
    database: database.name,
    framework,
    language,
    migrations: migrator?.tool ?? null,
    keyType: plan?.keyType ?? null,
    files: written,
    warning: plan && migrator ? warningFor(migrator) : null,
    next: nextSteps(project, folder, plan !== null),
  }
}

const frameworks: Readonly<Record<Framework, string>> = { express: 'Express', next: 'Next', none: 'none' }

export function setUpText({ database, databaseUrl, migrator }: Project, report: SetUpReport): string {
  const where = databaseUrl === null ? ` (${database.url} until DATABASE_URL says another)` : ''
  const keys = report.keyType === null ? '' : `, keys of type ${report.keyType}`
  const files = report.files.map(({ path, action, what }) => {
    const verb = action === 'written' ? styled('green', 'wrote') : styled('yellow', 'kept ')
    return `${verb}  ${path}  ${styled('dim', what)}`
  })
  const steps = report.next.map(({ command, why }) => `\n  ${styled('dim', `# ${why}`)}\n${indented(command)}`)
  return [
    `Database    ${report.database}${where}${keys}`,
    `Framework   ${frameworks[report.framework]}`,
    `Migrations  ${migrator === null ? 'by Geneva itself' : `by ${migrator.tool}, in ${migrator.folder}`}`,
    '',
    ...files,
    ...(report.warning === null ? [] : ['', styled('yellow', report.warning)]),
    '',
    'Next:',
    ...steps,
  ].join('\n')
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}
