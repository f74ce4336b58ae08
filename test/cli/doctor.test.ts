/** `geneva doctor`: what it prints, and what its exit code says. */
import { expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { bareApplication } from '../support/bare-application.ts'
import { databases, forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { runGeneva } from '../support/run-geneva.ts'

const { shell, moduleFor } = bareApplication('doctor')

class Signup extends Workflow {
  static {
    this.step('greet', { wait: '1 day' })
  }
  async greet() {}
}

forEachDatabase('geneva doctor', database => {
  it('says that all is well, or what is wrong and what to do', async () => {
    const { url } = await database.isolated()
    const running = new Geneva({ database: url, workflows: [Signup] })
    const { id } = await running.start(Signup)
    await running.close()

    const sound = await shell.run('doctor', moduleFor(url))
    expect(sound).toEqual({ code: 0, stderr: '', stdout: '1 workflow looked at: all is well.\n' })

    const plain = await connectPlainly(database.name, url)
    await plain.query(`update geneva_drive_workflows set state = 'canceled'`)
    await plain.close()
    const wrong = await shell.run('doctor', moduleFor(url), '--workflow', id)
    expect(wrong.code).toBe(3)
    expect(wrong.stdout).toContain(
      `Signup ${id}\n  It is stored as canceled, but its events lead to ready.\n    Find out`,
    )
    expect(wrong.stdout).toContain('something is wrong with 1.')

    const json = await shell.run('doctor', moduleFor(url), '--json', '--limit', '1')
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      workflows: 1,
      findings: [{ workflowId: id, kind: 'state' }, {}],
    })
    expect((await shell.run('doctor', moduleFor(url), '--limit', 'none')).code).toBe(2)
  })
})

it.each(databases.slice(0, 1))('does the same in a process of its own, on $name', async database => {
  const { url } = await database.isolated()
  const geneva = new Geneva({ database: url })
  await geneva.migrate()
  await geneva.close()
  const sound = await runGeneva(['doctor', moduleFor(url)])
  expect(sound).toEqual({ code: 0, stderr: '', stdout: '0 workflows looked at: all is well.\n' })
})
