/** `geneva queues`, run as a person runs it, and what `geneva stuck` says of a paused queue. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'

class Letter extends Workflow {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {}
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-queues-'))
const url = `sqlite:${join(folder, 'geneva.db')}`
const module = join(folder, 'geneva.mjs')
const opened = () => new Geneva({ database: url, workflows: [Letter] })

beforeAll(() => {
  const library = new URL('../../.build/src/index.js', import.meta.url).href
  writeFileSync(
    module,
    `import { Geneva } from ${JSON.stringify(library)}
export const geneva = new Geneva({ database: ${JSON.stringify(url)} })`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function geneva(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

it('lists what stands in each queue, pauses one and resumes it, in words and as JSON', async () => {
  await using mine = opened()
  await mine.migrate()
  expect(await geneva('queues', 'list', module)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No queues/) })
  await mine.startMany(Letter, [{}, {}])
  const paused = await geneva('queues', 'pause', module, 'mail', '--by', 'ann', '--reason', 'the provider is down')
  expect(paused).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^mail: 0 running, 2 due \(the oldest for \d+ ms\), 0 later, PAUSED since \S+ by ann: the provider is down\n$/,
    ),
  })
  expect(await mine.runDue({ poll: 5, grace: 0 })).toBe(0)
  expect(JSON.parse((await geneva('queues', 'list', module, '--json')).stdout)).toMatchObject([
    { name: 'mail', paused: true, pausedBy: 'ann', pauseReason: 'the provider is down', due: 2, running: 0, later: 0 },
  ])
  expect(JSON.parse((await geneva('queues', 'resume', module, 'mail', '--json')).stdout)).toMatchObject({
    name: 'mail',
    paused: false,
  })
  expect(await mine.runDue({ poll: 5, grace: 0 })).toBe(2)
  await mine.queues.limit('mail', { concurrency: 3, rate: { limit: 5, per: '1 min' } })
  expect((await geneva('queues', 'list', module)).stdout).toBe(
    'mail: 0 running, 0 due, 0 later, at most 3 at once, at most 5 in 60000 ms\n',
  )
})

it('says of a queue that nobody knows that nothing stands in it, and needs a name', async () => {
  expect((await geneva('queues', 'resume', module, 'nobody')).stdout).toBe('nobody: nothing stands in it\n')
  expect((await geneva('queues', 'resume', module, 'nobody', '--json')).stdout).toBe('null\n')
  expect((await geneva('queues', 'pause', module)).code).toBe(2)
  expect((await geneva('queues', 'stop', module, 'mail')).code).toBe(2)
  expect(await geneva('queues', 'pause', module, '')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^geneva: /),
  })
})

it('stuck says that the queue is paused, by whom and why', async () => {
  await using mine = opened()
  const { id } = await mine.start(Letter)
  await mine.queues.pause('mail', { by: 'ann', reason: 'the provider is down' })
  const { code, stdout } = await geneva('stuck', module, '--for', '0 ms')
  expect(code).toBe(3)
  expect(stdout).toMatch(
    new RegExp(
      `^queue_paused  Letter ${id}\n  Step send is due since .*, but queue mail was paused at .* by ann: the provider`,
    ),
  )
})
