/** `geneva events`: lines for people, JSON for scripts, and, in a process of its own, what comes while one watches. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { followGeneva, libraryUrl } from '../support/run-geneva.ts'
import { useGeneva } from '../support/use-geneva.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-events-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const shell = new CommandShell(folder, null)
let modules = 0

/** A new one for each command: what is loaded once in a process is closed when the first is done with it. */
function moduleFor(url: string): string {
  const path = join(folder, `app-${++modules}.mjs`)
  const code = `import { Geneva } from '${libraryUrl}'\nexport const geneva = new Geneva({ database: '${url}' })`
  writeFileSync(path, code)
  return path
}

class Signup extends Workflow {
  static {
    this.step('greet')
  }
  greet() {
    this.emit('signup.greeted' as never, { name: 'Ann' } as never)
  }
}

forEachDatabase('geneva events', database => {
  const under = useGeneva(database, { workflows: [Signup] })

  it('prints what happened, and what happens', { timeout: 60_000 }, async () => {
    const { id } = await under.geneva.start(Signup)
    await under.runDue()

    const people = await shell.run('events', moduleFor(under.url), '--workflow', id)
    const lines = people.stdout.trim().split('\n')
    expect(people).toMatchObject({ code: 0, stderr: '' })
    expect(lines.map(line => line.split(' ')[2])).toEqual([
      'workflow.started',
      'step.scheduled',
      'step.started',
      'signup.greeted',
      'step.completed',
      'workflow.finished',
    ])
    expect(lines[3]).toMatch(new RegExp(`^\\d+ \\S+Z signup\\.greeted Signup ${id}, greet, \\{"name":"Ann"\\}$`))

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
})
