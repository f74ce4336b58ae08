/** `geneva events`, run as a person runs it: lines for people, JSON for scripts, and what comes while one watches. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-events-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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
    const module = join(folder, `${database.name}.mjs`)
    const library = new URL('../../.build/src/index.js', import.meta.url).href
    writeFileSync(
      module,
      `import { Geneva } from '${library}'\nexport const geneva = new Geneva({ database: '${under.url}' })`,
    )

    const people = await run('events', module, '--workflow', id).ended
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

    const json = await run('events', module, '--json', '--type', 'step.completed', 'workflow.finished').ended
    const [completed, finished] = json.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(completed).toMatchObject({ type: 'step.completed', step: 'greet', outcome: 'success', workflowId: id })

    const watching = run('events', module, '--follow', '--after', finished.position, '--json')
    const next = await under.geneva.start(Signup)
    await waitFor(() => watching.printed().includes(`"workflowId":"${next.id}"`), 30_000)
    watching.stop()
    expect((await watching.ended).code).toBe(0)
  })
})

function run(...args: string[]) {
  let printed = ''
  let stop = () => {}
  const ended = new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
    const child = execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
    child.stdout?.on('data', text => {
      printed += text
    })
    stop = () => void child.kill('SIGINT')
  })
  return { ended, printed: () => printed, stop: () => stop() }
}
