/** The commands that start, find, show and steer workflows, run as a person runs them, with JSON held to the schemas of the HTTP API. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changedMany } from '../../src/http/command-documents.ts'
import {
  attempt,
  execution,
  explanation,
  graph,
  page,
  schedule,
  workflowDetail,
  workflowPage,
} from '../../src/http/wire-schemas.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { makeOrder, openSameStore } from '../support/open-store.ts'
import { followGeneva, libraryUrl } from '../support/run-geneva.ts'

const root = mkdtempSync(join(tmpdir(), 'geneva-workflows-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const config = `import { defineHero, defineSchedule, Geneva, Workflow } from ${JSON.stringify(libraryUrl)}

const Orders = defineHero('Order', { id: order => order.id, load: id => ({ id }) })

class Order extends Workflow {
  static {
    this.heroes(Orders)
    this.step('reserve', { compensate: 'release' })
    this.step('charge')
    this.human('approve', { prompt: 'Ship it?' })
    this.waitFor('delivered')
  }
  reserve() { return { slot: 7 } }
  release() {}
  charge() { if (this.input.fail) throw new RangeError('card \\u001b[31mdeclined') }
  approve(decision) { return decision.by }
  delivered({ payload }) { return payload }
}

class Import extends Workflow {
  static { this.resumableStep('rows') }
  async rows(iter) {
    iter.progress({ total: 4 })
    for await (const row of iter.over([1, 2, 3, 4])) if (row === 3 && !iter.resumed) iter.suspend({ wait: '1 hour' })
  }
}

class Kinds extends Workflow {
  static { this.waitFor('told') }
  told({ payload }) { return [this.input.amount + payload.amount, this.input.at < payload.at] }
}

class Nightly extends Workflow {
  static { this.step('sweep') }
  sweep() { return 'swept' }
}

export const geneva = new Geneva({
  database: process.env.DATABASE_URL,
  workflows: [Order, Import, Kinds, Nightly],
  schedules: [defineSchedule('nightly', { workflow: Nightly, cron: '0 3 * * *' })],
  onError: () => {},
})`

/** A folder with a config, as an application has it, on a database of its own. */
class Application {
  readonly folder: string
  readonly url: string
  readonly #shell: CommandShell

  constructor(name: string, url: string) {
    this.url = url
    this.folder = join(root, name)
    mkdirSync(this.folder)
    writeFileSync(join(this.folder, 'geneva.config.mjs'), config)
    this.#shell = new CommandShell(this.folder, 'geneva.config.mjs', { DATABASE_URL: url })
  }

  run(...args: string[]) {
    return this.#shell.run(...args)
  }

  json(...args: string[]): Promise<any> {
    return this.#shell.json(...args)
  }

  /** In a process of its own, which finds the config by itself. */
  follow(...args: string[]) {
    return followGeneva(args, { cwd: this.folder, env: { DATABASE_URL: this.url } })
  }

  async start(hero: string, input: object = {}, ...more: string[]): Promise<string> {
    return (await this.json('start', 'Order', '--hero', hero, '--input', JSON.stringify(input), ...more)).id
  }

  work(): Promise<{ executions: number }> {
    return this.json('worker', '--once', '--poll', '5 ms')
  }
}

