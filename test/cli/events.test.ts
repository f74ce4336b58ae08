/** `geneva events`: lines for people, JSON for scripts, and, in a process of its own, what comes while one watches. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { bareApplication } from '../support/bare-application.ts'
import { Booking } from '../support/booking.ts'
import { forEachDatabase } from '../support/databases.ts'
import { followGeneva } from '../support/run-geneva.ts'
import { useGeneva } from '../support/use-geneva.ts'

const { shell, moduleFor } = bareApplication('events')

class Signup extends Workflow {
  static {
    this.step('greet')
  }
  greet() {
    this.emit('signup.greeted' as never, { name: 'Ann' } as never)
  }
}

forEachDatabase('geneva events', database => {
  const under = useGeneva(database, { workflows: [Signup, Booking] })

  it('prints what happened, and what happens', { timeout: 60_000 }, async () => {
    const { id } = await under.geneva.start(Signup)
    await under.runDue()

    const people = await shell.run('events', moduleFor(under.url), '--workflow', id)
    const lines = people.stdout.trim().split('\n')
    expect(people).toMatchObject({ code: 0, stderr: '' })
    expect(lines.map(line => line.split(' UTC ')[1]?.split(' ')[0])).toEqual([
      'workflow.started',
      'step.scheduled',
      'step.started',
      'signup.greeted',
      'step.completed',
      'workflow.finished',
    ])
    expect(lines[3]).toMatch(new RegExp(`^\\d+ .* UTC signup\\.greeted Signup ${id}, greet, \\{"name":"Ann"\\}$`))

    const types = ['--type', 'step.completed', 'workflow.finished']
    const json = await shell.run('events', moduleFor(under.url), '--json', ...types)
    const [completed, finished] = json.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(completed).toMatchObject({ type: 'step.completed', step: 'greet', outcome: 'success', workflowId: id })

    const watching = followGeneva(['events', moduleFor(under.url), '--follow', '--after', finished.position, '--json'])
    const next = await under.geneva.start(Signup)
    await watching.says(`"workflowId":"${next.id}"`)
    expect(await watching.stop()).toBe(0)
  })
  it('prints that a compensation was given up, and why', async () => {
    const { id } = await under.geneva.start(Booking)
    await under.runDue()
    const people = await shell.run('events', moduleFor(under.url), '--workflow', id, '--type', 'step.failed')
    expect(people).toMatchObject({ code: 0, stderr: '' })
    expect(people.stdout).toContain(`Booking ${id}, seat, compensation_failed, Error: the seat is stuck\n`)
  })
})
