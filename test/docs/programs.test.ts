/** The programs in the README and those of the tutorial do what the pages say, run as a reader would run them. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { codeBlocks, readPage, root } from './markdown.ts'

const [readme, diamond] = codeBlocks(readPage('README.md')).filter(({ info }) => info === 'ts')
const drawing = codeBlocks(readPage('README.md')).find(({ info }) => info === 'text')
const tutorial = codeBlocks(readPage('docs/start.md'))
const saga = codeBlocks(readPage('docs/guides/sagas.md'))
const dynamic = codeBlocks(readPage('docs/guides/dynamic-workflows.md'))
const build = join(root, '.build', 'docs-programs')
const folder = mkdtempSync(join(tmpdir(), 'geneva-docs-'))
const configuration = {
  extends: '../../tsconfig.programs.json',
  compilerOptions: { incremental: false, tsBuildInfoFile: null, rootDir: 'src', outDir: 'out' },
  include: ['src'],
}
const running = new Set<ReturnType<typeof spawn>>()

beforeAll(async () => {
  rmSync(build, { recursive: true, force: true })
  mkdirSync(join(build, 'node_modules', 'geneva-drive'), { recursive: true })
  mkdirSync(join(build, 'src'))
  const file = (name: string, text: string) => writeFileSync(join(build, name), text)
  file(
    'node_modules/geneva-drive/package.json',
    '{ "name": "geneva-drive", "type": "module", "exports": "./index.js" }',
  )
  file('node_modules/geneva-drive/index.js', `export * from ${JSON.stringify(join(root, '.build/src/index.js'))}\n`)
  file('package.json', '{ "type": "module" }')
  file('tsconfig.json', JSON.stringify(configuration))
  file('src/readme.ts', readme?.code ?? '')
  file('src/diamond.ts', diamond?.code ?? '')
  file('src/saga.ts', saga.find(({ info }) => info === 'ts')?.code ?? '')
  file('src/mailing.ts', dynamic.find(({ code }) => code.includes('class Mailing'))?.code ?? '')
  // Nobody waits that long in a test.
  for (const { file: name, code } of tutorial) if (name) file(`src/${name}`, code.replace("'10 seconds'", "'1 second'"))
  await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', build])
})
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

it('the README has a complete program within its first 25 lines', () => {
  const end = (readme?.line ?? Number.POSITIVE_INFINITY) + (readme?.code.split('\n').length ?? 0)
  expect(end).toBeLessThanOrEqual(25)
})

it('the program in the README runs its first step, and ends in good order on SIGTERM', async () => {
  const program = start('readme.js')
  await program.printed('Welcome, ann@example.com')
  program.child.kill('SIGTERM')
  expect(await program.ended).toEqual([0, null])
})

it('the diamond in the README prints exactly what stands below it', async () => {
  // In a folder of its own: the database is new, as a reader has it, and so is the id.
  const program = start('diamond.js', mkdtempSync(join(folder, 'diamond-')))
  expect(await program.ended).toEqual([0, null])
  expect(program.output()).toBe(`${drawing?.code}\n`)
})

it('the program in the guide to sagas prints what stands below it', async () => {
  const program = start('saga.js')
  expect(await program.ended).toEqual([0, null])
  expect(program.output().trim()).toBe(saga.find(({ info }) => info === 'text')?.code)
})

it('the program in the guide to dynamic workflows goes through items that an earlier node has found', async () => {
  const program = start('mailing.js')
  expect(await program.ended).toEqual([0, null])
  expect(program.output().trim()).toBe(dynamic.find(({ info }) => info === 'text')?.code)
})

it('the tutorial goes as it says: the workflow pauses on the error, is resumed, and finishes', async () => {
  const worker = start('worker.js')
  const starter = start('start.js')
  expect(await starter.ended).toEqual([0, null])
  await worker.printed('Welcome, ann@example.com')
  await worker.printed('the mail server is down')
  writeFileSync(join(folder, 'mail-server-is-up'), '')
  const fix = start('fix.js')
  expect(await fix.ended).toEqual([0, null])
  const shown = tutorial.find(({ info }) => info === 'text')?.code
  expect(
    fix
      .output()
      .split('\n')
      .map(line => line.trimEnd())
      .join('\n')
      .trim(),
  ).toBe(shown)
  await worker.printed('Have you looked into mail/ann@example.com?')
  expect(worker.output().match(/Welcome/g)).toHaveLength(1)
})

function start(name: string, cwd = folder) {
  const child = spawn(process.execPath, [join(build, 'out', name)], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let output = ''
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      for (const listener of listeners) listener()
    })
  }
  const ended = once(child, 'close')
  /** Resolves when the program has printed the text; rejects, with what it did print, if it ends without. */
  const printed = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (output.includes(text)) resolve()
      }
      listeners.add(look)
      look()
      ended.then(() => reject(new Error(`${name} ended without printing "${text}":\n${output}`)))
    })
  return { child, ended, printed, output: () => output }
}
