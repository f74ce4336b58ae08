/** The tables of options in the guides name every option that the code has, and no other. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { quoted, readPage, root, tableUnder } from './markdown.ts'

class Greeting extends Workflow {
  static {
    this.step('greet')
  }
  greet() {
    return 'hello'
  }
}

const folder = mkdtempSync(join(tmpdir(), 'geneva-options-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the guide to databases lists the options of a database', () => {
  expect(documented('databases', 'Options')).toEqual(declared('store/database-options.ts', 'DatabaseOptions'))
})

it('the guide to workers lists the options of a worker', () => {
  const options = declared('worker/worker-options.ts', 'WorkerOptions')
  expect(documented('workers', 'Workers')).toEqual([...options, 'handleSignals'].toSorted())
})

it('the guide to steps lists the options of a step', () => {
  expect(documented('steps', 'Options')).toEqual(declared('definition/step-options.ts', 'StepOptions'))
})

it('the guide to resumable steps lists the options that only these have', () => {
  const options = declared('definition/step-options.ts', 'ResumableStepOptions')
  expect(documented('resumable-steps', 'Options')).toEqual(options)
})

it('a database without schemas, or without a pool, ignores the options for them', async () => {
  await using geneva = new Geneva({
    database: { url: `sqlite:${folder}/options.db`, prefix: 'flow_', schema: 'workflows', poolSize: 3 },
    workflows: [Greeting],
  })
  const workflow = await geneva.start(Greeting)
  await geneva.runDue()
  expect(await workflow.waitUntilFinished({ timeout: '5s' })).toBe('hello')
})

function documented(guide: string, heading: string): string[] {
  const rows = tableUnder(readPage(`docs/guides/${guide}.md`), heading)
  return rows.flatMap(([name]) => quoted(name)).toSorted()
}

function declared(file: string, name: string): string[] {
  const source = readFileSync(join(root, 'src', file), 'utf8')
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{(.*?)\\n\\}`, 's').exec(source)?.[1] ?? ''
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option = '']) => option).toSorted()
}
