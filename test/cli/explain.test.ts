/** `geneva explain`: what it prints, in words and as JSON, and its exit code. */
import { expect, it } from 'vitest'
import { type Explanation, Geneva, Workflow } from '../../src/index.ts'
import { bareApplication } from '../support/bare-application.ts'
import { databases, forEachDatabase, type TestDatabase } from '../support/databases.ts'
import { runGeneva } from '../support/run-geneva.ts'

const { shell, moduleFor } = bareApplication('explain')

class Signup extends Workflow {
  static {
    this.step('greet', { wait: '1 day' })
    this.step('remind')
  }
  async greet() {}
  async remind() {}
}

async function signupOn(database: TestDatabase): Promise<{ url: string; id: string }> {
  const { url } = await database.isolated()
  const running = new Geneva({ database: url, workflows: [Signup] })
  const { id } = await running.start(Signup)
  await running.close()
  return { url, id }
}

forEachDatabase('geneva explain', database => {
  it('says what a workflow waits for, in words and as JSON, without its code', async () => {
    const { url, id } = await signupOn(database)

    const words = await shell.run('explain', moduleFor(url), id)
    expect(words).toMatchObject({ code: 0, stderr: '' })
    const [head, sentence, , greet, remind] = words.stdout.split('\n')
    expect(head).toBe(`Signup ${id} (ready)`)
    expect(sentence).toMatch(/^Step greet waits until .* UTC, for (23 hours|1 day) more\.$/)
    expect(greet).toMatch(/^ {2}greet {3}scheduled, until \d{4}-.* UTC$/)
    expect(remind).toBe('  remind  pending, waits for greet')

    const json = await shell.run('explain', '--json', moduleFor(url), id)
    const read = JSON.parse(json.stdout) as Explanation
    expect(read).toMatchObject({ workflowId: id, sentence, decision: 'waiting_for_dependencies' })
    expect(read.nodes.map(node => node.reasons[0]?.kind)).toEqual(['time', 'dependencies'])

    const nobody = await shell.run('explain', moduleFor(url), '999999')
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('999999') })
    expect(nobody.stderr).not.toContain('    at ')
  })
})

it.each(databases.slice(0, 1))('does the same in a process of its own, on $name', async database => {
  const { url, id } = await signupOn(database)
  const alone = await runGeneva(['explain', moduleFor(url), id])
  expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('Step greet waits until') })
  const nobody = ['explain', moduleFor(url), '999999']
  expect(await runGeneva(nobody)).toEqual(await shell.run(...nobody))
})
