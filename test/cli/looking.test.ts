/** Commands that only look, with code that is newer than what the database knows: nothing of it may get there. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { defineSchedule, Geneva, Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { followGeneva, libraryUrl } from '../support/run-geneva.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-looking-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

class Signup extends Workflow {
  static {
    this.step('greet')
  }
  greet() {}
}

/** The checkout of somebody who is ahead of production: one more step, one more class, another cron, another limit. */
const newer = (url: string) => `import { defineSchedule, Geneva, Workflow } from ${JSON.stringify(libraryUrl)}
class Signup extends Workflow { static { this.step('greet'); this.step('remind') } greet() {} remind() {} }
class Parting extends Workflow { static { this.step('wave') } wave() {} }
export const geneva = new Geneva({
  database: ${JSON.stringify(url)},
  workflows: [Signup, Parting],
  schedules: [defineSchedule('nightly', { workflow: Signup, cron: '30 4 * * *' })],
  queues: { mail: { concurrency: 9 } },
  aging: { rate: 7 },
})`

/** A folder with newer code as its config, and what runs commands there. */
function checkout(url: string) {
  const folder = mkdtempSync(join(root, 'checkout-'))
  writeFileSync(join(folder, 'geneva.config.mjs'), newer(url))
  return { folder, shell: new CommandShell(folder, 'geneva.config.mjs') }
}

/** What the database knows, read without any code. */
async function known(url: string): Promise<object> {
  await using geneva = new Geneva({ database: url, migrate: false })
  const { graph } = (await geneva.views.definition('Signup')) ?? {}
  const definitions = await geneva.views.definitions()
  const queues = (await geneva.queues.list()).map(({ name, concurrency }) => ({ name, concurrency }))
  return { definitions, nodes: graph?.nodes.map(({ name }) => name), schedules: await geneva.schedules.list(), queues }
}

const looks = (id: string) =>
  [
    ['list'],
    ['executions'],
    ['show', id],
    ['explain', id],
    ['graph', id],
    ['graph', 'Signup'],
    ['events'],
    ['stats'],
    ['stuck'],
    ['health'],
    ['requests'],
    ['dlq', 'list'],
    ['queues', 'list'],
    ['schedule', 'list'],
    ['check'],
    ['doctor'],
    ['migrate', 'status'],
    ['migrate', '--dry-run'],
    ['pause', id, '--dry-run'],
    ['cancel', '--state', 'active', '--dry-run'],
    ['prune', '--older-than', '1 day', '--dry-run'],
  ] as const

forEachDatabase('whoever only looks', database => {
  it('leaves definitions, schedules and limits as they are, whatever code is at hand', async () => {
    const { url } = await database.isolated()
    const schedules = [defineSchedule('nightly', { workflow: Signup, cron: '0 3 * * *' })]
    const deployed = new Geneva({ database: url, workflows: [Signup], schedules, queues: { mail: { concurrency: 2 } } })
    const { id } = await deployed.start(Signup)
    await deployed.close()
    const before = await known(url)
    const { shell, folder } = checkout(url)
    for (const args of looks(id)) {
      expect({ args, ...(await shell.run(...args)) }).toMatchObject({ args, code: 0 })
      expect({ args, ...(await known(url)) }).toEqual({ args, ...before })
    }

    const dashboard = followGeneva(['dashboard', '--port', '0', '--read-only'], { cwd: folder })
    await dashboard.says('The dashboard is at ')
    const [address = ''] = /http:\S+/.exec(dashboard.printed.stderr) ?? []
    const shown = (await (await fetch(`${address}api/definitions/Signup`)).json()) as { graph: { nodes: object[] } }
    expect(shown.graph.nodes).toMatchObject([{ name: 'greet' }])
    expect(await (await fetch(`${address}api/workflows/${id}`)).json()).toMatchObject({
      type: 'Signup',
      state: 'ready',
    })
    expect(await dashboard.stop()).toBe(0)
    expect(await known(url)).toEqual(before)

    // Whoever asks for a change has the code at work.
    expect(await shell.run('pause', id)).toMatchObject({ code: 0 })
    expect(await known(url)).not.toEqual(before)
  }, 120_000)

  it('makes no tables and no file: what is missing is told, and a class is drawn all the same', async () => {
    const { url } = await database.isolated()
    const { shell } = checkout(url)
    const file = database.name === 'sqlite' ? url.replace('sqlite:', '') : null
    for (const args of [['list'], ['check'], ['doctor'], ['dashboard', '--port', '0', '--read-only']] as const) {
      const { code, stderr } = await shell.run(...args)
      expect({ args, code }).toEqual({ args, code: 1 })
      expect(stderr).toMatch(
        file === null ? /^geneva: The tables geneva_drive_\* are missing/ : /There is no database file/,
      )
    }
    expect(await shell.run('health')).toMatchObject({ code: 3 })
    expect((await shell.run('graph', 'Parting')).stdout).toMatch(/^Parting\n\n○ +wave/)
    expect(await shell.run('migrate', 'status')).toEqual({
      code: 3,
      stdout: '',
      stderr: 'The tables are missing. Run `geneva migrate`.\n',
    })
    expect((await shell.run('migrate', '--dry-run')).stdout).toContain('create table')
    if (file !== null) expect(existsSync(file)).toBe(false)
  }, 120_000)
})
