/**
 * One crash run on one database: several workers under load, killed at random moments and at every named failpoint, and
 * then an audit of what they have left.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva, type WorkerOptions } from '../../../src/index.ts'
import { stepFailpoints } from '../../../src/primitives/failpoint.ts'
import {
  auditRows,
  type CrashRows,
  needlessTakeovers,
  parkedRows,
  type Retake,
  readCrashRows,
  retakes,
} from './crash-audit.ts'
import { groupBy } from './group-by.ts'
import { createJournal } from './journal.ts'
import { FiveSteps, loadWorkflows, stepsOfLoad } from './load-workflows.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { until } from './until.ts'
import { type Death, WorkerFleet } from './worker-fleet.ts'

export interface KillRunOptions {
  readonly url: string
  readonly kills: number
  /** Kill at every failpoint too; these count as kills. */
  readonly atFailpoints: boolean
  /** Any worker that is up, whatever it does; or the one that has most under way. */
  readonly victims: 'random' | 'busy'
  readonly seed: number
  readonly workers: number
  readonly options: WorkerOptions
  readonly bodyMs: readonly [number, number]
  /** How many workflows are kept going. */
  readonly load: number
  /** Milliseconds between two kills, at least and at most. */
  readonly betweenMs: readonly [number, number]
  say(line: string): void
}

export interface KillReport {
  readonly findings: readonly string[]
  readonly deaths: readonly Death[]
  /** Kills that left work behind which others had to take over. */
  readonly hits: number
  readonly workflows: number
  readonly calls: number
  readonly retakes: readonly Retake[]
  readonly parked: number
  readonly needless: number
  /** Errors of the workers themselves, each with how often it came. */
  readonly workerErrors: ReadonlyMap<string, number>
  readonly seconds: number
}

const endTimeoutMs = 90_000

export async function killRun(options: KillRunOptions): Promise<KillReport> {
  const access = await openAccess(options.url)
  const geneva = new Geneva({ database: options.url, workflows: loadWorkflows })
  const { url, bodyMs } = options
  const fleet = new WorkerFleet({ url, bodyMs, options: options.options }, access)
  const load = new Load(geneva, access, options.load)
  const startedAt = performance.now()
  try {
    await createJournal(access)
    await geneva.migrate()
    load.begin()
    for (let i = 0; i < options.workers; i++) fleet.start()
    await fleet.allReady()
    await killAll(fleet, options)
    await load.stop()
    const findings = await waitForEnd(access, geneva, fleet)
    await fleet.retire()
    return report(await readCrashRows(access), fleet, {
      findings: [...findings, ...(await leftWorkers(access)), ...(await doctorFindings(geneva))],
      seconds: Math.round((performance.now() - startedAt) / 1000),
    })
  } finally {
    await load.stop().catch(() => {})
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

/** The events of every workflow, folded, must lead to what is stored. */
async function doctorFindings(geneva: Geneva): Promise<string[]> {
  const { findings } = await geneva.doctor()
  return findings.map(({ workflowId, problem }) => `Workflow ${workflowId}: ${problem}`)
}

async function killAll(fleet: WorkerFleet, options: KillRunOptions): Promise<void> {
  const random = seededRandom(options.seed)
  const named = options.atFailpoints ? stepFailpoints : []
  const plain = Array.from({ length: Math.max(0, options.kills - named.length) }, () => null)
  const plan = random.shuffle<string | null>([...named, ...plain])
  const dying: Promise<void>[] = []
  for (const [index, failpoint] of plan.entries()) {
    await pause(random.between(...options.betweenMs))
    if (failpoint === null) await killOne(fleet, random, options.victims)
    else dying.push(dieAtFailpoint(fleet, failpoint, random.between(1, 8)))
    dying.at(-1)?.catch(() => {})
    if ((index + 1) % 10 === 0) options.say(`${index + 1} of ${plan.length} kills`)
  }
  await Promise.all(dying)
}

export async function killOne(fleet: WorkerFleet, random: Random, victims: KillRunOptions['victims']): Promise<void> {
  // On a slow machine the kills slow down too: all are up, so that the dead leave work and the living can take it.
  await fleet.allReady()
  const victim = victims === 'busy' ? await fleet.busiest() : random.pick(fleet.killable)
  await fleet.kill(victim)
  fleet.start()
}

/** An extra worker that dies by its own hand at the nth time that it comes to the place. */
async function dieAtFailpoint(fleet: WorkerFleet, failpoint: string, nth: number): Promise<void> {
  const worker = fleet.start(`${failpoint}:${nth}`)
  const late = setTimeout(() => worker.child.kill('SIGABRT'), 60_000)
  await fleet.bury(worker, failpoint)
  clearTimeout(late)
}

/** Keeps a number of workflows going: what has ended is replaced. */
class Load {
  readonly #geneva: Geneva
  readonly #access: PlainAccess
  readonly #wanted: number
  #stopped = false
  #keeping: Promise<void> = Promise.resolve()

  constructor(geneva: Geneva, access: PlainAccess, wanted: number) {
    this.#geneva = geneva
    this.#access = access
    this.#wanted = wanted
  }

  begin(): void {
    this.#keeping = this.#keepUp()
    // Whoever stops it hears of what went wrong.
    this.#keeping.catch(() => {})
  }

  async #keepUp(): Promise<void> {
    while (!this.#stopped) {
      const missing = this.#wanted - (await countUnfinished(this.#access))
      if (missing > 0)
        await this.#geneva.startMany(
          FiveSteps,
          Array.from({ length: missing }, () => ({})),
        )
      await resumeParked(this.#access, this.#geneva)
      await pause(50)
    }
  }

  stop(): Promise<void> {
    this.#stopped = true
    return this.#keeping
  }
}

export async function countUnfinished(access: PlainAccess): Promise<number> {
  const workflows = access.table('geneva_drive_workflows')
  const [row] = await access.query(`select count(*) as number from ${workflows} where state <> 'finished'`)
  return Number(row?.number)
}

/** A step that was killed three times in a row is given up: a person would look, and requeue it. The auditor looks later. */
export async function resumeParked(access: PlainAccess, geneva: Geneva): Promise<void> {
  const rows = await access.query(`select id from ${access.table('geneva_drive_dead_letters')} where state = 'open'`)
  for (const row of rows) await geneva.requeue(String(row.id), { by: 'crash harness' })
}

async function waitForEnd(access: PlainAccess, geneva: Geneva, fleet: WorkerFleet): Promise<string[]> {
  const end = performance.now() + endTimeoutMs
  while ((await countUnfinished(access)) > 0) {
    if (performance.now() > end) return describeStuck(access)
    await resumeParked(access, geneva)
    await pause(50)
  }
  return waitForBurials(access, fleet, end - performance.now())
}

/** Waits until those are on the list of workers that live, and nobody else. */
export async function waitForBurials(access: PlainAccess, fleet: WorkerFleet, ms = endTimeoutMs): Promise<string[]> {
  const pids = `select pid from ${access.table('geneva_drive_workers')}`
  const registered = async () => sorted((await access.query(pids)).map(({ pid }) => Number(pid)))
  await fleet.allReady()
  // By process: one that is about to register would make up for one that is not buried yet.
  const living = sorted(fleet.living.map(({ pid }) => pid))
  if (await until(async () => String(await registered()) === String(living), ms)) return []
  return [`Registered are the processes ${await registered()}; those that live are ${living}.`]
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b)
}

