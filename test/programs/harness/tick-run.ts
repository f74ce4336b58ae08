/**
 * Many schedulers on one schedule, killed and restarted while it ticks, at random moments and on both sides of the commit
 * that takes a tick. Then an audit: every tick has one workflow, none has two, and all of them have run.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva } from '../../../src/index.ts'
import { groupBy } from './group-by.ts'
import { createJournal } from './journal.ts'
import { loadWorkflows } from './load-workflows.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { until } from './until.ts'
import { type Death, WorkerFleet } from './worker-fleet.ts'

export interface TickRunOptions {
  readonly url: string
  /** How many ticks must have been started, at least. */
  readonly ticks: number
  readonly everyMs: number
  readonly workers: number
  readonly seed: number
  /** Milliseconds between two kills, at least and at most. */
  readonly betweenMs: readonly [number, number]
  say(line: string): void
}

export interface TickReport {
  readonly findings: readonly string[]
  readonly ticks: number
  readonly deaths: readonly Death[]
  /** From the moment of a tick to the start of its workflow. */
  readonly lateMs: readonly number[]
  /** What the workers told of, each with how often it came: a database that is busy for long, for instance. */
  readonly workerErrors: ReadonlyMap<string, number>
  readonly seconds: number
}

interface Beat {
  readonly tick: number
  readonly state: string
  readonly createdAt: number
}

const failpoints = ['tick.before-commit', 'tick.after-commit'] as const
const endTimeoutMs = 90_000

export async function tickRun(options: TickRunOptions): Promise<TickReport> {
  const { url, everyMs } = options
  const access = await openAccess(url)
  const geneva = new Geneva({ database: url, workflows: loadWorkflows })
  const fleet = new WorkerFleet({ url, everyMs, options: { lease: 1500, poll: 100, concurrency: 10 } }, access)
  const startedAt = performance.now()
  try {
    await createJournal(access)
    await geneva.migrate()
    for (let i = 0; i < options.workers; i++) fleet.start()
    await fleet.allReady()
    await killWhileTicking(fleet, geneva, options)
    await geneva.schedules.pause('beat')
    const beats = await allEnded(access, geneva)
    const findings = audit(beats, (await geneva.schedules.find('beat'))?.started ?? -1, options)
    await fleet.retire()
    return {
      findings,
      workerErrors: new Map(
        [...groupBy(fleet.errors, ({ error }) => error)].map(([error, all]) => [error, all.length]),
      ),
      ticks: beats.length,
      deaths: fleet.deaths,
      lateMs: beats.map(({ tick, createdAt }) => Math.round(createdAt / 1000 - tick)),
      seconds: Math.round((performance.now() - startedAt) / 1000),
    }
  } finally {
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

async function killWhileTicking(fleet: WorkerFleet, geneva: Geneva, options: TickRunOptions): Promise<void> {
  const random = seededRandom(options.seed)
  const dying = failpoints.map(name => dieAtFailpoint(fleet, name, random.between(1, 5)))
  for (const death of dying) death.catch(() => {})
  for (let said = 0; ; ) {
    const started = (await geneva.schedules.find('beat'))?.started ?? 0
    if (started >= options.ticks) break
    if (started - said >= 100) {
      said = started
      options.say(`${started} of ${options.ticks} ticks, ${fleet.deaths.length} kills`)
    }
    await pause(random.between(...options.betweenMs))
    await killOne(fleet, random)
  }
  await Promise.all(dying)
}

/** One is always left that is up, or a slow machine would only ever start processes. */
async function killOne(fleet: WorkerFleet, random: Random): Promise<void> {
  const up = fleet.killable.filter(worker => worker.messages.some(message => message.ready))
  if (up.length < 2) return
  await fleet.kill(random.pick(up))
  fleet.start()
}

/** One more scheduler, which dies by its own hand at the nth tick that it takes. */
async function dieAtFailpoint(fleet: WorkerFleet, failpoint: string, nth: number): Promise<void> {
  const worker = fleet.start(`${failpoint}:${nth}`)
  const late = setTimeout(() => worker.child.kill('SIGABRT'), endTimeoutMs)
  await fleet.bury(worker, failpoint)
  clearTimeout(late)
}

async function allEnded(access: PlainAccess, geneva: Geneva): Promise<Beat[]> {
  await until(async () => {
    const beats = await readBeats(access)
    // Killed three times in a row: a person would look and requeue it.
    for (const letter of await geneva.deadLetters()) await geneva.requeue(letter.id, { by: 'tick run' })
    return beats.every(({ state }) => state === 'finished')
  }, endTimeoutMs)
  return readBeats(access)
}

async function readBeats(access: PlainAccess): Promise<Beat[]> {
  const workflows = access.table('geneva_drive_workflows')
  const rows = await access.query(`select input, state, created_at from ${workflows} where type = 'Beat'`)
  const beats = rows.map(({ input, state, created_at: at }) => {
    const { tick } = (typeof input === 'string' ? JSON.parse(input) : input) as { tick: number }
    return { tick, state: String(state), createdAt: Number(at) }
  })
  return beats.toSorted((a, b) => a.tick - b.tick)
}

/** What is wrong, in sentences. */
export function audit(beats: readonly Beat[], counted: number, options: TickRunOptions): string[] {
  const findings: string[] = []
  if (beats.length < options.ticks) findings.push(`Only ${beats.length} of ${options.ticks} ticks were started.`)
  if (counted !== beats.length) findings.push(`The schedule counts ${counted} starts, there are ${beats.length}.`)
  for (const [index, { tick, state, createdAt }] of beats.entries()) {
    const before = beats[index - 1]?.tick ?? tick - options.everyMs
    if (tick === before) findings.push(`Tick ${tick} was started twice.`)
    else if (tick !== before + options.everyMs) findings.push(`Ticks between ${before} and ${tick} are missing.`)
    if (createdAt < tick * 1000) findings.push(`Tick ${tick} was started ${tick * 1000 - createdAt} µs too early.`)
    if (state !== 'finished') findings.push(`The workflow of tick ${tick} is ${state}.`)
  }
  return findings
}
