/** `geneva prune`, `stuck`, `stats` and `health`, run as a person runs them. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'

class Signup extends Workflow<null, { late?: boolean }> {
  static {
    this.step('greet')
  }
  greet() {
    if (this.input.late) this.pause('later')
  }
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-operating-'))
const url = `sqlite:${join(folder, 'geneva.db')}`
const module = join(folder, 'geneva.mjs')

beforeAll(async () => {
  const library = new URL('../../.build/src/index.js', import.meta.url).href
  writeFileSync(
    module,
    `import { Geneva, Workflow } from ${JSON.stringify(library)}
class Signup extends Workflow { static { this.step('greet') } greet() {} }
export const geneva = new Geneva({ database: ${JSON.stringify(url)}, workflows: [Signup] })`,
  )
  await using geneva = new Geneva({ database: url, workflows: [Signup] })
  await geneva.startMany(Signup, [{}, {}, {}, { input: { late: true } }])
  await geneva.runDue()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function geneva(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

it('stats tells the steps, in words and as JSON', async () => {
  expect((await geneva('stats', module)).stdout).toMatch(/^4 executions, .*\n\nSlowest\n {2}Signup\.greet: 4 times/)
  expect(JSON.parse((await geneva('stats', module, '--json')).stdout)).toMatchObject({ executions: 4, failures: [] })
})

it('stuck tells what stands still, by its exit code as well', async () => {
  const now = await geneva('stuck', module, '--for', '0 ms')
  expect(now).toMatchObject({ code: 3, stdout: expect.stringMatching(/^paused {8}Signup \d+\n {2}Paused since/) })
  expect(await geneva('stuck', module)).toMatchObject({ code: 0, stdout: 'Nothing is stuck.\n' })
})

it('health is ready with a database that answers, and says that nobody works', async () => {
  const health = await geneva('health', module)
  expect(health.code).toBe(0)
  expect(health.stdout).toMatch(
    /^degraded: database answered in \d+ ms; 0 workers alive; 0 executions are due\n {2}No worker/,
  )
})

it('prune counts first, then removes up to its limit, then the rest', async () => {
  const old = ['prune', module, '--older-than', '0 ms']
  expect((await geneva(...old, '--dry-run')).stdout).toBe('3 workflows would be removed.\n')
  expect((await geneva(...old, '--limit', '1')).stdout).toBe(
    '1 workflow removed. The limit was reached; there may be more.\n',
  )
  expect(JSON.parse((await geneva(...old, '--state', 'finished', '--json')).stdout)).toEqual({
    workflows: 2,
    complete: true,
    dryRun: false,
  })
  expect((await geneva('prune', module)).code).toBe(2)
  expect((await geneva(...old, '--state', 'paused')).code).toBe(2)
  expect(await geneva('prune', module, '--older-than', 'long')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not a usable duration'),
  })
})
