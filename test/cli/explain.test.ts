/** `geneva explain`, run as a person runs it: the built program in a process of its own. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type Explanation, Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-explain-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function geneva(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

function moduleFor(name: string, url: string): string {
  const path = join(folder, `${name}.mjs`)
  const library = new URL('../../.build/src/index.js', import.meta.url).href
  writeFileSync(
    path,
    `import { Geneva } from ${JSON.stringify(library)}
export const geneva = new Geneva({ database: ${JSON.stringify(url)} })`,
  )
  return path
}

class Signup extends Workflow {
  static {
    this.step('greet', { wait: '1 day' })
    this.step('remind')
  }
  async greet() {}
  async remind() {}
}

forEachDatabase('geneva explain', database => {
  it('says what a workflow waits for, in words and as JSON, without its code', async () => {
    const { url } = await database.isolated()
    const running = new Geneva({ database: url, workflows: [Signup] })
    const { id } = await running.start(Signup)
    await running.close()
    const module = moduleFor(database.name, url)

    const words = await geneva('explain', module, id)
    expect(words).toMatchObject({ code: 0, stderr: '' })
    const [head, sentence, , greet, remind] = words.stdout.split('\n')
    expect(head).toBe(`Signup ${id} (ready)`)
    expect(sentence).toMatch(/^Step greet waits until .* UTC, for (23 hours|1 day) more\.$/)
    expect(greet).toMatch(/^ {2}greet {3}scheduled, until \d{4}-\S+Z$/)
    expect(remind).toBe('  remind  pending, waits for greet')

    const json = await geneva('explain', '--json', module, id)
    const read = JSON.parse(json.stdout) as Explanation
    expect(read).toMatchObject({ workflowId: id, sentence, decision: 'waiting_for_dependencies' })
    expect(read.nodes.map(node => node.reasons[0]?.kind)).toEqual(['time', 'dependencies'])

    const nobody = await geneva('explain', module, '999999')
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('999999') })
    expect(nobody.stderr).not.toContain('    at ')
  })
})
