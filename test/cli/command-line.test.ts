/** What all commands have in common: help with examples, completion, how they find the application, colours and exit codes. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { quoted, readPage, tableUnder } from '../docs/markdown.ts'
import { CommandShell } from '../support/command-shell.ts'
import { libraryUrl, runGeneva } from '../support/run-geneva.ts'

class Signup extends Workflow {
  static {
    this.step('greet')
  }
  greet() {}
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-command-line-'))
const url = `sqlite:${join(folder, 'geneva.db')}`
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(async () => {
  await using geneva = new Geneva({ database: url, workflows: [Signup] })
  await geneva.start(Signup)
})

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const commands =
  'init migrate worker start list show explain graph events dashboard pause resume skip resolve reattempt cancel abort decide signal dlq queues schedule stats stuck health requests check doctor prune completion'

it('every command is listed, and its help has examples', async () => {
  const { stdout } = await shell.run('--help')
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, name]) => name)
  expect(listed).toEqual(expect.arrayContaining(commands.split(' ')))
  expect(stdout).toContain('Exit codes: 0 done, 1 it went wrong, 2 wrong usage, 3 the answer is no.')
  for (const command of listed) {
    const help = await shell.run(command ?? '', '--help')
    expect(help).toMatchObject({ code: 0, stderr: '' })
    expect(help.stdout).toMatch(new RegExp(`\nExamples:\n {2}geneva ${command}\\b`))
    expect(help.stdout.split('\n').filter(line => line.length > 110)).toEqual([])
  }
  expect(await shell.run('list', '--stat', 'paused')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--state'),
  })
})

it('the guide to the command line lists every command, and every exit code', async () => {
  const guide = readPage('docs/guides/command-line.md')
  const { stdout } = await shell.run('--help')
  const listed = [...stdout.matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, name]) => name)
  const documented = tableUnder(guide, 'Commands').flatMap(([names]) => quoted(names))
  expect(documented.toSorted()).toEqual(listed.toSorted())
  expect(tableUnder(guide, 'Exit codes').map(([code]) => code)).toEqual(['0', '1', '2', '3'])
})

it('the recording of a terminal shows every command at work', () => {
  const typed = readFileSync(new URL('../../docs/guides/terminal.md', import.meta.url), 'utf8').matchAll(
    /^\$ geneva ([a-z]+)/gm,
  )
  const shown = new Set([...typed].map(([, command]) => command))
  expect(commands.split(' ').filter(command => !shown.has(command))).toEqual([])
})

it('completes commands, commands of groups and options in bash', async () => {
  const script = write('completion.bash', (await shell.run('completion', 'bash')).stdout)
  const complete = async (...words: string[]) => {
    const program = `source ${script}; COMP_WORDS=(geneva ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _geneva; echo "\${COMPREPLY[@]}"`
    return (await promisify(execFile)('bash', ['-c', program])).stdout.trim()
  }
  expect(await complete('re')).toBe('resume resolve reattempt requests')
  expect(await complete('dlq', '')).toBe('list show requeue discard --help')
  expect(await complete('dlq', 'requeue', '--in')).toBe('--input')
  expect(await complete('list', '--state', 'paused', '--w')).toBe('--watch')
  expect((await shell.run('completion', 'zsh')).stdout).toMatch(
    /^#compdef geneva\n[\s\S]*'requeue:let the work of letters go on'/,
  )
  expect((await shell.run('completion', 'fish')).stdout).toContain(
    "complete -c geneva -n '__fish_seen_subcommand_from dlq; and __fish_seen_subcommand_from requeue' -l input",
  )
  expect((await shell.run('completion', 'tcsh')).code).toBe(2)
})

it('the application is named by an argument, an option, the environment, or a config in the folder', async () => {
  const text = `import { Geneva } from ${JSON.stringify(libraryUrl)}
export const geneva = new Geneva({ database: ${JSON.stringify(url)} })`
  const module = write('app.mjs', text)
  const empty = write('empty.mjs', 'export const other = 1')
  const typed = write('typed.ts', text)
  const inside = mkdtempSync(join(folder, 'inside-'))
  writeFileSync(join(inside, 'geneva.config.mjs'), text.replace('export const geneva =', 'export default'))
  const [byArgument, byOption, byEnvironment, byConfig, byDatabase, without, ofType] = await Promise.all([
    runGeneva(['list', module, '--json'], { cwd: folder }),
    runGeneva(['list', '--app', './app.mjs', '--json'], { cwd: folder }),
    runGeneva(['list', '--json'], { cwd: tmpdir(), env: { GENEVA_APP: module } }),
    runGeneva(['list', '--json'], { cwd: inside }),
    runGeneva(['list', '--json'], { cwd: folder, env: { DATABASE_URL: url } }),
    runGeneva(['list', empty]),
    runGeneva(['list', typed]),
  ])
  for (const ended of [byArgument, byOption, byEnvironment, byConfig, byDatabase]) {
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(ended?.stdout ?? '').items).toMatchObject([{ type: 'Signup', state: 'ready' }])
  }
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('exports no Geneva') })
  // Where Node runs TypeScript, it is loaded; where it does not, the answer says so.
  if (ofType?.code !== 0) expect(ofType?.stderr).toMatch(/^geneva: Node \S+ does not run TypeScript by itself/)
}, 60_000)

it('colours are for terminals, and for whoever asks for them', async () => {
  const list = (env: NodeJS.ProcessEnv, ...more: string[]) =>
    runGeneva(['list', '--database', url, ...more], { cwd: folder, env })
  const [plain, forced, refused, without] = await Promise.all([
    list({}),
    list({ FORCE_COLOR: '1' }),
    list({ FORCE_COLOR: '1', NO_COLOR: '1' }),
    list({ FORCE_COLOR: '1' }, '--no-color'),
  ])
  expect(plain.stdout).not.toContain('\u001b')
  expect(forced.stdout).toContain('\u001b[34mready')
  expect(refused.stdout).not.toContain('\u001b')
  expect(without.stdout).not.toContain('\u001b')
}, 60_000)

it('a database that is mistyped or away is told in words, and no file is made of it', async () => {
  const path = join(folder, 'mistyped.db')
  const missing = await shell.run('list', '--database', `sqlite:${path}`)
  expect(missing).toEqual({
    code: 1,
    stdout: '',
    stderr: `geneva: There is no database file ${path}. Is the path right? \`geneva migrate\` makes it.\n`,
  })
  expect(existsSync(path)).toBe(false)
  for (const away of ['postgres://nobody@127.0.0.1:1/x', 'mysql://nobody@127.0.0.1:1/x']) {
    const { code, stderr } = await shell.run('list', '--database', away)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^geneva: The database \w+:\/\/nobody@127\.0\.0\.1:1\/x could not be opened: .* Nothing listens/,
    )
  }
  const { stderr } = await shell.run('dlq', 'show', '17', '--database', url)
  expect(stderr).toBe('geneva: There is no dead letter 17. `geneva dlq list` lists those that are open.\n')
}, 60_000)
