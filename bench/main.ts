/**
 * Measures how fast things are: `npm run bench -- checkpoints`. Prints a table, or with `--json` one document. Every
 * number is the median of at least three runs, which take turns, so that a busy moment does not hit one case only.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type BenchDatabase, type BenchDatabaseName, openDatabases } from './databases.ts'
import { asTable, currentLoad, describeMachine, type Result, resultOf } from './report.ts'
import type { Measurement, Size, Workload } from './workload.ts'

const fewestRuns = 3
/** Ten times as many as in the tables that they are compared with. */
const fewestFinished = 10_000
const system = 'geneva-drive'
const databaseNames: readonly BenchDatabaseName[] = ['sqlite', 'sqlite-normal', 'postgres', 'mysql']
const usualDatabases: readonly BenchDatabaseName[] = ['sqlite', 'postgres']
const folder = new URL('workloads/', import.meta.url)
const workloadNames = readdirSync(folder)
  .filter(file => file.endsWith('.js'))
  .map(file => file.slice(0, -'.js'.length))

const usage = `usage: npm run bench -- WORKLOAD [--json] [--runs N] [--databases NAME,...] [--finished N] [--tiny]

workloads: ${workloadNames.join(', ')}
--runs N      how often each case is measured, at least ${fewestRuns}
--databases   of ${databaseNames.join(', ')}; ${usualDatabases.join(' and ')} if nothing is said
--finished N  for growth: how many executions have ended in the larger tables; a million if nothing is said
--tiny        small sizes, only to see that everything works; the numbers mean nothing`

class UsageError extends Error {}

interface Order {
  readonly workload: string
  readonly json: boolean
  readonly runs: number
  readonly databases: readonly BenchDatabaseName[]
  readonly size: Size
  readonly finished: number
}

try {
  await main(orderFrom(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${usage}\n`)
  process.exitCode = 2
}

async function main(order: Order): Promise<void> {
  const { workload } = (await import(new URL(`${order.workload}.js`, folder).href)) as { workload: Workload }
  const loadBefore = currentLoad()
  const databases = await openDatabases(order.databases)
  try {
    const results = await measure(workload, order, databases.all)
    const machine = describeMachine(databases.onDisk, loadBefore)
    const document = { ...order, about: workload.about, machine, results }
    process.stdout.write(`${order.json ? JSON.stringify(document, null, 2) : asTable(machine, results)}\n`)
    await workload.stop?.()
  } finally {
    await databases.stop()
  }
}

async function measure(workload: Workload, order: Order, databases: readonly BenchDatabase[]): Promise<Result[]> {
  const measured = new Map<string, { head: Parameters<typeof resultOf>[0]; values: number[] }>()
  const note = (name: string, database: string, { what, value, unit }: Measurement) => {
    const label = what === undefined ? name : `${name}: ${what}`
    const key = `${database}\n${label}`
    const head = { workload: order.workload, case: label, system, database, unit }
    const known = measured.get(key) ?? { head, values: [] }
    known.values.push(value)
    measured.set(key, known)
  }
  for (const database of databases) {
    for (const each of workload.cases) await each.measure(database, 'tiny', order.finished)
    for (let run = 1; run <= order.runs; run++) {
      for (const each of workload.cases) {
        process.stderr.write(`${database.name}, run ${run} of ${order.runs}: ${each.name}\n`)
        const measured = await each.measure(database, order.size, order.finished)
        for (const measurement of measured) note(each.name, database.name, measurement)
      }
    }
  }
  return [...measured.values()].map(({ head, values }) => resultOf(head, values))
}

function orderFrom(args: readonly string[]): Order {
  const { values, positionals } = parsed(args)
  const [workload, ...more] = positionals
  if (workload === undefined || more.length > 0 || !workloadNames.includes(workload)) {
    throw new UsageError(workload === undefined ? 'Name a workload.' : `There is no workload ${positionals.join(' ')}.`)
  }
  const runs = Number(values.runs)
  if (!Number.isSafeInteger(runs) || runs < fewestRuns) throw new UsageError(`--runs must be at least ${fewestRuns}.`)
  const names = values.databases.split(',')
  const unknown = names.find(name => !databaseNames.some(known => known === name))
  if (unknown !== undefined) throw new UsageError(`There is no database ${unknown}.`)
  const databases = databaseNames.filter(name => names.includes(name))
  const finished = Number(values.finished)
  if (!Number.isSafeInteger(finished) || finished < fewestFinished || finished % 1000 !== 0) {
    throw new UsageError(`--finished must be a multiple of 1,000, and at least ${fewestFinished}.`)
  }
  return { finished, workload, json: values.json, runs, databases, size: values.tiny ? 'tiny' : 'full' }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        runs: { type: 'string', default: String(fewestRuns) },
        databases: { type: 'string', default: usualDatabases.join(',') },
        finished: { type: 'string', default: '1000000' },
        tiny: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