forEachDatabase('commands', database => {
  let app: Application
  beforeAll(async () => {
    app = new Application(database.name, (await database.isolated()).url)
  })

  it('find what stands still by state, class, record, age and error, and show why', async () => {
    const failing = await app.start('Order:1', { fail: true })
    const waiting = await app.start('Order:2', {}, '--tag', 'vip', '--key', 'order-2')
    expect(await app.start('Order:2', {}, '--tag', 'vip', '--key', 'order-2')).toBe(waiting)
    expect(await app.work()).toEqual({ executions: expect.any(Number) })

    const all = workflowPage.parse(await app.json('list'))
    expect(all.items.map(({ id, state, at }) => ({ id, state, at }))).toEqual([
      { id: waiting, state: 'ready', at: ['approve'] },
      { id: failing, state: 'paused', at: ['charge'] },
    ])
    const found = async (...args: string[]) =>
      (await app.json('list', ...args)).items.map(({ id }: { id: string }) => id)
    expect(await found('--state', 'paused', 'dlq', '--error', 'declined', '--newer-than', '1 hour')).toEqual([failing])
    expect(await found('--hero', 'Order:2', '--type', 'Order', 'Nightly', '--at', 'approve')).toEqual([waiting])
    expect(await found('--tag', 'vip', '--older-than', '1 hour')).toEqual([])
    const first = await app.json('list', '--limit', '1')
    expect(await found('--cursor', first.nextCursor)).toEqual([failing])

    const text = (await app.run('list')).stdout
    expect(text).toMatch(/^ID +TYPE +HERO +STATE +AGE +AT\n/)
    expect(text).toMatch(new RegExp(`${failing} +Order +Order:1 +paused .*charge: RangeError: card .*declined`))
    expect(text).not.toContain('\u001b')

    const shown = (await app.run('show', failing)).stdout
    expect(shown).toMatch(new RegExp(`^Order ${failing} \\(paused\\)\n\n✓ +reserve +completed\n│\n✗ +charge +failed`))
    expect(shown).toContain('about Order 1 · started ')
    expect(shown).toMatch(
      /Timeline: .*\n {2}reserve +░*█.*✓ .*completed\n {2}charge +░*█.*✗ .*RangeError: card .*declined/,
    )
    expect(shown).not.toContain('\u001b')
    const document = await app.json('show', failing)
    expect(workflowDetail.parse(document.workflow)).toMatchObject({ input: { fail: true }, actions: expect.any(Array) })
    graph.parse(document.graph)
    expect(document.history.map((row: unknown) => attempt.parse(row).node)).toEqual(['reserve', 'charge'])
    expect(explanation.parse(document.explanation).sentence).toBe((await app.json('explain', failing)).sentence)
  }, 60_000)

  it('say that a search does not look at all there is, and refuse to change some of it', async () => {
    const store = await openSameStore(app.url)
    const record = (index: number) => ({ type: 'Customer', idText: `cus_${index}`, idKind: 'string' }) as const
    const orders = Array.from({ length: 1001 }, (_, index) => makeOrder(store, { hero: record(index) }))
    await store.start(await Promise.all(orders))
    const text = await app.run('list', '--search', 'cus_', '--type', 'Order')
    expect(text.stdout).toMatch(/^No workflows\.\n\nNot all were looked at: .*Search for more of the id\.$/m)
    expect((await app.run('list', '--search', 'cus_1')).stdout).not.toContain('Not all')
    expect(workflowPage.parse(await app.json('list', '--search', 'cus_', '--limit', '3')).capped).toBe(true)
    // The code of these is nowhere, and still they are known.
    expect(await app.json('cancel', '--type', 'Sample', '--dry-run')).toMatchObject({ count: 1001 })
    const canceled = await app.run('cancel', '--search', 'cus_', '--yes')
    expect(canceled).toMatchObject({ code: 1, stderr: expect.stringContaining('Search for more of the id') })
    expect((await app.json('list', '--search', 'cus_', '--state', 'canceled')).items).toEqual([])
    await store.close()
  }, 60_000)

  it('list executions by state, class and step, in pages, and say what is wrong with an option', async () => {
    const id = (await app.json('start', 'Import')).id
    await app.work()
    const found = async (...args: string[]) =>
      page(execution)
        .parse(await app.json('executions', ...args))
        .items.map(({ workflowId, node, state }) => `${workflowId} ${node} ${state}`)
    expect(await found('--state', 'suspended', '--type', 'Import', '--step', 'rows')).toEqual([`${id} rows suspended`])
    expect(await found('--not-due', '--queue', 'default', '--type', 'Import')).toEqual([`${id} rows suspended`])
    expect(await found('--due', '--type', 'Import')).toEqual([])
    expect((await found('--state', 'failed', '--step', 'charge')).length).toBeGreaterThan(0)
    const first = await app.json('executions', '--limit', '1')
    expect(await found('--limit', '500', '--cursor', first.nextCursor)).not.toContain(
      `${first.items[0].workflowId} ${first.items[0].node} ${first.items[0].state}`,
    )
    const text = (await app.run('executions', '--state', 'failed', '--limit', '1')).stdout
    expect(text).toMatch(
      /^ID +WORKFLOW +STEP +ATTEMPT +STATE +WHEN +WHAT\n\d+ +Order \d+ +charge +1 +failed +.*RangeError: card/,
    )
    expect(text).not.toContain('\u001b')
    expect((await app.run('executions', '--state', 'suspended')).stdout).toMatch(/rows +1 +suspended +in .*2 of 4/)
    expect(await app.run('executions', '--state', 'running')).toMatchObject({ code: 2 })
    expect(await app.run('executions', '--due', '--not-due')).toMatchObject({ code: 2 })
    expect((await app.run('executions', '--state', 'failed', '--queue', 'x')).stderr).toContain('stands in no queue')
    await app.json('cancel', id, '--yes')
  }, 60_000)

  it('start one beside the active workflow of a record only where that is asked for', async () => {
    const first = await app.start('Order:9')
    const refused = await app.run('start', 'Order', '--hero', 'Order:9')
    expect(refused.stderr).toContain(`already active for Order 9 as workflow ${first}`)
    const second = await app.start('Order:9', {}, '--allow-multiple')
    expect(second).not.toBe(first)
    for (const id of [first, second]) await app.json('cancel', id, '--yes')
  }, 60_000)

  it('steer one workflow, or all that a filter finds, and record who asked and why', async () => {
    const id = await app.start('Order:3', { fail: true }, '--tag', 'steered')
    await app.work()
    const dry = await app.run('reattempt', '--tag', 'steered', '--dry-run')
    expect(dry.stdout).toBe(`1 workflow would be reattempted.\n  Order ${id}, paused at charge\n`)
    const unasked = await app.run('reattempt', '--tag', 'steered')
    expect(unasked).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Reattempt 1 workflow? Nobody can be asked'),
    })
    const many = await app.json('reattempt', '--tag', 'steered', '--step', 'charge', '--yes', '--by', 'ann')
    expect(many).toEqual({ dryRun: false, found: 1, changed: 1, refused: [] })
    await app.work()

    expect((await app.run('pause', id)).stdout).toBe(`Order ${id} is now paused.\n`)
    const resolved = await app.run('resolve', id, '--output', '{"paid":true}', '--by', 'ann', '--reason', 'by phone')
    expect(resolved.stdout).toBe(`Order ${id}: what had failed resolved. It is now paused.\n`)
    expect(workflowDetail.parse(await app.json('pause', id)).state).toBe('paused')
    expect((await app.run('resume', id, '--dry-run')).stdout).toContain('It is paused, and may be asked to resume')
    expect((await app.json('resume', id)).state).toBe('ready')

    const preview = await app.run('cancel', id, '--dry-run')
    expect(preview.stdout).toContain(
      'Would be undone, in this order:\n  1. charge (attempt 3): nothing to call\n  2. reserve: release\n',
    )
    expect((await app.run('cancel', id)).code).toBe(2)
    expect((await app.run('cancel', id, '--yes', '--by', 'ann')).stdout).toContain(`Order ${id} is now rolling_back.`)
    await app.work()
    const { workflow } = await app.json('show', id)
    expect(workflow.state).toBe('canceled')
    for (const args of [[], ['--dry-run'], ['--yes']]) {
      expect(await app.run('cancel', id, ...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `geneva: Workflow ${id} is canceled: cannot cancel it. It has ended.\n`,
      })
    }
    const events = (await app.run('events', '--workflow', id)).stdout
    expect(events).toContain('by phone, by ann')

    const other = await app.start('Order:4', {}, '--tag', 'aborted')
    expect(await app.json('abort', '--tag', 'aborted', '--state', 'active', '--yes')).toMatchObject({ changed: 1 })
    expect((await app.run('skip', other, 'charge')).code).toBe(1)
  }, 60_000)

  it('change nothing where a type is unknown: it may be an id that --type has swallowed', async () => {
    const id = await app.start('Order:11', {}, '--tag', 'swallowed')
    for (const args of [[], ['--tag', 'swallowed'], ['--dry-run'], ['--json']]) {
      const refused = await app.run('cancel', '--type', 'Order', id, '--yes', ...args)
      expect({ args, ...refused }).toMatchObject({ args, code: 2, stdout: '' })
      expect(refused.stderr).toContain(
        `The tables know no workflow and no code by the name ${id}. Known are: Import, Kinds, Nightly, Order. For one`,
      )
    }
    expect((await app.json('show', id)).workflow.state).toBe('ready')
    expect(await app.json('cancel', '--type', 'Order', 'Import', '--tag', 'swallowed', '--yes')).toMatchObject({
      changed: 1,
    })
  }, 60_000)

  it('say by the exit code that some of many have refused, and what came of it where none was found', async () => {
    const id = await app.start('Order:12', { fail: true }, '--tag', 'refusing')
    const refused = await app.run('reattempt', '--tag', 'refusing', '--step', 'charge', '--yes')
    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(`^0 of 1 workflow reattempted.\n1 refused:\n  ${id}: `),
    })
    const document = await app.run('reattempt', '--tag', 'refusing', '--step', 'charge', '--yes', '--json')
    expect(document).toMatchObject({ code: 1, stderr: '' })
    expect(changedMany.parse(JSON.parse(document.stdout))).toMatchObject({
      dryRun: false,
      found: 1,
      changed: 0,
      refused: [{ id }],
    })
    await app.json('cancel', id, '--yes')

    const none = await app.json('cancel', '--tag', 'nowhere', '--yes')
    expect(changedMany.parse(none)).toEqual({ dryRun: false, found: 0, changed: 0, refused: [] })
    expect(await app.run('cancel', '--tag', 'nowhere')).toMatchObject({
      code: 0,
      stdout: '0 workflows would be canceled.\n',
    })
    expect(await app.json('cancel', '--tag', 'nowhere', '--dry-run')).toEqual({
      dryRun: true,
      count: 0,
      capped: false,
      sample: [],
    })
  }, 60_000)

  it('tell workflows what people decide and what has happened', async () => {
    const confirmed = await app.start('Order:5')
    const rejected = await app.start('Order:6')
    await app.work()
    const yes = await app.json('decide', confirmed, 'approve', 'confirmed', '--by', 'bob')
    expect(workflowDetail.parse(yes).decisions).toMatchObject([{ node: 'approve', decision: 'confirmed', by: 'bob' }])
    const no = await app.run('decide', rejected, 'approve', 'rejected', '--by', 'ann', '--comment', 'too much')
    expect(no.stdout).toBe(`approve is rejected by ann. Order ${rejected} is aborted.\n`)
    const again = await app.run('decide', rejected, 'approve', 'confirmed', '--by', 'bob')
    expect(again).toMatchObject({ code: 1, stdout: '' })

    const watching = app.follow('show', confirmed, '--watch', '--json', '--every', '50 ms')
    await watching.says('"workflow"')
    await app.run('signal', confirmed, 'delivered', '--payload', '{"signedBy":"Bob"}', '--by', 'post')
    await app.work()
    // It ends by itself, with the workflow.
    expect(await watching.ended).toBe(0)
    const lines = watching.printed.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.at(-1).workflow).toMatchObject({ state: 'finished', output: { signedBy: 'Bob' } })
  }, 60_000)

  it('draw workflows with and classes without states, and show how far a resumable step is', async () => {
    const { id } = await app.json('start', 'Import')
    await app.work()
    expect((await app.run('show', id)).stdout).toMatch(/Progress\n {2}rows {2}█{12}░{12} {2}50 % · 2 of 4/)
    const withoutCode = ['--database', app.url]
    expect((await app.run('graph', id, '--format', 'mermaid', ...withoutCode)).stdout).toContain('graph TD')
    expect((await app.run('graph', 'Order', ...withoutCode)).stdout).toMatch(/^Order\n\n○ +reserve\n│\n○ +charge/)
    const file = join(app.folder, 'order.svg')
    expect(await app.run('graph', 'Order', '-f', 'svg', '--out', file)).toMatchObject({ code: 0, stdout: '' })
    expect(await app.json('graph', 'Order', '-f', 'dot')).toMatchObject({ format: 'dot', drawing: /^digraph/ })
    expect(await app.run('graph', 'Nobody')).toMatchObject({ code: 1, stderr: expect.stringContaining('Nobody') })
  }, 60_000)

  it('watch a list as it changes, work until told, and start by the clock or at once', async () => {
    const watching = app.follow('list', '--watch', '--json', '--every', '50 ms', '--type', 'Nightly')
    await watching.says('"items":[]')
    const worker = app.follow('worker', '--poll', '20 ms')
    const done = await app.json('start', 'Nightly', '--wait', '20 s')
    expect(workflowDetail.parse(done)).toMatchObject({ state: 'finished', output: 'swept' })
    const { workflowId } = await app.json('schedule', 'trigger', 'nightly')
    await watching.says(`"id":"${workflowId}"`)
    expect(await watching.stop()).toBe(0)
    for (const line of watching.printed.stdout.trim().split('\n')) workflowPage.parse(JSON.parse(line))
    expect(await worker.stop('SIGTERM')).toBe(0)
    expect(worker.printed.stderr).toContain('Stopped in good order.')

    const paused = await app.json('schedule', 'pause', 'nightly', '--by', 'ann', '--reason', 'broken')
    expect(schedule.parse(paused)).toMatchObject({ paused: true, pausedBy: 'ann', pauseReason: 'broken' })
    expect((await app.run('schedule', 'list')).stdout).toMatch(/nightly +Nightly +0 3 \* \* \* .*paused by ann: broken/)
    expect((await app.json('schedule', 'resume', 'nightly')).nextAt).toMatch(/T03:00:00/)
  }, 60_000)

  it('take payloads as they print them, with bigints and dates', async () => {
    const kinds = (amount: string, value: string) => {
      const tagged = { amount: { $geneva: 'bigint', value: amount }, at: { $geneva: 'date', value } }
      return JSON.stringify(tagged)
    }
    const { id } = await app.json('start', 'Kinds', '--input', kinds('500', '2026-01-01T00:00:00.000Z'))
    const { workflow } = await app.json('show', id)
    expect(JSON.stringify(workflow.input)).toBe(kinds('500', '2026-01-01T00:00:00.000Z'))
    await app.run('signal', id, 'told', '--payload', kinds('1', '2026-01-02T00:00:00.000Z'))
    await app.work()
    const { history } = await app.json('show', id)
    expect(history).toMatchObject([{ node: 'told', output: [{ $geneva: 'bigint', value: '501' }, true] }])
  })
})

