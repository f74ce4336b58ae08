/** What `npm start` runs, as a newcomer's machine would run it: compiled, in a process of its own, without a terminal. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { waitFor } from '../support/wait-for.ts'

const program = fileURLToPath(new URL('../../.build/examples/main.js', import.meta.url))
const saga = fileURLToPath(new URL('../../.build/examples/saga.js', import.meta.url))
const running = new Set<ChildProcessByStdio<null, Readable, Readable>>()
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'geneva-examples-'))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

it('the demo kills a worker, recovers its step, ends by itself with a summary, and leaves no file behind', async () => {
  const { code, stdout, stderr } = await ended(startDemo(program, '--headless'))
  expect(stderr).toBe('')
  expect(code).toBe(0)
  for (const line of [
    /worker [AB] \(pid \d+\) is killed with SIGKILL in mid-step/,
    /order Ann +✗ pack: its worker died, another one retries/,
    /order Ann +✓ pack, attempt 2 in worker [AB]/,
    /payment Ann +✗ charge: the gateway did not answer/,
    /payment Ann +✓ charge, attempt 3/,
    /signup Ann +⏳ survey in 7 days/,
    /signup Ben +– remind is skipped by its condition/,
    /invoice Ben +✓ tax, attempt 2/,
    /workflows finished: 5 of 5/,
    /crashes recovered: +[1-9]/,
    /simulated time: +9 days, in \d+\.\d s/,
  ]) {
    expect(stdout).toMatch(line)
  }
  expect(stdout).not.toContain('\x1b')
  expect(await readdir(folder)).toEqual([])
})

it('the saga undoes the purchases that fail, newest step first, and leaves no file behind', async () => {
  const { code, stdout, stderr } = await ended(startDemo(saga))
  expect(stderr).toBe('')
  expect(code).toBe(0)
  for (const part of [
    ['- charge, by refund', '- reserve, by release'],
    ['Ben  Dora approves: a good customer', 'Ben  payment p-Ben is refunded: no courier goes there'],
    ['Cleo payment p-Cleo is refunded: never heard of her', 'Cleo shelf A7 is free again'],
    ['finished: reserve completed', 'failed: reserve rolled_back', 'failed: reserve rolled_back'],
  ]) {
    expect(stdout).toMatch(new RegExp(part.join('(?:[^]*?\\n)')))
  }
  expect(await readdir(folder)).toEqual([])
})

it('the live demo serves the dashboard over workflows of every kind until it is interrupted', async () => {
  const demo = startDemo(program)
  const text = await printed(demo, 'Ctrl-C ends it')
  const [address = ''] = /http:\S+/.exec(text) ?? []
  const items = async (path: string) =>
    ((await (await fetch(`${address}api/${path}`)).json()) as { items: any[] }).items
  expect(await (await fetch(address)).text()).toContain('<title>Geneva Drive</title>')
  await waitFor(async () => (await items('approvals')).length === 2)
  await waitFor(async () => (await items('dead-letters')).length === 1)
  await waitFor(async () => (await items('workflows?type=OrderSaga&state=failed')).length > 0, 25_000)
  const started = (await items('workflows?limit=100')).map(({ type }) => type)
  for (const type of ['Welcome', 'OrderSaga', 'Newsletter', 'BulkImport', 'Expense', 'Payout'])
    expect(started).toContain(type)
  demo.kill('SIGINT')
  expect((await ended(demo)).code).toBe(0)
  expect(await readdir(folder)).toEqual([])
}, 60_000)

it('the demo can be interrupted, and removes its database then as well', async () => {
  const demo = startDemo(program, '--headless')
  await printed(demo, 'welcome')
  expect(await readdir(folder)).toHaveLength(1)
  demo.kill('SIGINT')
  expect((await ended(demo)).code).toBe(130)
  expect(await readdir(folder)).toEqual([])
})

function startDemo(path = program, ...args: string[]) {
  const env = { PATH: process.env.PATH, TMPDIR: folder, TEMP: folder, GENEVA_DEMO_HURRY: '1', GENEVA_DEMO_PORT: '0' }
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

async function ended(child: ReturnType<typeof startDemo>) {
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk))
  const [code] = await once(child, 'close')
  return { code: code as number | null, ...output }
}

function printed(child: ReturnType<typeof startDemo>, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      seen += chunk
      if (seen.includes(text)) resolve(seen)
    })
    child.once('close', () => reject(new Error(`The demo ended without printing ${text}:\n${seen}`)))
  })
}
