/** `geneva check` against the code of a module: what it prints, and what its exit code says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { CommandShell } from '../support/command-shell.ts'
import { forEachDatabase } from '../support/databases.ts'
import { libraryUrl, runGeneva } from '../support/run-geneva.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-check-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const shell = new CommandShell(folder, null)

/** A module as an application has it, with a class of these steps. */
function moduleWith(name: string, url: string, steps: readonly string[]): string {
  const path = join(folder, `${name}.mjs`)
  const declared = steps.map(step => `this.step('${step}', { wait: '1 day' })`).join('; ')
  const methods = steps.map(step => `async ${step}() {}`).join('\n')
  writeFileSync(
    path,
    `import { Geneva, Workflow } from ${JSON.stringify(libraryUrl)}
class Signup extends Workflow { static { ${declared} }
${methods} }
export const geneva = new Geneva({ database: ${JSON.stringify(url)}, workflows: [Signup] })`,
  )
  return path
}

class Signup extends Workflow {
  static {
    this.step('greet', { wait: '1 day' })
    this.step('remind', { wait: '1 day' })
  }
  async greet() {}
  async remind() {}
}

forEachDatabase('geneva check', database => {
  it('tells what heals, what needs a map and what would be orphaned, by its words and its exit code', async () => {
    const { url } = await database.isolated()
    const running = new Geneva({ database: url, workflows: [Signup] })
    const { id } = await running.start(Signup)
    await running.close()

    const same = await shell.run('check', moduleWith(`same-${database.name}`, url, ['greet', 'remind']))
    expect(same).toMatchObject({ code: 0, stderr: '' })
    expect(same.stdout).toContain('Unchanged\n  Signup: 1 workflow')

    const added = await shell.run('check', moduleWith(`added-${database.name}`, url, ['welcome', 'greet', 'remind']))
    expect(added.code).toBe(0)
    expect(added.stdout).toContain('added welcome; rewired greet')
    expect(added.stdout).toContain('welcome is scheduled; greet goes back to waiting')

    const renamed = await shell.run('check', moduleWith(`renamed-${database.name}`, url, ['hello', 'remind']))
    expect(renamed.code).toBe(0)
    expect(renamed.stdout).toContain("this.renamed({ greet: 'hello' })")

    const removed = await shell.run('check', '--json', moduleWith(`removed-${database.name}`, url, ['remind']))
    expect(removed.code).toBe(3)
    expect(JSON.parse(removed.stdout)).toMatchObject({
      ok: false,
      workflows: 1,
      findings: [{ type: 'Signup', verdict: 'orphaned', count: 1, examples: [id] }],
    })
  })
})

it('says what is wrong with the module', async () => {
  expect(await shell.run('check', 'nowhere.js')).toMatchObject({ code: 1, stderr: expect.stringContaining('no file') })
  const path = join(folder, 'empty.mjs')
  writeFileSync(path, 'export const nothing = 1')
  const empty = await shell.run('check', path)
  expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining('exports no Geneva') })
  expect(empty.stderr).not.toContain('    at ')
  // And so it does in a process of its own.
  expect(await runGeneva(['check', path])).toEqual(empty)
})
