/** `geneva init` in an empty Express application, a Next application and a bare folder, each by following only what it prints. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { commandLine, libraryUrl, runGeneva } from '../support/run-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-init-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A folder with the package as `npm install` would leave it, and stubs for frameworks: only their names matter here. */
function application(name: string, manifest: object | null, files: Readonly<Record<string, string>> = {}): string {
  const folder = join(root, name)
  const all: Record<string, string> = {
    'node_modules/geneva-drive/package.json': '{"name":"geneva-drive","type":"module","exports":"./index.js"}',
    'node_modules/geneva-drive/index.js': `export * from ${JSON.stringify(libraryUrl)}\n`,
    ...(manifest === null ? {} : { 'package.json': JSON.stringify(manifest) }),
    ...files,
  }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  mkdirSync(join(folder, 'node_modules/.bin'))
  chmodSync(commandLine, 0o755)
  symlinkSync(commandLine, join(folder, 'node_modules/.bin/geneva'))
  return folder
}

/** The commands below "Next:", without the remarks. */
function commandsIn(stdout: string): string[] {
  const [, next = ''] = stdout.split('\nNext:\n')
  return next
    .split(/^ {2}# .*$/m)
    .map(block => block.replace(/^ {2}/gm, '').trim())
    .filter(block => block !== '')
}

const environment = { ...process.env, DATABASE_URL: undefined, GENEVA_APP: undefined, NO_COLOR: '1' }

/** What a shell does with such a line. */
async function shell(folder: string, command: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', local(command)], { cwd: folder, env: environment })
  return stdout + stderr
}

function local(command: string): string {
  return command.replace(/^npx /, 'exec ./node_modules/.bin/')
}

/** Runs the worker until it has printed the text, then ends it as Ctrl-C does. */
async function workUntil(folder: string, command: string, text: string): Promise<number> {
  const child = spawn('sh', ['-c', local(command)], { cwd: folder, env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const ended = once(child, 'close')
  await waitFor(() => output.includes(text), 20_000)
  child.kill('SIGINT')
  return Number((await ended)[0])
}

/** Follows the printed lines from the tables to the end of the workflow. */
async function follow(folder: string, commands: readonly string[]): Promise<void> {
  for (const command of commands) {
    if (command === 'npx geneva worker') {
      expect(await workUntil(folder, command, 'Ann, did you find your way?')).toBe(0)
    } else if (command === 'npx geneva list') expect(await shell(folder, command)).toMatch(/Welcome .*finished/)
    else if (command.startsWith('npx geneva ')) await shell(folder, command)
  }
}

describe.concurrent('geneva init', () => {
  it('sets up a bare folder', async () => {
    const folder = application('bare', null)
    const { code, stdout, stderr } = await runGeneva(['init', '--yes'], { cwd: folder })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const commands = commandsIn(stdout)
    expect(commands).toEqual([
      'npm init -y',
      'npx geneva migrate',
      `npx geneva start Welcome --input '{"name":"Ann"}'`,
      'npx geneva worker',
      'npx geneva list',
    ])
    await follow(folder, commands)
  })

  it('sets up an Express application, which starts the workflow by the route that is printed', async () => {
    const stub = `export default () => {
  const app = { post: (_path, handler) => { app.handler = handler } }
  return app
}`
    const folder = application(
      'express',
      { type: 'module', dependencies: { express: '^5.0.0', 'geneva-drive': '*' } },
      {
        'node_modules/express/package.json': '{"type":"module","exports":"./index.js"}',
        'node_modules/express/index.js': stub,
      },
    )
    const { stdout } = await runGeneva(['init', '--yes'], { cwd: folder })
    expect(stdout).toContain('Framework   Express')
    const commands = commandsIn(stdout)
    const route = commands.find(command => command.includes('app.post')) ?? ''
    await shell(folder, 'npx geneva migrate')
    writeFileSync(
      join(folder, 'app.js'),
      `import express from 'express'\n${route.replace('app.post', 'const app = express()\napp.post')}
await app.handler({}, { status: code => ({ json: body => console.log(code, JSON.stringify(body)) }) })
await geneva.close()`,
    )
    expect(await shell(folder, 'node app.js')).toMatch(/^202 \{"id":"\d+"\}\n$/)
    await follow(folder, commands)
  })

  it('sets up a Next application, with a route of its own, and leaves alone what is there', async () => {
    const folder = application(
      'next',
      { dependencies: { next: '^16.0.0', react: '^19.0.0' } },
      { 'src/app/page.tsx': '' },
    )
    const { stdout } = await runGeneva(['init', '--yes'], { cwd: folder })
    const commands = commandsIn(stdout)
    expect(commands).toContain("serverExternalPackages: ['geneva-drive'],")
    await shell(folder, 'npx geneva migrate')
    const route = pathToFileURL(join(folder, 'src/app/api/welcome/route.js')).href
    writeFileSync(
      join(folder, 'call.mjs'),
      `import { POST } from ${JSON.stringify(route)}
import { geneva } from './geneva.config.mjs'
const answer = await POST(new Request('http://local/', { method: 'POST', body: '{"name":"Bob"}' }))
console.log(answer.status, JSON.stringify(await answer.json()))
await geneva.close()`,
    )
    expect(await shell(folder, 'node call.mjs')).toContain('202 {"id":"')
    await follow(folder, commands)

    const config = join(folder, 'geneva.config.mjs')
    writeFileSync(config, '// mine\n')
    const again = await runGeneva(['init', '--yes', '--json'], { cwd: folder })
    const { files } = JSON.parse(again.stdout)
    expect(files.map(({ action }: { action: string }) => action)).toEqual(['kept', 'kept', 'kept'])
    expect(readFileSync(config, 'utf8')).toBe('// mine\n')
  })

  it('finds the database in the environment, in .env and in the dependencies', async () => {
    const folder = application('found', { type: 'module', dependencies: { pg: '^8.0.0' } })
    const byDependency = JSON.parse((await runGeneva(['init', '--yes', '--json'], { cwd: folder })).stdout)
    expect(byDependency).toMatchObject({ database: 'PostgreSQL', framework: 'none', language: 'js', migrations: null })
    expect(byDependency.next.map(({ command }: { command: string }) => command)).toContain(
      'export DATABASE_URL=postgres://localhost:5432/app',
    )
    const other = application('other', null, { '.env': `A=1\nDATABASE_URL="mysql://root@127.0.0.1/app"\n` })
    expect(JSON.parse((await runGeneva(['init', '--yes', '--json'], { cwd: other })).stdout).database).toMatch(/^MySQL/)
    expect(readFileSync(join(other, 'geneva.config.mjs'), 'utf8')).toContain("process.loadEnvFile('.env')")
    const env = { DATABASE_URL: 'sqlite:mine.db' }
    const third = application('third', { dependencies: { mysql2: '*' } })
    expect(JSON.parse((await runGeneva(['init', '--yes', '--json'], { cwd: third, env })).stdout).database).toBe(
      'SQLite',
    )
    expect(existsSync(join(third, 'workflows/welcome.mjs'))).toBe(true)
  })
})
