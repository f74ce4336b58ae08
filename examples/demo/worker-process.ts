/** A worker as the demo sees it: a process of its own, which can be killed for real. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A worker says that the body of this execution is about to run. */
export interface StepBegins {
  readonly begins: string
}

/** The parent says how far its clock is ahead. */
export interface FromParent {
  readonly clockOffsetMs: number
}

export interface WorkerSettings {
  readonly database: string
  readonly leaseMs: number
}

/** Compiled or not: the worker has the extension of this file. */
const program = fileURLToPath(import.meta.url).replace(/demo[\\/]worker-process(\.\w+)$/, 'worker$1')

export class WorkerProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #gone: Promise<unknown>
  /** Executions that have run here, and how often. */
  readonly runs = new Map<string, number>()

  constructor(name: string, { database, leaseMs }: WorkerSettings) {
    this.name = name
    this.#child = fork(program, [database, String(leaseMs)])
    this.#gone = once(this.#child, 'exit')
    this.#child.on('message', (message: StepBegins) => {
      this.runs.set(message.begins, (this.runs.get(message.begins) ?? 0) + 1)
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  setClock(clockOffsetMs: number): void {
    const message: FromParent = { clockOffsetMs }
    if (this.#child.connected) this.#child.send(message)
  }

  /** No chance to say goodbye, as when the machine goes away. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#gone
  }

  /** In good order: running steps end first. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#gone
  }
}
