/**
 * Measures how fast things are: `npm run bench -- checkpoints`. Prints a table, or with `--json` one document. Every
 * number is the median of at least three runs, which take turns, so that a busy moment does not hit one case only.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compare } from './bars.ts'
import { type BenchDatabaseName, openDatabases, serverSettings } from './databases.ts'
import { measureAll } from './measure.ts'
import { installPeers } from './peer-cases.ts'
import { asTable, currentLoad, describeMachine } from './report.ts'
import type { Size, Workload } from './workload.ts'

const fewestRuns = 3
/** Ten times as many as in the tables that they are compared with. */
const fewestFinished = 10_000
const databaseNames: readonly BenchDatabaseName[] = ['sqlite', 'sqlite-normal', 'postgres', 'mysql']
const usualDatabases: readonly BenchDatabaseName[] = ['sqlite', 'postgres']
const folder = new URL('workloads/', import.meta.url)
const workloadNames = readdirSync(folder)
  .filter(file => file.endsWith('.js'))
  .map(file => file.slice(0, -'.js'.length))

const usage = `usage: npm run bench -- WORKLOAD [--json] [--runs N] [--databases NAME,...] [--peers]
                       [--finished N] [--seconds N] [--tiny]

workloads: ${workloadNames.join(', ')}
--runs N      how often each case is measured, at least ${fewestRuns}
--databases   of ${databaseNames.join(', ')}; ${usualDatabases.join(' and ')} if nothing is said
--peers       other engines and queues as well, for the workloads that they can do; installed when first asked for
--finished N  for growth: how many executions have ended in the larger tables; a million if nothing is said
--seconds N   for bloat and contention: how long the load lasts; 300 if nothing is said
--tiny        small sizes, only to see that everything works; the numbers mean nothing`

class UsageError extends Error {}

interface Order {
  readonly workload: string
  readonly json: boolean
  readonly runs: number
  readonly databases: readonly BenchDatabaseName[]
  readonly size: Size
  readonly finished: number
  readonly seconds: number
  readonly peers: boolean
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
  if (order.peers) await installPeers()
  const loadBefore = currentLoad()
  const databases = await openDatabases(order.databases)
  try {
    const { finished, seconds, runs, size } = order
    const cases = [...workload.cases, ...(order.peers ? (workload.peers ?? []) : [])]
    const plan = {
      workload: order.workload,
      cases,
      databases: databases.all,
      runs,
      size,
      limits: { finished, seconds },
    }
    const { results, failures } = await measureAll(plan)
    const comparisons = compare(order.workload, results)
    const machine = describeMachine(databases.onDisk, loadBefore)
    const measured = { machine, results, comparisons, failures }
    const document = { ...order, about: workload.about, settings: serverSettings, ...measured }
    process.stdout.write(`${order.json ? JSON.stringify(document, null, 2) : asTable(measured)}\n`)
    await workload.stop?.()
  } finally {
    await databases.stop()
  }
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
  const seconds = Number(values.seconds)
  if (!Number.isSafeInteger(seconds) || seconds < 1) throw new UsageError('--seconds must be a whole number above 0.')
  const { json, peers } = values
  return { finished, seconds, workload, json, peers, runs, databases, size: values.tiny ? 'tiny' : 'full' }
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
        peers: { type: 'boolean', default: false },
        seconds: { type: 'string', default: '300' },
        finished: { type: 'string', default: '1000000' },
        tiny: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
