/**
 * Whether history costs anything: the same work in turns on tables with few executions that have ended, or none, and on
 * tables with a million. All begin equally warm, and each comes as early as the others: what runs later in a process is faster.
 */
import { Geneva, Workflow } from '../../src/index.ts'
import { connectPlainly, type PlainConnection } from '../../test/support/plain-sql.ts'
import type { BenchDatabase } from '../databases.ts'
import { FiveSteps, runMany, stepsOfFive, workerOptions } from '../five-steps.ts'
import { type History, Past, seedHistory } from '../history.ts'
import { warmUp } from '../warm-up.ts'
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
  /** Even, so that each set has come first as often as last. */
  readonly rounds: number
}

const amounts: Readonly<Record<Size, Amounts>> = {
  full: { small: 1000, explained: 5000, ended: 200, due: 2000, claims: 50, many: 2000, alone: 100, rounds: 6 },
  tiny: { small: 50, explained: 20, ended: 5, due: 30, claims: 2, many: 10, alone: 2, rounds: 2 },
}

const perClaim = 10
const worker = 'claimer'

const noHistory: History = { sample: () => [], bytes: 0 }

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
    const history = finished === 0 ? noHistory : await seedHistory({ geneva, database: own, plain }, finished)
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

interface Turns<T> {
  readonly set: Grown
  readonly measured: T[]
}

/** The same of each set in turns, so that a busy moment hits all, and in every other round the other way round. */
async function inTurns<T>(
  sets: readonly Grown[],
  size: Size,
  measure: (set: Grown) => Promise<T>,
): Promise<Turns<T>[]> {
  const all = sets.map((set): Turns<T> => ({ set, measured: [] }))
  // Unmeasured: code, caches and plans are as warm for one as for the others.
  await warmUp(async () => {
    for (const set of sets) await measure(set)
  }, size)
  for (let round = 0; round < amounts[size].rounds; round++) {
    for (const { set, measured } of round % 2 === 0 ? all : all.toReversed()) measured.push(await measure(set))
  }
  return all
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = low] = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
  return (low + high) / 2
}

interface Line {
  readonly what: string
  /** What it is called where one number is divided by another, if that is something else. */
  readonly ratio?: string
  readonly unit: string
}

/** A line for each set, the largest last, and one for that against each of the others. */
function lines<T>(
  { what, ratio = what, unit }: Line,
  turns: readonly Turns<T>[],
  of: (each: T) => number,
): Measurement[] {
  const sets = turns.map(({ set, measured }) => ({ set, value: middle(measured.map(of)) }))
  const many = sets.at(-1)?.value ?? Number.NaN
  return [
    ...sets.map(({ set, value }) => ({ what: `${what}, ${ended(set)}`, value, unit })),
    ...sets.slice(0, -1).map(({ set, value }) => ({
      what: `${ratio}, many against ${set.finished === 0 ? 'none' : 'few'}`,
      value: many / value,
      unit: 'times',
    })),
  ]
}

function ended({ finished }: Grown): string {
  return `${finished === 0 ? 'none' : count(finished)} ended`
}

function count(value: number): string {
  return value.toLocaleString('en')
}

const history: Case = {
  name: 'history',
  async measure(database, size, { finished }) {
    const { small, explained } = amounts[size]
    const none = await grown(database, 0, size)
    const few = await grown(database, small, size)
    const many = await grown(database, size === 'full' ? finished : small * 10, size)
    const explains = await inTurns([few, many], size, set => set.explainMs())
    const claims = await inTurns([none, few, many], size, set => set.claimMs())
    const runs = await inTurns([none, many], size, set => set.run())
    const itself = (value: number) => value
    return [
      ...lines({ what: `explain ${count(explained)}`, ratio: 'explain', unit: 'ms' }, explains, itself),
      ...lines({ what: `claim ${perClaim}`, ratio: 'claim', unit: 'ms' }, claims, itself),
      ...lines({ what: 'throughput', unit: 'steps/s' }, runs, ({ perSecond }) => perSecond),
      ...lines({ what: 'start to end of one', unit: 'ms' }, runs, ({ aloneMs }) => aloneMs),
      ...[few, many].map(set => ({ what: `disk, ${ended(set)}`, value: set.bytes / 2 ** 20, unit: 'MB' })),
    ]
  },
}

export const workload: Workload = {
  about: 'Explaining, claiming and running beside no or few executions that have ended, and beside a million.',
  cases: [history],
  async stop() {
    for (const set of sets.values()) await (await set).close()
  },
}
