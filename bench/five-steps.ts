/**
 * The workflow that most is measured with, and how it is run: five steps that do nothing. A step counts itself, so that
 * whoever measures knows when to ask the database whether all has ended; nobody polls while the work is under way.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Geneva, Workflow } from '../src/index.ts'
import { connectPlainly, type PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

export const stepsOfFive = 5

class Tally {
  #count = 0
  #wanted = Number.POSITIVE_INFINITY
  #reached: () => void = () => {}

  add(): void {
    if (++this.#count >= this.#wanted) this.#reached()
  }

  /** Resolves after so many more. Only one may wait at a time. */
  more(count: number): Promise<void> {
    this.#wanted = this.#count + count
    return new Promise(resolve => {
      this.#reached = resolve
    })
  }

  get count(): number {
    return this.#count
  }
}

/** Last steps that have run in this process. */
export const lastSteps = new Tally()

export class FiveSteps extends Workflow {
  static {
    for (const step of ['one', 'two', 'three', 'four', 'five'] as const) this.step(step)
  }
  async one() {}
  async two() {}
  async three() {}
  async four() {}
  async five() {
    lastSteps.add()
  }
}

/** Many short steps in one process; a step that does nothing takes no room for long. */
export const workerOptions = { concurrency: 500 } as const

/** How many calls of `start` are under way at once: a busy application. */
const startsInFlight = 500

export interface Bench {
  readonly geneva: Geneva
  readonly plain: PlainConnection
  /** Where the tables hold others as well: what their names begin with, and the greatest id of those others. */
  readonly beside?: { readonly prefix: string; readonly lastId: string }
}

/** An engine on tables that are there and empty, and a connection of its own to look at them. */
export async function withEngine<T>(place: BenchDatabase, work: (bench: Bench) => Promise<T>): Promise<T> {
  const geneva = new Geneva({ database: place.options, workflows: [FiveSteps] })
  try {
    await geneva.migrate()
    const plain = await connectPlainly(place.kind, place.options.url)
    return await work({ geneva, plain }).finally(() => plain.close())
  } finally {
    await geneva.close()
  }
}

/** Calls `start` for each, so many at once. */
export async function startEach(geneva: Geneva, workflows: number): Promise<void> {
  let left = workflows
  const caller = async () => {
    while (left-- > 0) await geneva.start(FiveSteps)
  }
  await Promise.all(Array.from({ length: Math.min(startsInFlight, workflows) }, caller))
}

/** Starts so many in one call, which is one transaction. */
export async function startSet(geneva: Geneva, workflows: number): Promise<void> {
  await geneva.startMany(
    FiveSteps,
    Array.from({ length: workflows }, () => ({})),
  )
}

/** Starts so many with a worker in this process, from the first start to the last durable end: milliseconds. */
export async function runMany(bench: Bench, workflows: number, start = startEach): Promise<number> {
  const after = await lastWorkflow(bench)
  const allRan = lastSteps.more(workflows)
  const begun = performance.now()
  await start(bench.geneva, workflows)
  await allRan
  await untilFinished(bench, workflows, { after })
  return performance.now() - begun
}

const lookMs = 2
const patienceMs = 600_000

interface Look {
  /** Only workflows with a greater id count. Without it, all of this engine. */
  readonly after?: string
  readonly everyMs?: number
}

/** Waits until the database says that so many workflows have finished. */
export async function untilFinished(
  bench: Bench,
  workflows: number,
  { after = bench.beside?.lastId, everyMs = lookMs }: Look = {},
): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const finished = await finishedCount(bench, after)
    if (finished >= workflows) return
    if (performance.now() - begun > patienceMs) throw new Error(`Only ${finished} of ${workflows} have finished.`)
    await delay(everyMs)
  }
}

function tableOf({ beside }: Bench): string {
  return `${beside?.prefix ?? 'geneva_drive_'}workflows`
}

/** Ids of one process rise. To count what comes after it takes no longer the more there was before. */
export async function lastWorkflow(bench: Bench): Promise<string> {
  const [row] = await bench.plain.query(`select coalesce(max(id), 0) as id from ${tableOf(bench)}`)
  return String(row?.id)
}

async function finishedCount(bench: Bench, after: string | undefined): Promise<number> {
  const later = after === undefined ? '' : ` and id > ${after}`
  const [row] = await bench.plain.query(
    `select count(*) as count from ${tableOf(bench)} where state = 'finished'${later}`,
  )
  return Number(row?.count)
}

/** Throws unless each step of each workflow was recorded once and nothing is left to do. */
export async function checkNothingLost(bench: Bench, workflows: number): Promise<void> {
  const count = async (table: string, where: string) => {
    const [row] = await bench.plain.query(`select count(*) as count from geneva_drive_${table} where ${where}`)
    return Number(row?.count)
  }
  const found = {
    finished: await finishedCount(bench, bench.beside?.lastId),
    completed: await count('step_executions', `state = 'completed'`),
    active: await count('active_executions', `kind <> 'timer'`),
  }
  const wanted = { finished: workflows, completed: workflows * stepsOfFive, active: 0 }
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`Expected ${JSON.stringify(wanted)} but found ${JSON.stringify(found)}.`)
  }
}
