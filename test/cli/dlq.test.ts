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
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('geneva dlq', database => {
  const under = useGeneva(database, { workflows: [Signup] })
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
    expect(shown).toContain('Open.')
    const detail = deadLetterDetail.parse(await json('show', first))
    expect(detail).toMatchObject({ node: 'greet', state: 'open', error: { name: 'RangeError', message: 'no name' } })

    expect(await dlq('requeue', first, '--input', '{"name":"Ann"}', '--by', 'bob')).toMatchObject({
      code: 0,
      stdout: '1 requeued.\n',
    })
    const discarded = await json('discard', second, '--then', 'abort', '--by', 'ann')
    expect(deadLetterDetail.parse(discarded.items[0])).toMatchObject({ state: 'discarded', handledBy: 'ann' })
    expect((await under.geneva.find(started[1] ?? ''))?.state).toBe('aborted')
    expect((await dlq('list')).stdout).toBe('No dead letters.\n')
    expect((await dlq('list', '--all')).stdout).toContain('(requeued)')
    await under.runDue()
    expect(await (await under.geneva.find(Signup, started[0] ?? ''))?.output('greet')).toEqual({ name: 'Ann' })
  })

  it('says what is wrong with its arguments', async () => {
    expect((await dlq('requeue', '999999')).stderr).toContain('999999')
    expect((await dlq('requeue', '1', '--input', '{')).code).toBe(2)
    expect((await dlq('list', '--limit', '0')).code).toBe(2)
    expect(await dlq('frobnicate')).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown command') })
  })
})