it('a mistake is answered with what to do, by its exit code, and without a stack trace', async () => {
  const folder = mkdtempSync(join(root, 'mistakes-'))
  const env = { DATABASE_URL: `sqlite:${join(folder, 'mistakes.db')}` }
  const shell = new CommandShell(folder, null, env)
  await shell.run('migrate')
  const mistakes: readonly (readonly [string, number, string])[] = [
    ['pause', 2, 'Give an id, or a filter'],
    ['pause 1 --state paused', 2, 'not both'],
    ['list --state lost', 2, 'Allowed choices are'],
    ['list --hero Order', 2, 'such as Order:42'],
    ['list --older-than soon', 2, "takes a length of time, such as '90 min'"],
    ['list --limit 0', 2, 'whole number from 1 to 500'],
    ['dlq frobnicate', 2, "unknown command 'frobnicate'"],
    ['start Order', 2, 'needs the code'],
    ['worker --app ./nowhere.js', 1, 'There is no file ./nowhere.js'],
    ['show 999999', 1, '999999'],
    ['show not-an-id', 1, 'not-an-id'],
    ['cancel 999999 --yes', 1, '999999'],
    ['cancel --type Order 4711 --yes', 2, 'no workflow and no code by the name Order or 4711'],
    ['decide 999999 approve maybe --by ann', 2, 'Allowed choices are'],
    ['signal 999999 x --payload {', 2, 'It takes JSON'],
  ]
  const answers = await Promise.all(
    mistakes.map(async ([line]) => ({ line, ...(await shell.run(...line.split(' '))) })),
  )
  for (const [index, { stdout, stderr, code, line }] of answers.entries()) {
    const [, expected, text] = mistakes[index] ?? []
    expect({ line, code, stdout }).toEqual({ line, code: expected, stdout: '' })
    expect(stderr).toContain(text)
    expect(stderr).not.toMatch(/^ {4}at /m)
  }
}, 60_000)
