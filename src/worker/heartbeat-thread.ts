/**
 * A thread that stands in for the heartbeat of a worker while the event loop is too busy for it, with a connection of its own.
 * It renews one row and does nothing else. Without it, or after its death, the worker's own heartbeat is all there is.
 */
import { once } from 'node:events'
import { Worker as Thread } from 'node:worker_threads'
import { HeartbeatThreadError } from '../errors.ts'
import type { SharedMoment } from '../primitives/shared-moment.ts'
import { within } from '../primitives/within.ts'
import type { DatabaseOptions } from '../store/database-options.ts'

/** What the thread is given when it starts. */
export interface HeartbeatOrder {
  readonly database: DatabaseOptions
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** When the lease was last renewed, by whoever did it. */
  readonly renewed: SharedArrayBuffer
}

/** What the worker tells the thread. */
export type HeartbeatMessage = { readonly keep: string } | { readonly stop: true }

export interface HeartbeatThreadParts {
  readonly database: DatabaseOptions
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly renewed: SharedMoment
  /** Hears that the thread has died, or cannot reach the database. */
  onFailure(error: HeartbeatThreadError): void
  /** The program that the thread runs. For tests. */
  readonly program?: URL
}

/** A thread that has been asked to end gets so long before it is ended. */
const patienceMs = 1000

export class HeartbeatThread {
  readonly #thread: Thread
  readonly #exited: Promise<unknown>
  #ending = false

  private constructor(thread: Thread, onFailure: HeartbeatThreadParts['onFailure']) {
    this.#thread = thread
    // Whoever forgets to stop a worker is kept alive by its loops, not by this thread.
    thread.unref()
    thread.on('message', (reason: string) => onFailure(new HeartbeatThreadError(reason)))
    thread.on('error', error => {
      this.#ending = true
      onFailure(new HeartbeatThreadError(error.message, { cause: error }))
    })
    this.#exited = once(thread, 'exit').then(
      () => this.#ending || onFailure(new HeartbeatThreadError('it has ended')),
      () => {},
    )
  }

  /** `null` where another thread could not open the same database, or not load the program. */
  static start({ onFailure, renewed, program: given, ...parts }: HeartbeatThreadParts): HeartbeatThread | null {
    const program = given ?? ownProgram()
    if (program === null || !isPlain(parts.database)) return null
    const order: HeartbeatOrder = { ...parts, renewed: renewed.memory }
    try {
      // Nothing that the application loads first, or sets for its own threads, has anything to do here.
      return new HeartbeatThread(new Thread(program, { workerData: order, execArgv: [] }), onFailure)
    } catch (error) {
      onFailure(new HeartbeatThreadError(String(error), { cause: error }))
      return null
    }
  }

  /** From now on it is the lease of this worker that must not lapse. */
  keep(workerId: string): void {
    this.#tell({ keep: workerId })
  }

  /** Resolves when the thread is gone, and its connection with it. */
  async end(): Promise<void> {
    this.#ending = true
    this.#thread.ref()
    this.#tell({ stop: true })
    let gone = false
    const exited = this.#exited.then(() => {
      gone = true
    })
    await within(exited, patienceMs)
    if (!gone) await this.#thread.terminate()
  }

  #tell(message: HeartbeatMessage): void {
    this.#thread.postMessage(message)
  }
}

/** The compiled program, or the source where the runtime can load that. */
function ownProgram(): URL | null {
  if (!import.meta.url.endsWith('.ts')) return new URL('./heartbeat-program.js', import.meta.url)
  const { typescript } = process.features as { readonly typescript?: unknown }
  return typescript ? new URL('./heartbeat-program.ts', import.meta.url) : null
}

/** A class or an open handle cannot be handed to another thread. */
function isPlain(options: DatabaseOptions): boolean {
  return Object.values(options).every(value => value === null || !['function', 'object'].includes(typeof value))
}