export async function describeStuck(access: PlainAccess): Promise<string[]> {
  const active = access.table('geneva_drive_active_executions')
  const workers = access.table('geneva_drive_workers')
  const rows = await access.query(`select a.*, k.state as worker_state from ${active} a
    left join ${workers} k on k.id = a.owner order by a.workflow_id limit 20`)
  return rows.map(row => `Still active after ${endTimeoutMs / 1000} s: ${JSON.stringify(row)}`)
}

/** All have left: nobody may be registered any more. */
export async function leftWorkers(access: PlainAccess): Promise<string[]> {
  const rows = await access.query(`select id, state, pid from ${access.table('geneva_drive_workers')}`)
  return rows.map(row => `Worker ${row.id} of process ${row.pid} is still registered as ${row.state}.`)
}

/** A run that hit nothing proves nothing. */
export function tooFew(deaths: readonly Death[], { hits, calls }: { readonly hits: number; readonly calls: number }) {
  return [
    ...(hits * 2 >= deaths.length ? [] : [`Only ${hits} of ${deaths.length} kills hit work that was under way.`]),
    ...(calls >= deaths.length * 5 ? [] : [`Only ${calls} steps ran under ${deaths.length} kills.`]),
  ]
}

function report(
  rows: CrashRows,
  fleet: WorkerFleet,
  so: { readonly findings: readonly string[]; readonly seconds: number },
): KillReport {
  const { deaths, errors } = fleet
  const taken = retakes(rows, deaths)
  const stepErrors = errors.filter(error => error.step !== null)
  const workerErrors = groupBy(errors, error => error.error)
  const hits = new Set(taken.map(retake => retake.death)).size
  return {
    findings: [
      ...so.findings,
      ...auditRows(rows, stepsOfLoad, deaths),
      ...stepErrors.map(error => `Step ${error.step} threw ${error.error}`),
      ...tooFew(deaths, { hits, calls: rows.journal.length }),
      ...(fleet.stderr === '' ? [] : [`The workers printed: ${fleet.stderr}`]),
    ],
    deaths,
    hits,
    workflows: rows.workflows.size,
    calls: rows.journal.length,
    retakes: taken,
    parked: parkedRows(rows).length,
    needless: needlessTakeovers(rows, deaths),
    workerErrors: new Map([...workerErrors].map(([error, all]) => [error, all.length])),
    seconds: so.seconds,
  }
}
