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
import { CommandShell } from '../support/command-shell.ts'
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

/** Runs a file of the application. */
async function node(folder: string, file: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, [file], { cwd: folder, env: environment })).stdout
}

/** Runs the worker in a process of its own until it has printed the text, then ends it as Ctrl-C does. */
async function workUntil(folder: string, command: string, text: string): Promise<number> {
  const line = command.replace(/^npx /, 'exec ./node_modules/.bin/')
  const child = spawn('sh', ['-c', line], { cwd: folder, env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  const ended = once(child, 'close')
  await waitFor(() => output.includes(text), 60_000)
  child.kill('SIGINT')
  return Number((await ended)[0])
}

/** What a shell makes of a line with single quotes. */
function wordsIn(command: string): string[] {
  return (command.match(/'[^']*'|\S+/g) ?? []).map(word => word.replace(/^'|'$/g, ''))
}

/** Follows the printed lines from the tables to the end of the workflow. */
async function follow(folder: string, commands: readonly string[], shell: CommandShell): Promise<void> {
  for (const command of commands.filter(line => line.startsWith('npx geneva '))) {
    if (command === 'npx geneva worker') {
      expect(await workUntil(folder, command, 'Ann, did you find your way?')).toBe(0)
      continue
    }
    const { code, stdout } = await shell.run(...wordsIn(command).slice(2))
    expect(code).toBe(0)
    if (command === 'npx geneva list') expect(stdout).toMatch(/Welcome .*finished/)
  }
}

const patience = 120_000

describe.concurrent('geneva init', () => {
  it('sets up a bare folder', { timeout: patience }, async () => {
    const folder = application('bare', null)
    const shell = new CommandShell(folder, 'geneva.config.mjs')
    const { code, stdout, stderr } = await shell.run('init', '--yes')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const commands = commandsIn(stdout)
    expect(commands).toEqual([
      'npm init -y',
      'npx geneva migrate',
      `npx geneva start Welcome --input '{"name":"Ann"}'`,
      'npx geneva worker',
      'npx geneva list',
    ])
    await follow(folder, commands, shell)
  })

  it('sets up an Express application, which starts the workflow by the route that is printed', {
    timeout: patience,
  }, async () => {
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
    const shell = new CommandShell(folder, 'geneva.config.js')
    const { stdout } = await shell.run('init', '--yes')
    expect(stdout).toContain('Framework   Express')
    const commands = commandsIn(stdout)
    const route = commands.find(command => command.includes('app.post')) ?? ''
    await shell.run('migrate')
    writeFileSync(
      join(folder, 'app.js'),
      `import express from 'express'\n${route.replace('app.post', 'const app = express()\napp.post')}
await app.handler({}, { status: code => ({ json: body => console.log(code, JSON.stringify(body)) }) })
await geneva.close()`,
    )
    expect(await node(folder, 'app.js')).toMatch(/^202 \{"id":"\d+"\}\n$/)
    await follow(folder, commands, shell)
  })

  it('sets up an Express application that is no module, in a folder that it makes', { timeout: patience }, async () => {
    const folder = application('common', { dependencies: { express: '^5.0.0', 'geneva-drive': '*' } })
    const shell = new CommandShell(folder, 'geneva.config.mjs')
    const commands = commandsIn((await shell.run('init', '--yes')).stdout)
    const route = commands.find(command => command.includes('app.post')) ?? ''
    writeFileSync(
      join(folder, 'app.js'),
      `const app = { post: async (_path, handler) => {
  await handler({}, { status: code => ({ json: body => console.log(code, JSON.stringify(body)) }) })
  await (await import('./geneva.config.mjs')).geneva.close()
} }
${route}`,
    )
    expect(await node(folder, 'app.js')).toMatch(/^202 \{"id":"\d+"\}\n$/)
    const { next, files } = await shell.json('init', 'new one', '--yes')
    expect(next[0].command).toBe(`cd 'new one'`)
    expect(existsSync(join(folder, 'new one', files[0].path))).toBe(true)
    expect(await shell.run('init', 'app.js')).toMatchObject({
      code: 2,
      stderr: 'geneva: app.js is a file, not a folder.\n',
    })
  })

  it('sets up a Next application, with a route of its own, and leaves alone what is there', {
    timeout: patience,
  }, async () => {
    const folder = application(
      'next',
      { dependencies: { next: '^16.0.0', react: '^19.0.0' } },
      { 'src/app/page.tsx': '' },
    )
    const shell = new CommandShell(folder, 'geneva.config.mjs')
    const { stdout } = await shell.run('init', '--yes')
    const commands = commandsIn(stdout)
    expect(commands).toContain("serverExternalPackages: ['geneva-drive'],")
    // A build for production renames classes, and what it starts is run by a worker that was not built.
    expect(readFileSync(join(folder, 'workflows/welcome.mjs'), 'utf8')).toContain("this.named('Welcome')")
    await shell.run('migrate')
    const route = pathToFileURL(join(folder, 'src/app/api/welcome/route.js')).href
    writeFileSync(
      join(folder, 'call.mjs'),
      `import { POST } from ${JSON.stringify(route)}
import { geneva } from './geneva.config.mjs'
const answer = await POST(new Request('http://local/', { method: 'POST', body: '{"name":"Bob"}' }))
console.log(answer.status, JSON.stringify(await answer.json()))
await geneva.close()`,
    )
    expect(await node(folder, 'call.mjs')).toContain('202 {"id":"')
    await follow(folder, commands, shell)

    const config = join(folder, 'geneva.config.mjs')
    writeFileSync(config, '// mine\n')
    const { files } = await shell.json('init', '--yes')
    expect(files.map(({ action }: { action: string }) => action)).toEqual(['kept', 'kept', 'kept'])
    expect(readFileSync(config, 'utf8')).toBe('// mine\n')
  })

  it('finds the database in the environment, in .env and in the dependencies', { timeout: patience }, async () => {
    const folder = application('found', { type: 'module', dependencies: { pg: '^8.0.0' } })
    const shell = new CommandShell(root, null)
    const byDependency = await shell.json('init', folder, '--yes')
    expect(byDependency).toMatchObject({
      database: 'PostgreSQL',
      framework: 'none',
      language: 'js',
      migrations: null,
    })
    expect(byDependency.next.map(({ command }: { command: string }) => command)).toContain(
      'export DATABASE_URL=postgres://localhost:5432/app',
    )
    const other = application('other', null, { '.env': `A=1\nDATABASE_URL="mysql://root@127.0.0.1/app"\n` })
    expect(JSON.parse((await shell.run('init', other, '--yes', '--json')).stdout).database).toMatch(/^MySQL/)
    expect(readFileSync(join(other, 'geneva.config.mjs'), 'utf8')).toContain("process.loadEnvFile('.env')")
    const typed = application('typed', { type: 'module' })
    const { stdout } = await shell.run('init', typed, '--yes', '--language', 'ts')
    expect(stdout).toContain('allowImportingTsExtensions')
    expect(stdout).toContain('npm install --save-dev @types/node')
    expect(readFileSync(join(typed, 'geneva.config.ts'), 'utf8')).toContain("from './workflows/welcome.ts'")
    const env = { DATABASE_URL: 'sqlite:mine.db' }
    const third = application('third', { dependencies: { mysql2: '*' } })
    expect(JSON.parse((await runGeneva(['init', '--yes', '--json'], { cwd: third, env })).stdout).database).toBe(
      'SQLite',
    )
    expect(existsSync(join(third, 'workflows/welcome.mjs'))).toBe(true)
  })
})
