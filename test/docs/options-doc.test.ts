/** The tables of options in the guides name every option that the code has, and no other. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { workflowMembers } from '../../src/definition/node-name.ts'
import { routeTable } from '../../src/http/route-table.ts'
import { Geneva, Workflow } from '../../src/index.ts'
import { metricTable } from '../../src/observe/telemetry/metric-table.ts'
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

it('the guide to starting lists the options of a start', () => {
  expect(documented('starting', 'Starting')).toEqual(declared('engine/start-orders.ts', 'StartOptions'))
})

it('the guide to operating lists the options of a list of executions', () => {
  const names = declared('client/views/execution-list.ts', 'ExecutionListOptions').filter(name => name !== 'type')
  const expected = names.map(name => (name === 'node' ? 'step' : name))
  expect(documented('operating', 'Executions by state')).toEqual([...expected, 'cursor', 'limit'].toSorted())
})

it('the guide to workers lists the options of a worker', () => {
  const options = declared('worker/worker-options.ts', 'WorkerOptions')
  expect(documented('workers', 'Workers')).toEqual([...options, 'handleSignals'].toSorted())
})

it('the guide to steps lists the options of a step', () => {
  expect(documented('steps', 'Options')).toEqual([...inSteps('TaskOptions'), ...inSteps('StepOptions')].toSorted())
})

it('the guide to steps lists the defaults of a class, and the names that are taken', () => {
  expect(documented('steps', 'Defaults')).toEqual(inSteps('DefaultOptions'))
  const members = documented('steps', 'What a step can use').map(text => /^this\.(\w+)/.exec(text)?.[1] ?? text)
  expect(new Set(members)).toEqual(workflowMembers)
})

it('the guide to resumable steps lists the options that only these have', () => {
  expect(documented('resumable-steps', 'Options')).toEqual(inSteps('IterationOptions'))
})

it('the guide to graphs lists the options that only an each node has, and those of a drawing', () => {
  expect(documented('graphs', 'One node for each item')).toEqual(inSteps('EachOptions'))
  expect(documented('graphs', 'Looking at it')).toEqual(declared('drawing/draw-graph.ts', 'DrawOptions'))
})

it('the guide to children lists the options that only these have', () => {
  expect(documented('children', 'Children')).toEqual(inSteps('ChildOptions'))
})

it('the guide to dynamic workflows lists the options of jobs and nodes, the fields of a stored node, and the limits', () => {
  const limits = ['graphBytes', 'graphEdges', 'graphNodes'].map(name => `limits.${name}`)
  const settings = declared('definition/graph-builder.ts', 'NodeSettings')
  expect(documented('dynamic-workflows', 'Jobs')).toEqual(declared('definition/job.ts', 'DefineJobOptions'))
  expect(documented('dynamic-workflows', 'Building and starting')).toEqual(
    [...settings, 'args', 'job', 'name'].toSorted(),
  )
  const child = ['hero', 'input', 'timeout', 'workflow', 'workflowId']
  expect(documented('dynamic-workflows', 'Children')).toEqual(child)
  expect(documented('dynamic-workflows', 'What is stored')).toEqual(
    declared('definition/frozen-graph.ts', 'FrozenNode'),
  )
  expect(documented('dynamic-workflows', 'Limits', 2)).toEqual(limits)
})

it('the guides to sagas, people and signals list the options of compensations and waits', () => {
  const inFlow = (name: string) => declared('definition/flow-options.ts', name)
  expect(documented('sagas', 'Saying how a step is undone')).toEqual(inFlow('CompensationOptions'))
  expect(documented('sagas', 'Steps that must not be called twice')).toEqual(inFlow('CodeOptions'))
  expect(documented('people-and-signals', 'Asking people')).toEqual(inFlow('HumanOptions'))
  expect(documented('people-and-signals', 'Waiting for a signal')).toEqual(inFlow('WaitForOptions'))
})

it('the guide to telemetry lists its options, every metric with its labels, and the logger', () => {
  const options = declared('observe/telemetry/telemetry.ts', 'TelemetryOptions').map(name => `telemetry.${name}`)
  expect(documented('telemetry', 'Telemetry')).toEqual(['logger', ...options].toSorted())
  const rows = tableUnder(readPage('docs/guides/telemetry.md'), 'Metrics')
  const listed = rows.map(([name, kind, labels]) => [quoted(name)[0], kind?.trim(), quoted(labels)])
  expect(listed).toEqual(Object.entries(metricTable).map(([name, { kind, labels }]) => [name, kind, [...labels]]))
})

it('the guide to the HTTP API lists the options of a handler, and every route', () => {
  expect(documented('http-api', 'Options')).toEqual(declared('client/handler-options.ts', 'HandlerOptions'))
  const routes = routeTable().map(({ method, path }) => `${method} ${path}`)
  const listed = documented('http-api', 'Routes').filter(text => /^(GET|POST) /.test(text))
  expect(listed).toEqual(routes.toSorted())
})

it('the guide to retries lists the options of a retry', () => {
  const source = readFileSync(join(root, 'src/definition/retry-notation.ts'), 'utf8')
  const notation = source.slice(source.indexOf('export type RetryNotation'), source.indexOf('export interface'))
  const options = [...notation.matchAll(/^ {6}readonly (\w+)\?:/gm)].map(([, option]) => option)
  expect(documented('retries', 'Retries')).toEqual(options.toSorted())
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

function documented(guide: string, heading: string, column = 0): string[] {
  const rows = tableUnder(readPage(`docs/guides/${guide}.md`), heading)
  return rows.flatMap(row => quoted(row[column])).toSorted()
}

function inSteps(name: string): string[] {
  return declared('definition/step-options.ts', name)
}

/** Of the interface itself, without those that it extends. */
function declared(file: string, name: string): string[] {
  const source = readFileSync(join(root, 'src', file), 'utf8')
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{(.*?)\\n\\}`, 's').exec(source)?.[1] ?? ''
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option = '']) => option).toSorted()
}
