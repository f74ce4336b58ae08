/** Starts workers in processes of their own and ends them again, with what they have to tell. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Claim } from './claim-count.ts'
import type { BenchDatabase } from './databases.ts'

const program = fileURLToPath(new URL('worker-program.js', import.meta.url))

export interface WorkerReport {
  readonly claims: readonly Claim[]
  readonly errors: readonly string[]
}

type Child = ChildProcessByStdio<Writable, Readable, null>

export class WorkerProcess {
  readonly #child: Child
  readonly #lines: AsyncIterator<string>

  private constructor(child: Child, lines: AsyncIterator<string>) {
    this.#child = child
    this.#lines = lines
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  static async start({ options }: BenchDatabase): Promise<WorkerProcess> {
    const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const { value } = await lines.next()
    if (value !== 'ready') throw new Error('A worker process ended before it was ready.')
    return new WorkerProcess(child, lines)
  }

  async stop(): Promise<WorkerReport> {
    const ended = once(this.#child, 'exit')
    this.#child.stdin.end()
    const { value } = await this.#lines.next()
    await ended
    return JSON.parse(value)
  }
}

/** Does the work beside so many worker processes, and adds what they report when it is done. */
export async function besideWorkers<T>(
  place: BenchDatabase,
  count: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly reports: readonly WorkerReport[] }> {
  const workers = await Promise.all(Array.from({ length: count }, () => WorkerProcess.start(place)))
  const [worked] = await Promise.allSettled([work()])
  const reports = await Promise.all(workers.map(worker => worker.stop()))
  if (worked.status === 'rejected') throw worked.reason
  return { result: worked.value, reports }
}
