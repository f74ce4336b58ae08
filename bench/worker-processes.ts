/** Starts workers in processes of their own and ends them again, with what they have to tell. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from '../src/index.ts'
import type { Claim } from './claim-count.ts'
import type { BenchDatabase } from './databases.ts'
import { workerOptions } from './five-steps.ts'

const program = fileURLToPath(new URL('worker-program.js', import.meta.url))

export interface WorkerReport {
  readonly claims: readonly Claim[]
  readonly errors: readonly string[]
}

/** How many worker processes, and how they work. */
export interface Workforce {
  readonly count: number
  readonly options?: WorkerOptions
}

type Child = ChildProcessByStdio<Writable, Readable, null>

class WorkerProcess {
  readonly #child: Child
  readonly #lines: AsyncIterator<string>
  readonly #ended: Promise<unknown>

  private constructor(child: Child) {
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    this.#ended = once(child, 'exit')
  }

  /** It has loaded its code and opened its store, and waits. */
  static async load({ options: database }: BenchDatabase, options: WorkerOptions): Promise<WorkerProcess> {
    const args = [program, JSON.stringify(database), JSON.stringify(options)]
    const worker = new WorkerProcess(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }))
    await worker.#hear('ready')
    return worker
  }

  async begin(): Promise<void> {
    this.#child.stdin.write('begin\n')
    await this.#hear('working')
  }

  async stop(): Promise<WorkerReport> {
    this.#child.stdin.end()
    const { value } = await this.#lines.next()
    await this.#ended
    if (value === undefined) throw new Error('A worker process ended without its report.')
    return JSON.parse(value)
  }

  async #hear(line: string): Promise<void> {
    const { value } = await this.#lines.next()
    if (value !== line) throw new Error(`A worker process ended before it was ${line}.`)
  }
}

/** Does the work beside so many worker processes, and adds what they report when it is done. */
export function besideWorkers<T>(place: BenchDatabase, count: number, work: () => Promise<T>) {
  return withWorkers(place, { count }, async begin => {
    await begin()
    return work()
  })
}

/** The same, with processes that are ready but do not work before they are told to, all at once. */
export async function withWorkers<T>(
  place: BenchDatabase,
  { count, options = workerOptions }: Workforce,
  work: (begin: () => Promise<void>) => Promise<T>,
): Promise<{ readonly result: T; readonly reports: readonly WorkerReport[] }> {
  const workers = await Promise.all(Array.from({ length: count }, () => WorkerProcess.load(place, options)))
  const begin = async () => {
    await Promise.all(workers.map(worker => worker.begin()))
  }
  const [worked] = await Promise.allSettled([work(begin)])
  const reports = Promise.all(workers.map(worker => worker.stop()))
  if (worked.status === 'rejected') {
    await reports.catch(() => {})
    throw worked.reason
  }
  return { result: worked.value, reports: await reports }
}
