/**
 * Fan-ins whose parents all end at the same instant in several processes, wave after wave; on request one of the
 * processes is killed in the middle of it. Then an audit of what they have left.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva, type WorkerOptions } from '../../../src/index.ts'
import { readCrashRows, wasLost } from './crash-audit.ts'
import { auditFanIns, type Coincidence, coincidenceOf, type FanInRows } from './fan-in-audit.ts'
import {
  Diamond,
  type ExpectedFanIn,
  fanInJobs,
  shareQueue,
  shares,
  startDiamonds,
  startWide,
} from './fan-in-graphs.ts'
import { parentsIn, type Wave } from './fan-in-waves.ts'
import { createJournal } from './journal.ts'
import { countUnfinished, describeStuck, leftWorkers, resumeParked, waitForBurials } from './kill-run.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { until } from './until.ts'
import { type Death, type FleetWorker, WorkerFleet } from './worker-fleet.ts'

export interface FanInRunOptions {
  readonly url: string
  readonly waves: readonly Wave[]
  /** Kill a worker in every wave, while its fan-ins are under way. */
  readonly kills: boolean
  readonly seed: number
  say(line: string): void
}

export interface FanInReport extends Coincidence {
  readonly findings: readonly string[]
  readonly deaths: readonly Death[]
  /** Attempts that were taken over from the dead. */
  readonly taken: number
  readonly fanIns: number
  readonly parents: number
  readonly calls: number
  readonly seconds: number
}

const waveTimeoutMs = 60_000
const roomForOthers = 3
const failpoints = ['finish.before-commit', 'finish.after-commit', 'step.after'] as const

export async function fanInRun(options: FanInRunOptions): Promise<FanInReport> {
  const startedAt = performance.now()
  const access = await openAccess(options.url)
  const geneva = new Geneva({ database: options.url, workflows: [Diamond], jobs: fanInJobs })
  const run = new FanInRun(geneva, access, options)
  try {
    await createJournal(access)
    await geneva.migrate()
    const findings = await run.all()
    const rows = await readFanInRows(access)
    const coincidence = coincidenceOf(rows, run.expected, run.deaths)
    return {
      findings: [
        ...findings,
        ...auditFanIns(rows, run.expected, run.deaths),
        ...(await leftWorkers(access)),
        ...(await flawsOf(geneva, run.expected)),
        ...run.complaints(coincidence),
      ],
      ...coincidence,
      deaths: run.deaths,
      taken: rows.history.filter(wasLost).length,
      fanIns: run.expected.length,
      parents: run.expected.reduce((sum, { parents }) => sum + parents.length, 0),
      calls: rows.journal.length,
      seconds: Math.round((performance.now() - startedAt) / 1000),
    }
  } finally {
    await run.end()
    await geneva.close()
    await access.close()
  }
}

class FanInRun {
  readonly expected: ExpectedFanIn[] = []
  readonly #geneva: Geneva
  readonly #access: PlainAccess
  readonly #options: FanInRunOptions
  readonly #fleet: WorkerFleet
  readonly #random: Random
  /** The number of the last wave that was let go. */
  #released = 0

  constructor(geneva: Geneva, access: PlainAccess, options: FanInRunOptions) {
    this.#geneva = geneva
    this.#access = access
    this.#options = options
    this.#random = seededRandom(options.seed)
    this.#fleet = new WorkerFleet({ url: options.url, options: {} }, access, 'fan-in-worker')
  }

  get deaths(): readonly Death[] {
    return this.#fleet.deaths
  }

