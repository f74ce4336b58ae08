/**
 * Every command prints, with `--json`, what the API document declares for it: the list of commands is taken from the program
 * itself, so that none can be left out.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, expect, it } from 'vitest'
import { makeProgram } from '../../src/cli/run-command-line.ts'
import { commandDocuments } from '../../src/http/command-documents.ts'
import { openApiDocument } from '../../src/http/open-api.ts'
import { routeTable } from '../../src/http/route-table.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { libraryUrl } from '../support/run-geneva.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-json-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const config = `import { defineSchedule, Geneva, Workflow } from ${JSON.stringify(libraryUrl)}

class Order extends Workflow {
  static {
    this.allowMultiple()
    this.step('reserve', { compensate: 'release' })
    this.step('charge', { onException: error => (error instanceof TypeError ? 'dlq' : 'pause') })
    this.human('approve')
    this.waitFor('delivered')
  }
  reserve() { this.emit('order.reserved', { at: new Date(0), slot: 7n }) }
  release() {}
  charge() {
    if (this.input.fail === 'dlq') throw new TypeError('no card')
    if (this.input.fail) throw new RangeError('declined')
  }
  approve() {}
  delivered() {}
}

class Nightly extends Workflow {
  static { this.step('sweep') }
  sweep() {}
}

export const geneva = new Geneva({
  database: process.env.DATABASE_URL,
  workflows: [Order, Nightly],
  schedules: [defineSchedule('nightly', { workflow: Nightly, cron: '0 3 * * *' })],
  onError: () => {},
})`

/** Every command that takes `--json`, by its words. */
function commandsWithJson(command: Command = makeProgram(), path = ''): string[] {
  const inner = command.commands.flatMap(each => commandsWithJson(each, `${path} ${each.name()}`.trim()))
  return command.options.some(({ long }) => long === '--json') ? [path, ...inner] : inner
}

it('the API document declares what each command prints', () => {
  expect(Object.keys(commandDocuments).toSorted()).toEqual(commandsWithJson().toSorted())
  const document = openApiDocument(routeTable()) as { 'x-command-line': Record<string, object> }
  expect(Object.keys(document['x-command-line'])).toEqual(Object.keys(commandDocuments))
  expect(document['x-command-line'].prune).toMatchObject({ type: 'object', required: ['workflows', 'complete'] })
})

forEachDatabase('every command', database => {
  it('prints with --json what is declared for it, and nothing else', async () => {
    const { url } = await database.isolated()
    const folder = join(root, database.name)
    mkdirSync(folder)
    writeFileSync(join(folder, 'geneva.config.mjs'), config)
    const shell = new CommandShell(folder, 'geneva.config.mjs', { DATABASE_URL: url })
    const seen = new Set<string>()

    /** Runs one, whatever its exit code, and holds each line that it prints to what is declared. Returns the last. */
    async function run(...args: string[]): Promise<any> {
      const name = Object.keys(commandDocuments).find(each => `${args.join(' ')} `.startsWith(`${each} `)) ?? ''
      seen.add(name)
      const { stdout, stderr } = await shell.run(...args, '--json')
      if (stdout === '') throw new Error(`geneva ${args.join(' ')} printed nothing: ${stderr}`)
      const lines = stdout.trimEnd().split('\n')
      if (name !== 'events') expect(lines).toHaveLength(1)
      const documents = lines.map(line => commandDocuments[name]?.parse(JSON.parse(line)))
      return documents.at(-1)
    }
    const start = async (input: object = {}): Promise<string> =>
      (await run('start', 'Order', '--input', JSON.stringify(input))).id

    await run('migrate', '--dry-run')
    await run('migrate', 'status')
    await run('migrate')
    await run('init', join(folder, 'fresh'), '--yes')
    const [good, paused, given, lost] = [
      await start(),
      await start({ fail: true }),
      await start({ fail: 'dlq' }),
      await start({ fail: 'dlq' }),
    ]
    await run('worker', '--once', '--poll', '5 ms')
    for (const look of [
      ['list'],
      ['executions', '--state', 'failed', 'canceled'],
      ['stats'],
      ['health'],
      ['check'],
      ['doctor'],
    ]) {
      await run(...look)
    }
    expect((await run('stuck', '--for', '0 ms')).items).not.toEqual([])
    for (const verb of ['show', 'explain', 'graph']) await run(verb, paused)
    await run('graph', 'Order', '--format', 'svg')

    await run('decide', good, 'approve', 'confirmed', '--by', 'ann')
    await run('signal', good, 'delivered', '--payload', '{"signedBy":"Bob"}', '--by', 'bob', '--reason', 'at the door')
    await run('worker', '--once', '--poll', '5 ms')
    await run('resolve', paused, 'charge', '--output', '{"paid":1}')
    await run('skip', paused, 'approve')
    await run('pause', paused)
    await run('resume', paused)
    await run('cancel', paused, '--dry-run')
    await run('pause', '--state', 'active', '--dry-run')
    await run('cancel', paused, '--yes')

    const { items } = await run('dlq', 'list')
    const letters: string[] = items.map(({ id }: { id: string }) => id)
    expect(items.map(({ workflowId }: { workflowId: string }) => workflowId)).toEqual([lost, given])
    await run('dlq', 'show', letters[0] ?? '')
    await run('dlq', 'requeue', letters[0] ?? '', '--input', '{"card":1}')
    await run('dlq', 'discard', letters[1] ?? '', '--then', 'skip')
    await run('reattempt', '--state', 'active', '--yes')
    await run('abort', '--state', 'active', '--yes')

    for (const group of ['queues', 'schedule']) {
      const name = group === 'queues' ? 'default' : 'nightly'
      await run(group, 'pause', name, '--by', 'ann', '--reason', 'maintenance')
      await run(group, 'list')
      await run(group, 'resume', name, '--by', 'bob', '--reason', 'all is well')
    }
    await run('schedule', 'trigger', 'nightly')
    await run('events')
    await run('prune', '--older-than', '0 ms', '--by', 'ann', '--reason', 'a tidy house')
    const asked = (await run('requests')).items
    expect(asked.map(({ action, by }: { action: string; by: string }) => `${action} by ${by}`)).toEqual([
      'workflow.prune by ann',
      'schedule.resume by bob',
      'schedule.pause by ann',
      'queue.resume by bob',
      'queue.pause by ann',
    ])
    // One that goes on until it is stopped has a test of its own, in `dashboard.test.ts`.
    expect([...seen, 'dashboard'].toSorted()).toEqual(commandsWithJson().toSorted())
  }, 60_000)
})
