/**
 * Transactional steps in several processes that are killed in rotation, at random moments and at every named failpoint. Each
 * adds one to a counter in the application's own table: at the end the counters must equal the number of steps, to the unit.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva, type WorkerOptions } from '../../../src/index.ts'
import { stepFailpoints } from '../../../src/primitives/failpoint.ts'
import { Counting, countedItems, countedPerWorkflow, countedSteps, createCounters } from './counting-workflow.ts'
import {
  countUnfinished,
  describeStuck,
  killOne,
  leftWorkers,
  resumeParked,
  tooFew,
  waitForBurials,
} from './kill-run.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { type Death, WorkerFleet } from './worker-fleet.ts'

export interface ExactlyOnceOptions {
  readonly url: string
  readonly seed: number
  readonly kills: number
  /** Places where a process is killed by itself; these count as kills. */
  readonly failpoints: readonly string[]
  /** Any worker that is up, whatever it does; or the one that has most under way. */
  readonly victims: 'random' | 'busy'
  readonly workers: number
  readonly options: WorkerOptions
  readonly bodyMs: readonly [number, number]
  /** How many workflows are kept going. */
  readonly load: number
  readonly betweenMs: readonly [number, number]
  say(line: string): void
}

export interface ExactlyOnceReport {
  readonly findings: readonly string[]
  readonly deaths: readonly Death[]
  readonly workflows: number
  /** Kills of processes that held attempts, which others had to take over. */
  readonly hits: number
  /** What the counters say. */
  readonly counted: number
  /** Attempts that threw after they had counted, and attempts that were taken over from the dead. */
  readonly failed: number
  readonly recovered: number
  readonly seconds: number
}

export const onceKills: Omit<ExactlyOnceOptions, 'url' | 'kills' | 'seed' | 'say'> = {
  failpoints: stepFailpoints,
  victims: 'random',
  workers: 3,
  options: { lease: 1000, poll: 50, concurrency: 5 },
  bodyMs: [1, 15],
  load: 40,
  betweenMs: [20, 250],
}

const endTimeoutMs = 90_000

