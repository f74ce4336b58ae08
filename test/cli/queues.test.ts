/** `geneva queues`, run as a person runs it, and what `geneva stuck` says of a paused queue. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { queue as queueSchema } from '../../src/http/wire-schemas.ts'
import { Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Letter extends Workflow {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {}
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-queues-'))
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('geneva queues', database => {
  const under = useGeneva(database, { workflows: [Letter] })
  const geneva = (...args: string[]) => shell.run(...args, '--database', under.url)

  it('lists what stands in each queue, pauses one and resumes it, in words and as JSON', async () => {
    const mine = under.geneva
    expect(await geneva('queues', 'list')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No queues/) })
    await mine.startMany(Letter, [{}, {}])
    const paused = await geneva('queues', 'pause', 'mail', '--by', 'ann', '--reason', 'the provider is down')
    expect(paused).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^mail: 0 running, 2 due \(the oldest for \d+ ms\), 0 later, PAUSED since .* UTC by ann: the provider is down\n$/,
      ),
    })
    expect(await mine.runDue({ poll: 5, grace: 0 })).toBe(0)
    const { items } = JSON.parse((await geneva('queues', 'list', '--json')).stdout)
    expect(items.map((item: unknown) => queueSchema.parse(item))).toMatchObject([
      {
        name: 'mail',
        paused: true,
        pausedBy: 'ann',
        pauseReason: 'the provider is down',
        due: 2,
        running: 0,
        later: 0,
      },
    ])
    expect(JSON.parse((await geneva('queues', 'resume', 'mail', '--json')).stdout)).toMatchObject({
      name: 'mail',
      paused: false,
    })
    expect(await mine.runDue({ poll: 5, grace: 0 })).toBe(2)
    await mine.queues.limit('mail', { concurrency: 3, rate: { limit: 5, per: '1 min' } })
    expect((await geneva('queues', 'list')).stdout).toBe(
      'mail: 0 running, 0 due, 0 later, at most 3 at once, at most 5 in 60000 ms\n',
    )
  })

  it('says of a queue that nobody knows that nothing stands in it, and needs a name', async () => {
    expect((await geneva('queues', 'resume', 'nobody')).stdout).toBe('nobody: nothing stands in it\n')
    expect((await geneva('queues', 'resume', 'nobody', '--json')).stdout).toBe('null\n')
    expect((await geneva('queues', 'pause')).code).toBe(2)
    expect((await geneva('queues', 'stop', 'mail')).code).toBe(2)
    expect(await geneva('queues', 'pause', '')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^geneva: /),
    })
  })

  it('stuck says that the queue is paused, by whom and why', async () => {
    const mine = under.geneva
    const { id } = await mine.start(Letter)
    await mine.queues.pause('mail', { by: 'ann', reason: 'the provider is down' })
    const { code, stdout } = await geneva('stuck', '--for', '0 ms')
    expect(code).toBe(3)
    expect(stdout).toMatch(
      new RegExp(
        `^queue_paused  Letter ${id}\n  Step send is due since .*, but queue mail was paused at .* by ann: the provider`,
      ),
    )
  })
})
