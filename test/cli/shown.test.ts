/** What a person at a terminal sees of decisions, of waiting and of ends, without the code of the workflows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type Decision, Workflow } from '../../src/index.ts'
import { Booking } from '../support/booking.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Document extends Workflow {
  static {
    this.human('review', { quorum: 2, deadline: '1 hour' })
  }
  review(_: Decision) {}
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-shown-'))
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('a person at a terminal', database => {
  const under = useGeneva(database, { workflows: [Document, Booking] })
  const geneva = (...args: string[]) => shell.run(...args, '--database', under.url)

  it('sees how many have confirmed, who, how many are needed and until when', async () => {
    const wf = await under.geneva.start(Document)
    await under.runDue()
    expect((await geneva('explain', wf.id)).stdout).toMatch(
      /review {2}waiting, for people to decide, 0 of 2 have confirmed, until [\d :-]+ UTC\n/,
    )
    const first = await geneva('decide', wf.id, 'review', 'confirmed', '--by', 'ann', '--comment', 'well done')
    expect(first.stdout).toBe(`review has 1 of 2 confirmations (ann), the last by ann. Document ${wf.id} is ready.\n`)
    const explained = (await geneva('explain', wf.id)).stdout
    expect(explained).toMatch(
      /Step review waits for 2 people to decide \(1 of 2 has confirmed: ann\) until \S+ \S+ UTC\.\n/,
    )
    expect(explained).toMatch(
      /review {2}waiting, for people to decide, 1 of 2 has confirmed: ann, until [\d :-]+ UTC\n/,
    )
    expect((await geneva('show', wf.id)).stdout).toMatch(/\nDecisions\n {2}review {2}confirmed by ann, .*: well done\n/)
    const again = await geneva('decide', wf.id, 'review', 'confirmed', '--by', 'ann')
    expect(again.stderr).toContain('`geneva show` shows what was decided')
    const second = await geneva('decide', wf.id, 'review', 'confirmed', '--by', 'bob')
    expect(second.stdout).toBe(`review is confirmed by bob. Document ${wf.id} is ready.\n`)
  })

  it('sees for how long a step has waited for people', async () => {
    const wf = await under.geneva.start(Document)
    await under.runDue()
    expect((await geneva('show', wf.id)).stdout).toMatch(/\n {2}review +░.* waiting\n/)
    await under.setClock(3_700_000)
    await under.runDue()
    expect((await geneva('show', wf.id)).stdout).toMatch(/\n {2}review +░+█ .*waited 1 h.*NothingCameError/)
    await under.setClock(0)
  })

  it('sees why a workflow has failed, and what is left to do', async () => {
    const wf = await under.geneva.start(Booking)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    const shown = (await geneva('show', wf.id)).stdout.replaceAll(/\s+/g, ' ')
    expect(shown).toMatch(/It failed at .*: no plane; what undoes step seat was given up/)
    expect(shown).toContain(`requeue or discard letter ${letter?.id}.`)
  })

  it('who gives the id of a workflow for that of a letter is told its letters', async () => {
    const wf = await under.geneva.start(Booking)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect(await geneva('dlq', 'show', wf.id)).toMatchObject({
      code: 2,
      stderr: `geneva: There is no dead letter ${wf.id}. It is the id of a workflow, whose letters are ${letter?.id} (step seat, open).\n`,
    })
    expect((await geneva('dlq', 'show', '999999')).stderr).toContain(
      'There is no dead letter 999999. `geneva dlq list`',
    )
  })

  it('is told of a class of which nobody has heard', async () => {
    const listed = await geneva('list', '--type', 'Bookingg')
    const hint = 'The tables know no workflow and no code by the name Bookingg. Known are: Booking, Document.'
    expect(listed).toMatchObject({ code: 0, stdout: `No workflows.\n${hint}\n` })
    expect((await geneva('list', '--type', 'Booking', '--state', 'aborted')).stdout).toBe('No workflows.\n')
    expect(await geneva('pause', '--type', 'Bookingg')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(hint),
    })
  })

  it('is told of geneva reattempt where other tools say retry', async () => {
    expect(await geneva('retry', '4711')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no command retry: `geneva reattempt` tries a failed step once more'),
    })
  })
})
