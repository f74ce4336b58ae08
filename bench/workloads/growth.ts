/**
 * Whether history costs anything: the same work in turns on tables with few executions that have ended, or none, and on
 * tables with a million. Explaining 5,000 workflows in one call and claiming must not take more than 1.5 times as long,
 * throughput and the time of one workflow must hardly change.
 */
import { Geneva, Workflow } from '../../src/index.ts'
import { connectPlainly, type PlainConnection } from '../../test/support/plain-sql.ts'
import type { BenchDatabase } from '../databases.ts'
import { FiveSteps, runMany, stepsOfFive, workerOptions } from '../five-steps.ts'
import { type History, Past, seedHistory } from '../history.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

/** Due tomorrow: something to explain. */
class Later extends Workflow {
  static {
    this.step('first')
    this.step('second')
  }
  async first() {}
  async second() {}
}

/** Due now, in a queue that no worker of this benchmark serves: something to claim. */
class Waiting extends Workflow {
  static {
    this.jobOptions({ queue: 'claims' })
    this.step('first')
  }
  async first() {}
}

const workflows = [Past, Later, Waiting, FiveSteps] as const

interface Amounts {
  readonly small: number
  readonly explained: number
  /** Of those, from the history. */
  readonly ended: number
  readonly due: number
  readonly claims: number
  /** Run at once, and one after the other. */
  readonly many: number
  readonly alone: number
  readonly rounds: number
}

const amounts: Readonly<Record<Size, Amounts>> = {
  full: { small: 1000, explained: 5000, ended: 200, due: 2000, claims: 50, many: 2000, alone: 100, rounds: 5 },
  tiny: { small: 50, explained: 20, ended: 5, due: 30, claims: 2, many: 10, alone: 2, rounds: 1 },
}

const perClaim = 10
const worker = 'claimer'
const bound = 1.5

const none: History = { sample: () => [], bytes: 0 }

/** One set of tables, with all that is measured on it. */
class Grown {
  readonly finished: number
  readonly bytes: number
  readonly #geneva: Geneva
  readonly #plain: PlainConnection
  readonly #database: BenchDatabase
  readonly #ids: readonly string[]
  readonly #amounts: Amounts
  readonly #generation: number

  private constructor(set: GrownSet) {
    this.finished = set.finished
    this.bytes = set.history.bytes
    this.#geneva = set.geneva
    this.#plain = set.plain
    this.#database = set.database
    this.#ids = set.ids
    this.#amounts = set.amounts
    this.#generation = set.generation
  }

  static async seed(database: BenchDatabase, finished: number, kind: Size): Promise<Grown> {
    const size = amounts[kind]
    const prefix = `${kind}${finished}_`
    const own = { ...database, options: { ...database.options, prefix, keyType: 'bigint' as const } }
    const geneva = new Geneva({ database: own.options, workflows })
    await geneva.migrate()
    const plain = await connectPlainly(own.kind, own.options.url)
    const history = finished === 0 ? none : await seedHistory({ geneva, database: own, plain }, finished)
    const { explained, due } = size
    const ended = finished === 0 ? 0 : size.ended
    const whats = (count: number) => Array.from({ length: count }, () => ({}))
    const later = await geneva.startMany(Later, whats(explained - ended), { delay: '1 day' })
    await geneva.startMany(Waiting, whats(due))
    const ids = [...later.map(({ id }) => id), ...history.sample(ended)]
    const store = await geneva.openedStore()
    await store.registerWorker({
      id: worker,
      host: 'bench',
      pid: process.pid,
      leaseMs: 3_600_000,
      handlers: ['Waiting'],
    })
    const generation = Number((await store.findDefinition('Waiting'))?.generation)
    return new Grown({ finished, history, geneva, plain, database: own, ids, amounts: size, generation })
  }

