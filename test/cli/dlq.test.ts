/** `geneva dlq`, run as a person runs it, without the code of the workflows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { deadLetter, deadLetterDetail, page } from '../../src/http/wire-schemas.ts'
import { Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

let greets = true

class Seat extends Workflow {
  static {
    this.step('take', { compensate: { step: 'free', retry: 1 } })
    this.step('pay', { onException: 'rollback' })
  }
  take() {}
  free() {
    throw new Error('stuck')
  }
  pay() {
    throw new Error('no money')
  }
}

class Signup extends Workflow {
  static {
    this.step('greet', { onException: 'dlq' })
  }
  greet() {
    if (this.execution.input === undefined || !greets) throw new RangeError('no name')
    return this.execution.input
  }
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-dlq-'))
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('geneva dlq', database => {
  const under = useGeneva(database, { workflows: [Signup, Seat] })
  const dlq = (...args: string[]) => shell.run('dlq', ...args, '--database', under.url)
  const json = (...args: string[]) => shell.json('dlq', ...args, '--database', under.url)

  it('lists letters, shows one, requeues with another input, and discards', async () => {
    const started = (await under.geneva.startMany(Signup, [{}, {}])).map(wf => wf.id)
    await under.runDue()
    expect((await dlq('list')).stdout).toMatch(
      /^\d+ {2}Signup \d+, step greet, attempt 1, policy: RangeError: no name\n/,
    )
    const { items: letters } = page(deadLetter).parse(await json('list', '--step', 'greet'))
    const [first = '', second = ''] = started.map(id => letters.find(letter => letter.workflowId === id)?.id)
    const newest = page(deadLetter).parse(await json('list', '--limit', '1'))
    const older = await json('list', '--cursor', newest.nextCursor ?? '')
    expect([...newest.items, ...older.items]).toEqual(letters)

    const shown = (await dlq('show', first)).stdout
    expect(shown).toContain('RangeError: no name')
    expect(shown).toContain('Open.\nInput: none of its own\n')
    const detail = deadLetterDetail.parse(await json('show', first))
    expect(detail).toMatchObject({ node: 'greet', state: 'open', error: { name: 'RangeError', message: 'no name' } })

    expect(await dlq('requeue', first, '--input', '{"name":"Ann"}', '--by', 'bob')).toMatchObject({
      code: 0,
      stdout: '1 requeued.\n',
    })
    const discarded = await json('discard', second, '--then', 'abort', '--by', 'ann', '--yes')
    expect(deadLetterDetail.parse(discarded.items[0])).toMatchObject({ state: 'discarded', handledBy: 'ann' })
    expect((await under.geneva.find(started[1] ?? ''))?.state).toBe('aborted')
    expect((await dlq('list')).stdout).toBe('No dead letters.\n')
    expect((await dlq('list', '--all')).stdout).toContain('(requeued)')
    await under.runDue()
    expect(await (await under.geneva.find(Signup, started[0] ?? ''))?.output('greet')).toEqual({ name: 'Ann' })
  })

  it('shows the input that a letter was requeued with and given up again', async () => {
    const { id: workflowId } = await under.geneva.start(Signup)
    await under.runDue()
    const open = async () => (await under.geneva.deadLetters({ workflowId }))[0]?.id ?? ''
    await under.geneva.requeue(await open(), { input: { name: null } })
    greets = false
    await under.runDue()
    greets = true
    expect((await dlq('show', await open())).stdout).toContain('Input: {"name":null}\n')
    await dlq('discard', await open(), '--yes')
  })

  it('takes back what it shows: a corrected input has the bigints and dates that it had', async () => {
    const { id: workflowId } = await under.geneva.start(Signup)
    await under.runDue()
    const open = async () => (await under.geneva.deadLetters({ workflowId }))[0]?.id ?? ''
    const given = { name: 'An', amount: 500n, at: new Date(86_400_000), tags: new Set(['vip']) }
    await under.geneva.requeue(await open(), { input: given })
    greets = false
    await under.runDue()
    greets = true
    const { input } = deadLetterDetail.parse(await json('show', await open())) as { input: object }
    expect(input).toMatchObject({ amount: { $geneva: 'bigint', value: '500' } })
    expect((await dlq('show', await open())).stdout).toContain(`Input: ${JSON.stringify(input)}\n`)
    await dlq('requeue', await open(), '--input', JSON.stringify({ ...input, name: 'Ann' }))
    await under.runDue()
    expect(await (await under.geneva.find(Signup, workflowId))?.output('greet')).toEqual({ ...given, name: 'Ann' })

    const { id } = await under.geneva.start(Signup)
    await under.runDue()
    await shell.run('resolve', id, 'greet', '--output', JSON.stringify(input), '--database', under.url)
    expect(await (await under.geneva.find(Signup, id))?.output('greet')).toEqual(given)
  })

  it('tells which letters were handled before one of them failed', async () => {
    const [, second] = await under.geneva.startMany(Signup, [{}, {}])
    await under.runDue()
    const open = (await under.geneva.deadLetters()).map(letter => letter.id)
    const [first = '', other = ''] = open
    expect(await dlq('requeue', first, '999999', other)).toEqual({
      code: 1,
      stdout: '',
      stderr: `Only ${first} requeued, not 999999, ${other}.\ngeneva: There is no dead letter 999999. \`geneva dlq list\` lists those that are open.\n`,
    })
    expect((await under.geneva.deadLetters()).map(letter => letter.id)).toEqual([other])
    expect(await dlq('discard', other, first, '--then', 'skip')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`Only ${other} discarded, not ${first}.\n`),
    })
    expect((await second?.refresh())?.state).not.toBe('dlq')
    await under.runDue()
    for (const { id } of await under.geneva.deadLetters()) await dlq('discard', id, '--yes')
  })

  it('does not cancel workflows where nobody can be asked, unless it is told to', async () => {
    const wf = await under.geneva.start(Signup)
    await under.runDue()
    const id = (await under.geneva.deadLetters({ workflowId: wf.id }))[0]?.id ?? ''
    const refused = await dlq('discard', id)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(
      'Discard 1 dead letter, and cancel its workflow? Nobody can be asked here: say --yes',
    )
    expect((await dlq('discard', id, '--json')).code).toBe(2)
    const tried = await dlq('discard', id, '--then', 'abort', '--dry-run')
    expect(tried).toMatchObject({ code: 0, stdout: expect.stringContaining('Would discard 1 dead letter, and abort') })
    expect((await wf.refresh()).state).toBe('dlq')
    expect(await dlq('discard', id, '--yes')).toMatchObject({ code: 0, stdout: '1 discarded.\n' })
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('tells the letter of a compensation from that of a step, and shows no input of it', async () => {
    const wf = await under.geneva.start(Seat)
    await under.runDue()
    const { items } = page(deadLetter).parse(await json('list', '--workflow', wf.id))
    expect(items).toMatchObject([{ node: 'take', kind: 'compensate' }])
    const id = items[0]?.id ?? ''
    expect(deadLetterDetail.parse(await json('show', id)).input).toBeNull()
    const { stdout } = await dlq('show', id)
    expect(stdout).toContain(', undoing step take, attempt 1, compensation_exhausted: Error: stuck')
    expect(stdout).not.toContain('Input')
    expect((await dlq('requeue', id, '--input', '1')).stderr).toContain('it has no input to be replaced')
    expect((await dlq('discard', id)).stderr).toContain('Discard 1 dead letter? Nobody can be asked')
    await dlq('discard', id, '--yes')
    expect((await wf.refresh()).state).toBe('failed')
  })

  it('says what is wrong with its arguments', async () => {
    expect((await dlq('requeue', '999999')).stderr).toContain('999999')
    expect((await dlq('requeue', '1', '--input', '{')).code).toBe(2)
    expect(await dlq('requeue', '1', '--input', '{"at":{"$geneva":"moment","value":"now"}}')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the tag "moment" is unknown or does not fit its value'),
    })
    expect((await dlq('requeue', '1', '--input', '{"$geneva":"bigint","value":"many"}')).code).toBe(2)
    expect((await dlq('list', '--limit', '0')).code).toBe(2)
    expect(await dlq('frobnicate')).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown command') })
  })
})