  async all(): Promise<string[]> {
    const { waves, say } = this.#options
    for (const [index, wave] of waves.entries()) {
      const findings = await this.#wave(wave, index + 1)
      if (findings.length > 0) return findings
      if ((index + 1) % 10 === 0) say(`${index + 1} of ${waves.length} waves of fan-ins`)
    }
    const findings = await waitForBurials(this.#access, this.#fleet)
    await this.#fleet.retire()
    return findings
  }

  end(): Promise<void> {
    return this.#fleet.end()
  }

  async #wave(wave: Wave, number: number): Promise<string[]> {
    const victim = await this.#fillUp()
    const diamonds = wave.filter(round => round.kind === 'diamond').length
    if (diamonds > 0) this.expected.push(...(await startDiamonds(this.#geneva, diamonds, number)))
    for (const { kind, width, mixed } of wave) {
      if (kind === 'wide') this.expected.push(await startWide(this.#geneva, { wave: number, width, mixed }))
    }
    const parents = parentsIn(wave)
    if (!(await until(() => this.#waiting(number) === parents, waveTimeoutMs))) {
      return this.#stuck(`Wave ${number}: ${this.#waiting(number)} of ${parents} parents stand at the barrier.`)
    }
    this.#release(number)
    if (victim !== null) await this.#kill(victim)
    const ended = await until(() => this.#isOver(), waveTimeoutMs)
    if (!ended) return this.#stuck(`Wave ${number} has not ended within ${waveTimeoutMs / 1000} s.`)
    if (victim !== null && !victim.isOver) await this.#fleet.kill(victim)
    return []
  }

  async #stuck(what: string): Promise<string[]> {
    return [what, ...(await describeStuck(this.#access))]
  }

  /** All workers are up. The last one may be there to die. */
  async #fillUp(): Promise<FleetWorker | null> {
    let victim: FleetWorker | null = null
    for (let share = this.#fleet.living.length; share < shares; share++) {
      const dies = this.#options.kills && share === shares - 1
      const failpoint = dies ? this.#random.pick([null, ...failpoints]) : null
      const nth = this.#random.between(1, 3)
      const worker = this.#fleet.start(failpoint === null ? null : `${failpoint}:${nth}`, this.#workerOptions(share))
      void worker.ready.then(() => this.#tellReleased(worker))
      if (dies) victim = worker
    }
    await Promise.all(this.#fleet.living.map(worker => worker.ready))
    return victim
  }

  /** Every process has its share of the parents. Where one is killed, the others have a little room for its share. */
  #workerOptions(share: number): WorkerOptions {
    const { waves, kills } = this.#options
    const most = Math.max(...waves.map(parentsIn))
    const others = Array.from({ length: shares }, (_, index) => [shareQueue(index), roomForOthers] as const)
    return {
      concurrency: most,
      queues: { ...(kills ? Object.fromEntries(others) : {}), [shareQueue(share)]: most, default: most },
      poll: 20,
      // Long, so that nobody is taken for dead on a busy machine; and short where somebody is.
      lease: kills ? 1500 : 60_000,
    }
  }

  #waiting(wave: number): number {
    const told = this.#fleet.living.map(worker => worker.messages.findLast(message => message.wave === wave))
    return told.reduce((sum, message) => sum + (message?.waiting ?? 0), 0)
  }

  #release(wave: number): void {
    this.#released = wave
    for (const worker of this.#fleet.living) this.#tellReleased(worker)
  }

  #tellReleased({ child }: FleetWorker): void {
    // One that is just dying has nothing to hear any more.
    if (child.connected) child.send({ released: this.#released }, () => {})
  }

  /** By our hand at a random moment, or by its own at a failpoint that it comes to, if it does. */
  async #kill(victim: FleetWorker): Promise<void> {
    const { failpoint } = victim
    if (failpoint === null) {
      await pause(this.#random.between(0, 40))
      await this.#fleet.kill(victim)
      return
    }
    const dead = await until(async () => victim.isOver || (await this.#isOver()), waveTimeoutMs)
    if (dead && victim.isOver) await this.#fleet.bury(victim, failpoint.replace(/:\d+$/, ''))
  }

  async #isOver(): Promise<boolean> {
    if (this.#options.kills) await resumeParked(this.#access, this.#geneva)
    return (await countUnfinished(this.#access)) === 0
  }

  /** Errors that nobody asked for, and a run that proves nothing. */
  complaints({ split, hits }: Coincidence): string[] {
    const { errors, stderr, deaths } = this.#fleet
    const unasked = errors.filter(({ error }) => error !== 'Error: It was asked to fail once.')
    return [
      ...unasked.map(({ step, error }) => `${step === null ? 'A worker' : `Node ${step}`} threw ${error}`),
      ...(stderr === '' ? [] : [`The workers printed: ${stderr}`]),
      ...(hits * 3 >= deaths.length ? [] : [`Only ${hits} of ${deaths.length} kills hit work that was under way.`]),
      ...(deaths.length > 0 || split * 2 >= this.expected.length
        ? []
        : [`Only ${split} of ${this.expected.length} fan-ins had parents in several processes.`]),
    ]
  }
}

async function readFanInRows(access: PlainAccess): Promise<FanInRows> {
  const [row] = await access.query(`select count(*) as number from ${access.table('geneva_drive_fan_ins')}`)
  return { ...(await readCrashRows(access)), counters: Number(row?.number) }
}

const sampled = 20

/** Recomputes the ancestry of some of them, the widest first. */
async function flawsOf(geneva: Geneva, expected: readonly ExpectedFanIn[]): Promise<string[]> {
  const widest = expected.toSorted((a, b) => b.parents.length - a.parents.length)
  const every = Math.ceil(widest.length / sampled)
  const findings: string[] = []
  for (const { workflowId } of widest.filter((_, index) => index % every === 0)) {
    const flaw = await geneva.verifyHistory(workflowId)
    if (flaw !== null) findings.push(`Workflow ${workflowId} node ${flaw.node}: ${flaw.reason}`)
  }
  return findings
}