  async explainMs(): Promise<number> {
    const begun = performance.now()
    const found = await this.#geneva.explainMany(this.#ids)
    const took = performance.now() - begun
    if (found.length !== this.#amounts.explained) throw new Error(`Only ${found.length} workflows were explained.`)
    return took
  }

  /** The mean of some claims of ten each. Afterwards it is as if there had been none. */
  async claimMs(): Promise<number> {
    const store = await this.#geneva.openedStore()
    const sources = [{ queue: 'claims', handler: 'Waiting', generation: this.#generation }]
    const { claims } = this.#amounts
    const begun = performance.now()
    for (let i = 0; i < claims; i++) {
      const claimed = await store.claim({ workerId: worker, sources, limit: perClaim })
      if (claimed.length !== perClaim) throw new Error(`A claim has found ${claimed.length} executions only.`)
    }
    const took = performance.now() - begun
    await this.#plain.query(
      `update ${this.#database.options.prefix}active_executions set state = 'scheduled', owner = null, started_at = null,
       sort_key = due_at where owner = '${worker}'`,
    )
    return took / claims
  }

  /** Steps per second of many workflows at once, and how long one alone takes from start to end. */
  async run(): Promise<{ readonly perSecond: number; readonly aloneMs: number }> {
    const geneva = new Geneva({ database: this.#database.options, workflows })
    try {
      const { many, alone } = this.#amounts
      const { prefix = '' } = this.#database.options
      const [row] = await this.#plain.query(`select max(id) as id from ${prefix}workflows`)
      const lastId = String(row?.id)
      await geneva.startWorker({ ...workerOptions, queues: ['default'] })
      const ms = await runMany({ geneva, plain: this.#plain, beside: { prefix, lastId } }, many)
      const times: number[] = []
      for (let i = 0; i < alone; i++) {
        const at = performance.now()
        const workflow = await geneva.start(FiveSteps)
        await workflow.waitUntilFinished({ timeout: '1 min' })
        times.push(performance.now() - at)
      }
      await this.#forget(lastId)
      return { perSecond: (many * stepsOfFive * 1000) / ms, aloneMs: middle(times) }
    } finally {
      await geneva.close()
    }
  }

  async close(): Promise<void> {
    await this.#geneva.close()
    await this.#plain.close()
  }

  /** What the runs have added to the history, so that it stays as large as it is called. */
  async #forget(lastId: string): Promise<void> {
    const { prefix } = this.#database.options
    await this.#plain.query(`delete from ${prefix}events where workflow_id > ${lastId}`)
    await this.#plain.query(`delete from ${prefix}step_executions where workflow_id > ${lastId}`)
    await this.#plain.query(`delete from ${prefix}workflows where id > ${lastId}`)
  }
}

interface GrownSet {
  readonly finished: number
  readonly history: History
  readonly geneva: Geneva
  readonly plain: PlainConnection
  readonly database: BenchDatabase
  readonly ids: readonly string[]
  readonly amounts: Amounts
  readonly generation: number
}

/** Seeded once for all runs. */
const sets = new Map<string, Promise<Grown>>()

function grown(database: BenchDatabase, finished: number, size: Size): Promise<Grown> {
  const key = JSON.stringify([database.options.url, finished, size])
  const known = sets.get(key) ?? Grown.seed(database, finished, size)
  sets.set(key, known)
  return known
}

/** The same of both sets in turns, so that a busy moment hits both. */
async function inTurns(
  both: readonly [Grown, Grown],
  rounds: number,
  measure: (set: Grown) => Promise<number>,
): Promise<readonly [number, number]> {
  const times: readonly [number[], number[]] = [[], []]
  // Unmeasured: caches and plans are as warm for one as for the other.
  for (const set of both) await measure(set)
  for (let round = 0; round < rounds; round++) {
    times[0].push(await measure(both[0]))
    times[1].push(await measure(both[1]))
  }
  return [middle(times[0]), middle(times[1])]
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const history: Case = {
  name: 'history',
  async measure(database, size, { finished }) {
    const { small, rounds, explained } = amounts[size]
    const large = size === 'full' ? finished : small * 10
    const empty = await grown(database, 0, size)
    const both = [await grown(database, small, size), await grown(database, large, size)] as const
    const explain = await inTurns(both, rounds, set => set.explainMs())
    const claim = await inTurns(both, rounds, set => set.claimMs())
    // Unmeasured: code and plans are as warm for one as for the other.
    await both[1].run()
    const runs = [await empty.run(), await both[1].run()] as const
    const pair = (what: string, [few, many]: readonly [number, number], unit: string): Measurement[] => [
      { what: `${what}, ${count(small)} ended`, value: few, unit },
      { what: `${what}, ${count(large)} ended`, value: many, unit },
      { what: `${what}, many against few`, value: many / few, unit: 'times' },
    ]
    const beside = (what: string, [zero, many]: readonly [number, number], unit: string): Measurement[] => [
      { what: `${what}, none ended`, value: zero, unit },
      { what: `${what}, ${count(large)} ended`, value: many, unit },
      { what: `${what}, many against none`, value: many / zero, unit: 'times' },
    ]
    return [
      ...pair(`explain ${count(explained)} (bound ${bound})`, explain, 'ms'),
      ...pair(`claim ${perClaim} (bound ${bound})`, claim, 'ms'),
      ...beside('throughput', [runs[0].perSecond, runs[1].perSecond], 'steps/s'),
      ...beside('start to end of one', [runs[0].aloneMs, runs[1].aloneMs], 'ms'),
      ...both.map(set => ({ what: `disk, ${count(set.finished)} ended`, value: set.bytes / 2 ** 20, unit: 'MB' })),
    ]
  },
}

function count(value: number): string {
  return value.toLocaleString('en')
}

export const workload: Workload = {
  about: 'Explaining, claiming and running beside no or few executions that have ended, and beside a million.',
  cases: [history],
  async stop() {
    for (const set of sets.values()) await (await set).close()
  },
}
