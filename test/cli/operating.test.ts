/** `geneva prune`, `stuck`, `stats` and `health`, run as a person runs them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { health as healthSchema } from '../../src/http/wire-schemas.ts'
import { Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Signup extends Workflow<null, { late?: boolean }> {
  static {
    this.step('greet')
  }
  greet() {
    if (this.input.late) this.pause('later')
  }
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-operating-'))
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('an operator', database => {
  const under = useGeneva(database, { workflows: [Signup] })
  const geneva = (...args: string[]) => shell.run(...args, '--database', under.url)
  beforeAll(async () => {
    await under.geneva.startMany(Signup, [{}, {}, {}, { input: { late: true } }])
    await under.runDue()
  })

  it('stats tells the steps, in words and as JSON', async () => {
    expect((await geneva('stats')).stdout).toMatch(/^4 executions, .*\n\nSlowest\n {2}Signup\.greet: 4 times/)
    expect(JSON.parse((await geneva('stats', '--json')).stdout)).toMatchObject({ executions: 4, failures: [] })
  })

  it('stuck tells what stands still, by its exit code as well', async () => {
    const now = await geneva('stuck', '--for', '0 ms')
    expect(now).toMatchObject({ code: 3, stdout: expect.stringMatching(/^paused {8}Signup \d+\n {2}Paused since/) })
    expect(await geneva('stuck')).toMatchObject({ code: 0, stdout: 'Nothing is stuck for 10 minutes or longer.\n' })
  })

  it('health is ready with a database that answers, and says that nobody works', async () => {
    const health = await geneva('health')
    expect(health.code).toBe(0)
    expect(health.stdout).toMatch(
      /^degraded: database answered in \d+ ms; 0 workers alive; 0 executions are due\n {2}No worker/,
    )
    healthSchema.parse(JSON.parse((await geneva('health', '--json')).stdout))
  })

  it('prune counts first, then removes up to its limit, then the rest', async () => {
    const old = ['prune', '--older-than', '0 ms']
    expect((await geneva(...old, '--dry-run')).stdout).toBe('3 workflows would be removed.\n')
    expect((await geneva(...old, '--limit', '1')).stdout).toBe(
      '1 workflow removed. The limit was reached; there may be more.\n',
    )
    expect(JSON.parse((await geneva(...old, '--state', 'finished', '--json')).stdout)).toEqual({
      workflows: 2,
      complete: true,
    })
    expect((await geneva('prune')).code).toBe(2)
    expect((await geneva(...old, '--state', 'paused')).code).toBe(2)
    expect(await geneva('prune', '--older-than', 'long')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--older-than takes a length of time, such as '90 min'"),
    })
  })
})