export async function exactlyOnceRun(options: ExactlyOnceOptions): Promise<ExactlyOnceReport> {
  const { url, bodyMs, seed } = options
  const access = await openAccess(url)
  const geneva = new Geneva({ database: url, workflows: [Counting] })
  const fleet = new WorkerFleet({ url, bodyMs, options: options.options }, access, 'once-worker')
  const startedAt = performance.now()
  try {
    await geneva.migrate()
    await createCounters(access)
    for (let count = 0; count < options.workers; count++) fleet.start()
    const world = { fleet, access, geneva, random: seededRandom(seed) }
    const stop = new AbortController()
    const keeping = keepUp(world, options.load, stop.signal)
    await Promise.race([killAll(world, options), keeping]).finally(() => stop.abort())
    await keeping
    const stuck = await waitForEnd(access, geneva)
    const left = [...stuck, ...(await waitForBurials(access, fleet))]
    await fleet.retire()
    const { findings, ...tally } = await audit(access, geneva)
    const { deaths } = fleet
    const hits = await countHits(access, deaths)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    const few = tooFew(deaths, { hits, calls: tally.counted + tally.failed + tally.recovered })
    const all = [...left, ...(await leftWorkers(access)), ...findings, ...few, ...complaints(fleet)]
    return { ...tally, findings: all, hits, deaths, seconds }
  } finally {
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

interface World {
  readonly fleet: WorkerFleet
  readonly access: PlainAccess
  readonly geneva: Geneva
  readonly random: Random
}

/** What has ended is replaced, until the kills are over. */
async function keepUp({ access, geneva }: World, load: number, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const missing = load - (await countUnfinished(access))
    const starts = Array.from({ length: Math.max(0, missing) }, () => ({}))
    if (missing > 0) await geneva.startMany(Counting, starts)
    await resumeParked(access, geneva)
    await pause(50)
  }
}

async function killAll({ fleet, random }: World, options: ExactlyOnceOptions): Promise<void> {
  const { kills, failpoints, victims, betweenMs, say } = options
  const named = failpoints.slice(0, kills)
  const plain = Array.from({ length: kills - named.length }, () => null)
  for (const [index, failpoint] of random.shuffle<string | null>([...named, ...plain]).entries()) {
    await pause(random.between(...betweenMs))
    if (failpoint === null) await killOne(fleet, random, victims)
    else await dieAt(fleet, `${failpoint}:${random.between(1, 3)}`)
    if ((index + 1) % 50 === 0) say(`${index + 1} of ${kills} kills`)
  }
}

/** An extra worker that ends by its own hand. */
async function dieAt(fleet: WorkerFleet, failpoint: string): Promise<void> {
  const worker = fleet.start(failpoint)
  const late = setTimeout(() => worker.child.kill('SIGABRT'), 60_000)
  await fleet.bury(worker, failpoint)
  clearTimeout(late)
}

async function waitForEnd(access: PlainAccess, geneva: Geneva): Promise<string[]> {
  const end = performance.now() + endTimeoutMs
  while ((await countUnfinished(access)) > 0) {
    if (performance.now() > end) return describeStuck(access)
    await resumeParked(access, geneva)
    await pause(50)
  }
  return []
}

type Tally = Omit<ExactlyOnceReport, 'deaths' | 'hits' | 'seconds'>

async function audit(access: PlainAccess, geneva: Geneva): Promise<Tally> {
  const number = async (select: string) => Number((await access.query(select))[0]?.number)
  const history = access.table('geneva_drive_step_executions')
  const workflows = await number(`select count(*) as number from ${access.table('geneva_drive_workflows')}`)
  const counted = await number(`select sum(total) as number from ${access.table('counters')}`)
  const steps = countedSteps.map(step => `'${step}'`).join(', ')
  const done = await number(
    `select count(*) as number from ${history} where outcome = 'success' and node in (${steps})`,
  )
  const wrong = await access.query(`select workflow_id, what, count(*) as times from ${access.table('counted')}
    group by workflow_id, what having count(*) <> 1`)
  const rows = await number(`select count(*) as number from ${access.table('counted')}`)
  const expected = done + workflows * countedItems
  const { findings } = await geneva.doctor()
  return {
    workflows,
    counted,
    failed: await number(`select count(*) as number from ${history} where outcome = 'reattempted_by_exception'`),
    recovered: await number(`select count(*) as number from ${history} where outcome = 'recovered'`),
    findings: [
      ...(counted === expected ? [] : [`${expected} steps and items were done, and the counters say ${counted}.`]),
      ...(expected === workflows * countedPerWorkflow ? [] : [`${workflows} workflows have done ${expected} in all.`]),
      ...(rows === counted ? [] : [`The counters say ${counted}, and there are ${rows} rows.`]),
      ...wrong.map(({ workflow_id, what, times }) => `${what} of workflow ${workflow_id} was counted ${times} times.`),
      ...findings.map(({ workflowId, problem }) => `Workflow ${workflowId}: the doctor says: ${problem}`),
    ],
  }
}

async function countHits(access: PlainAccess, deaths: readonly Death[]): Promise<number> {
  const history = access.table('geneva_drive_step_executions')
  const lost = await access.query(
    `select distinct owner from ${history} where outcome = 'recovered' or error_class = 'CrashLimitError'`,
  )
  const losers = new Set(lost.map(({ owner }) => String(owner)))
  return deaths.filter(({ workerIds }) => workerIds.some(id => losers.has(id))).length
}

/** What no body has thrown on purpose. */
function complaints({ errors, stderr }: WorkerFleet): string[] {
  const unasked = errors.filter(({ error }) => !error.startsWith('CountingTrouble'))
  return [
    ...unasked.map(({ step, error }) => `${step === null ? 'A worker' : `Step ${step}`} threw ${error}`),
    ...(stderr === '' ? [] : [`The workers printed: ${stderr}`]),
  ]
}
