/**
 * Measures how fast things are: `npm run bench -- checkpoints`. Prints a table, or with `--json` one document. Every
 * number is the median of at least three runs, which take turns, so that a busy moment does not hit one case only.
 */
import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { compare } from './bars.ts'
import { type BenchDatabaseName, openDatabases, serverSettings } from './databases.ts'
import { durabilityOf } from './durability.ts'
import { measureAll } from './measure.ts'
import { ownCommit } from './own-commit.ts'
import { installPeers, nodeOfPeers } from './peer-cases.ts'
import { asTable, currentLoad, describeMachine } from './report.ts'
import { goOnWith } from './same-node.ts'
import type { Size, Workload } from './workload.ts'

const fewestRuns = 3
/** Ten times as many as in the tables that they are compared with. */
const fewestFinished = 10_000
const databaseNames: readonly BenchDatabaseName[] = ['sqlite', 'sqlite-normal', 'postgres', 'mysql']
const usualDatabases: readonly BenchDatabaseName[] = ['sqlite', 'postgres']
/** What is measured if only `--peers` is said: all that others can do, and what it costs us. */
const comparedWorkloads = ['throughput', 'latency', 'fan', 'cost']
const comparedDatabases: readonly BenchDatabaseName[] = ['sqlite', 'sqlite-normal', 'postgres', 'mysql']
const folder = new URL('workloads/', import.meta.url)
const workloadNames = readdirSync(folder)
  .filter(file => file.endsWith('.js'))
  .map(file => file.slice(0, -'.js'.length))

const usage = `usage: npm run bench -- WORKLOAD ... [--json] [--runs N] [--databases NAME,...] [--peers]
                       [--only NAME] [--finished N] [--seconds N] [--tiny]

workloads: ${workloadNames.join(', ')}
--json        one document instead of a table: \`npm run -s bench -- ...\`, or npm prints lines of its own before it
--runs N      how often each case is measured, at least ${fewestRuns}
--databases   of ${databaseNames.join(', ')}; ${usualDatabases.join(' and ')} if nothing is said
--peers       other engines and queues as well, installed when first asked for; without a workload it means
              ${comparedWorkloads.join(', ')} on ${comparedDatabases.join(', ')}
--only NAME   only what is called so in the second column of the table: --only '2,000 workflows'
--finished N  for growth: how many executions have ended in the larger tables; a million if nothing is said
--seconds N   for bloat and contention: how long the load lasts; 300 if nothing is said
--tiny        small sizes, only to see that everything works; the numbers mean nothing`

class UsageError extends Error {}

interface Order {
  readonly workloads: readonly string[]
  readonly json: boolean
  readonly runs: number
  readonly databases: readonly BenchDatabaseName[]
  readonly size: Size
  readonly finished: number
  readonly seconds: number
  readonly peers: boolean
  /** The name of the cases that are measured; all if it is `null`. */
  readonly only: string | null
}

try {
  await main(orderFrom(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${usage}\n`)
  process.exitCode = 2
}

async function main(order: Order): Promise<void> {
  const workloads = await Promise.all(order.workloads.map(name => chosen(name, order)))
  if (order.peers) {
    await installPeers()
    if (await goOnWith(nodeOfPeers())) return
  }
  const commit = await ownCommit()
  const loadBefore = currentLoad()
  const databases = await openDatabases(order.databases, serverSettings[order.size])
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => void databases.stop().finally(() => process.exit(130)))
  }
  try {
    const durability = Object.fromEntries(
      await Promise.all(databases.all.map(async each => [each.name, await durabilityOf(each)] as const)),
    )
    const { finished, seconds, runs, size } = order
    const plan = { databases: databases.all, runs, size, limits: { finished, seconds } }
    const all = []
    for (const { name, cases } of workloads) all.push(await measureAll({ ...plan, workload: name, cases }))
    const results = all.flatMap(each => each.results)
    const failures = all.flatMap(each => each.failures)
    const measured = {
      machine: describeMachine({ onDisk: databases.onDisk, loadBefore, commit }),
      results,
      comparisons: order.workloads.flatMap(name => compare(name, results, failures)),
      failures,
      durability,
    }
    const about = Object.fromEntries(workloads.map(({ name, workload }) => [name, workload.about]))
    const document = { ...order, about, settings: serverSettings[size], ...measured }
    process.stdout.write(`${order.json ? JSON.stringify(document, null, 2) : asTable(measured)}\n`)
  } finally {
    for (const { workload } of workloads) await workload.stop?.()
    await databases.stop()
  }
}

async function chosen(name: string, { peers, only }: Order) {
  const { workload } = (await import(new URL(`${name}.js`, folder).href)) as { workload: Workload }
  const all = [...workload.cases, ...(peers ? (workload.peers ?? []) : [])]
  const cases = only === null ? all : all.filter(each => each.name === only)
  if (cases.length === 0) throw new UsageError(`Nothing in ${name} is called ${only}.`)
  return { name, workload, cases }
}

function orderFrom(args: readonly string[]): Order {
  const { values, positionals } = parsed(args)
  const workloads = positionals.length === 0 && values.peers ? comparedWorkloads : positionals
  const stranger = workloads.find(name => !workloadNames.includes(name))
  if (stranger !== undefined) throw new UsageError(`There is no workload ${stranger}.`)
  if (workloads.length === 0) throw new UsageError('Name a workload.')
  const runs = Number(values.runs)
  const fewest = values.tiny ? 1 : fewestRuns
  if (!Number.isSafeInteger(runs) || runs < fewest) throw new UsageError(`--runs must be at least ${fewest}.`)
  const usual = positionals.length === 0 ? comparedDatabases : usualDatabases
  const names = values.databases?.split(',') ?? usual
  const unknown = names.find(name => !databaseNames.some(known => known === name))
  if (unknown !== undefined) throw new UsageError(`There is no database ${unknown}.`)
  const databases = databaseNames.filter(name => names.includes(name))
  const finished = Number(values.finished)
  if (!Number.isSafeInteger(finished) || finished < fewestFinished || finished % 1000 !== 0) {
    throw new UsageError(`--finished must be a multiple of 1,000, and at least ${fewestFinished}.`)
  }
  const seconds = Number(values.seconds)
  if (!Number.isSafeInteger(seconds) || seconds < 1) throw new UsageError('--seconds must be a whole number above 0.')
  const { json, peers, only = null } = values
  return { finished, seconds, workloads, json, peers, only, runs, databases, size: values.tiny ? 'tiny' : 'full' }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        runs: { type: 'string', default: String(fewestRuns) },
        databases: { type: 'string' },
        peers: { type: 'boolean', default: false },
        only: { type: 'string' },
        seconds: { type: 'string', default: '300' },
        finished: { type: 'string', default: '1000000' },
        tiny: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
