/** `geneva dlq`, run as a person runs it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type DeadLetter, Geneva, Workflow } from '../../src/index.ts'

class Signup extends Workflow {
  static {
    this.step('greet', { onException: 'dlq' })
  }
  greet() {
    if (this.execution.input === undefined) throw new RangeError('no name')
    return this.execution.input
  }
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-dlq-'))
const url = `sqlite:${join(folder, 'geneva.db')}`
const module = join(folder, 'geneva.mjs')
let started: string[] = []

beforeAll(async () => {
  const library = new URL('../../.build/src/index.js', import.meta.url).href
  writeFileSync(
    module,
    `import { Geneva, Workflow } from ${JSON.stringify(library)}
class Signup extends Workflow { static { this.step('greet') } greet() {} }
export const geneva = new Geneva({ database: ${JSON.stringify(url)}, workflows: [Signup] })`,
  )
  await using opened = new Geneva({ database: url, workflows: [Signup], onError: () => {} })
  started = (await opened.startMany(Signup, [{}, {}])).map(wf => wf.id)
  await opened.runDue()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function geneva(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', 'dlq', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

it('lists letters, shows one, requeues with another input, and discards', async () => {
  const list = await geneva('list', module)
  expect(list.stdout).toMatch(/^\d+ {2}Signup \d+, step greet, attempt 1, policy: RangeError: no name\n/)
  const letters = JSON.parse((await geneva('list', module, '--json')).stdout) as DeadLetter[]
  const [first, second] = started.map(id => letters.find(letter => letter.workflowId === id)?.id ?? '')
  const shown = await geneva('show', module, first ?? '')
  expect(shown.stdout).toContain('RangeError: no name')
  expect(shown.stdout).toContain('Open.')
  const requeued = await geneva('requeue', module, first ?? '', '--input', '{"name":"Ann"}', '--by', 'bob')
  expect(requeued).toMatchObject({ code: 0, stdout: '1 requeued.\n' })
  expect(await geneva('discard', module, second ?? '')).toMatchObject({ code: 0, stdout: '1 discarded.\n' })
  expect((await geneva('list', module)).stdout).toBe('No dead letters.\n')
  expect((await geneva('list', module, '--all')).stdout).toContain('(requeued)')
  await using opened = new Geneva({ database: url, workflows: [Signup] })
  await opened.runDue()
  expect(await (await opened.find(Signup, started[0] ?? ''))?.output('greet')).toEqual({ name: 'Ann' })
})

it('says what is wrong with its arguments', async () => {
  expect((await geneva('requeue', module, '999999')).stderr).toContain('999999')
  expect((await geneva('requeue', module, '1', '--input', '{')).code).toBe(2)
  expect((await geneva('list', module, '--limit', '0')).code).toBe(2)
})
