/** Ages that a person types are counted by the clock of the database, whatever the host at which they are typed believes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Signup extends Workflow {
  static {
    this.step('greet', { wait: '1 hour' })
  }
  greet() {}
}

const threeDays = 3 * 24 * 3_600_000
const folder = mkdtempSync(join(tmpdir(), 'geneva-wrong-clock-'))
const clock = join(folder, 'clock.mjs')
writeFileSync(
  clock,
  `const Real = Date
globalThis.Date = class extends Real {
  constructor(...args) { args.length === 0 ? super(Real.now() + ${threeDays}) : super(...args) }
  static now() { return Real.now() + ${threeDays} }
}`,
)
const shell = new CommandShell(folder, null, { NODE_OPTIONS: `--import=${pathToFileURL(clock).href}` })
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('on a host three days ahead', database => {
  const under = useGeneva(database, { workflows: [Signup] })

  it('--older-than and --newer-than go by the clock of the database', async () => {
    const { id } = await under.geneva.start(Signup)
    const run = (...args: string[]) => shell.run(...args, '--database', under.url)
    const many = await run('cancel', '--type', 'Signup', '--older-than', '1 day', '--dry-run')
    expect(many).toMatchObject({ code: 0, stdout: '0 workflows would be canceled.\n' })
    expect((await run('list', '--older-than', '1 day')).stdout).toBe('No workflows.\n')
    expect((await run('list', '--newer-than', '1 hour')).stdout).toContain(id)
  })

  it('views count an age back from the time of the database', async () => {
    await under.setClock(2 * 3_600_000)
    const { id } = await under.geneva.start(Signup)
    const found = async (options: { olderThan?: '1 hour'; newerThan?: '1 hour' }) =>
      (await under.geneva.views.workflows(options)).items.map(item => item.id === id)
    expect(await found({ olderThan: '1 hour' })).toEqual([false])
    expect(await found({ newerThan: '1 hour' })).toEqual([true])
    expect(await under.geneva.all({ where: { olderThan: '1 hour' } }).count()).toBe(1)
    await under.setClock(0)
  })
})
