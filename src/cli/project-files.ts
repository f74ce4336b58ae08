/** The text of the files that `geneva init` writes into an application. Pure: it neither reads nor writes any. */
import type { Project } from './detect-project.ts'

export interface NewFile {
  /** From the folder of the application. */
  readonly path: string
  readonly text: string
  readonly what: string
  /** It holds all that was there, and more. */
  readonly adds?: boolean
}

/** The config, a first workflow and, where the framework finds its routes by their place, a route that starts it. */
export function projectFiles(project: Project): NewFile[] {
  return [
    { path: configPath(project), text: config(project), what: 'the configuration: what the command line loads' },
    { path: workflowPath(project), text: workflow(project), what: 'a first workflow' },
    ...(project.framework === 'next' ? [route(project)] : []),
  ]
}

export function configPath({ language }: Project): string {
  return `geneva.config.${language}`
}

export function workflowPath({ language }: Project): string {
  return `workflows/welcome.${language}`
}

function config(project: Project): string {
  const { language, database, environmentFile, migrator } = project
  const environment = environmentFile === null ? '' : `\nif (existsSync('.env')) process.loadEnvFile('.env')\n`
  const lines = [
    environmentFile === null ? '' : `import { existsSync } from 'node:fs'\n`,
    `import { Geneva } from 'geneva-drive'\n`,
    `import { Welcome } from './workflows/welcome.${language}'\n`,
    environment,
    `\nexport const geneva = new Geneva({\n`,
    `  database: process.env.DATABASE_URL ?? '${database.url}',\n`,
    `  workflows: [Welcome],\n`,
    migrator === null ? '' : `  // The tables come with the migrations of this application.\n  migrate: false,\n`,
    `})\n`,
  ]
  return lines.join('')
}

function workflow({ language, framework }: Project): string {
  const types = language === 'ts' ? '<null, { name: string }>' : ''
  // The worker is not bundled, so it would look for another class than the one that was started.
  const named =
    framework === 'next'
      ? `    // A build shortens the names of classes. This one is stored.\n    this.named('Welcome')\n`
      : ''
  const comment = language === 'ts' ? '' : `\n/** @extends {Workflow<null, { name: string }>} */`
  return `import { Workflow } from 'geneva-drive'
${comment}
export class Welcome extends Workflow${types} {
  static {
${named}    this.step('greet')
    this.step('followUp', { wait: '3 seconds' })
  }

  async greet() {
    console.log(\`Welcome, \${this.input.name}!\`)
    return { greeted: this.input.name }
  }

  async followUp() {
    console.log(\`\${this.input.name}, did you find your way?\`)
  }
}
`
}

function route(project: Project): NewFile {
  const folder = project.hasSourceFolder ? 'src/app' : 'app'
  const up = folder === 'app' ? '../../..' : '../../../..'
  const text = `import { geneva } from '${up}/geneva.config.${project.language}'
import { Welcome } from '${up}/workflows/welcome.${project.language}'

/** Starts the workflow. \`geneva worker\` runs it, in a process of its own. */
export async function POST(request) {
  const { name } = await request.json()
  const workflow = await geneva.start(Welcome, { input: { name: String(name) } })
  return Response.json({ id: workflow.id }, { status: 202 })
}
`
  return { path: `${folder}/api/welcome/route.js`, text, what: 'a route that starts it' }
}
