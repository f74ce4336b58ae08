/** Every command writes moments the same way: to the second, in UTC, and saying so. JSON has them whole. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { defineSchedule, Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Signup extends Workflow {
  static {
    this.allowMultiple()
    this.step('greet', { onException: 'dlq' })
  }
  greet() {
    throw new Error('no address')
  }
}

class Patient extends Workflow {
  static {
    this.step('later', { wait: '1 day' })
  }
  later() {}
}

const nightly = defineSchedule('nightly', { cron: '0 3 * * *', workflow: Patient })
const folder = mkdtempSync(join(tmpdir(), 'geneva-times-'))
const shell = new CommandShell(folder, null)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

forEachDatabase('a moment', database => {
  const under = useGeneva(database, { workflows: [Signup, Patient], schedules: [nightly] })

  it('is written the same way by every command', async () => {
    const { geneva } = under
    const signup = await geneva.start(Signup)
    const patient = await geneva.start(Patient)
    await under.runDue()
    await geneva.queues.pause('default', { by: 'ann' })
    await geneva.start(Signup)
    const [letter] = await geneva.deadLetters()
    await geneva.discard(letter?.id ?? '', { reason: 'a mistake' })
    const commands: readonly string[][] = [
      ['show', signup.id],
      ['explain', patient.id],
      ['events', '--workflow', signup.id],
      ['queues', 'list'],
      ['schedule', 'list'],
      ['dlq', 'show', letter?.id ?? ''],
      ['requests'],
      ['stats'],
      ['stuck', '--for', '0 ms'],
    ]
    for (const command of commands) {
      const { stdout, stderr } = await shell.run(...command, '--database', under.url)
      const said = `geneva ${command.join(' ')}: ${stderr}`
      expect(stdout, said).toMatch(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\b/)
      expect(stdout, said).not.toMatch(/\dT\d\d:\d\d/)
    }
  })
})
