/** `geneva doctor`, run as a person runs it: what it prints, and what its exit code says. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-doctor-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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
    const module = join(folder, `${database.name}.mjs`)
    const library = new URL('../../.build/src/index.js', import.meta.url).href
    const code = `import { Geneva } from '${library}'\nexport const geneva = new Geneva({ database: '${url}' })`
    writeFileSync(module, code)

    const sound = await geneva('doctor', module)
    expect(sound).toEqual({ code: 0, stderr: '', stdout: '1 workflow looked at: all is well.\n' })

    const plain = await connectPlainly(database.name, url)
    await plain.query(`update geneva_drive_workflows set state = 'canceled'`)
    await plain.close()
    const wrong = await geneva('doctor', module, '--workflow', id)
    expect(wrong.code).toBe(3)
    expect(wrong.stdout).toContain(
      `Signup ${id}\n  It is stored as canceled, but its events lead to ready.\n    Find out`,
    )
    expect(wrong.stdout).toContain('something is wrong with 1.')

    const json = await geneva('doctor', module, '--json', '--limit', '1')
    expect(json.code).toBe(3)
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      workflows: 1,
      findings: [{ workflowId: id, kind: 'state' }, {}],
    })
    expect((await geneva('doctor', module, '--limit', 'none')).code).toBe(2)
  })
})

function geneva(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}
