/**
 * The worker processes of a crash run: starts them, kills them, remembers under which ids they worked and how each died.
 * None survives the process that started it.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { CrashWorkerConfig } from '../crash-worker.ts'
import type { PlainAccess } from './plain-access.ts'
import { spawnNode } from './spawn-node.ts'
import { until } from './until.ts'

export interface Death {
  /** A failpoint by name, or `random`. */
  readonly cause: string
  readonly pid: number
  /** Every id under which the process was registered as a worker. */
  readonly workerIds: readonly string[]
  /** When it died, in microseconds of the database. */
  readonly at: number
}

export interface WorkerError {
  readonly error: string
  /** The step that threw; `null` for an error of the worker itself. */
  readonly step: string | null
}

export interface WorkerMessage extends Partial<WorkerError> {
  readonly ready?: number
  /** A long step began, or left, with the number of its attempt. */
  readonly began?: string
  readonly left?: string
  readonly attempt?: number
  /** Workflows whose step was reported on, in vain. */
  readonly refused?: readonly string[]
  /** How many bodies of a wave stand at the barrier. */
  readonly waiting?: number
  readonly wave?: number
}

export class FleetWorker {
  readonly child: ChildProcess
  /** Where it will end by its own hand. */
  readonly failpoint: string | null
  readonly ready: Promise<void>
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  readonly errors: WorkerError[] = []
  /** What the process has told, oldest first. */
  readonly messages: WorkerMessage[] = []
  stderr = ''
  isOver = false

  constructor(program: string, config: CrashWorkerConfig, failpoint: string | null) {
    this.failpoint = failpoint
    this.child = spawnNode(program, [JSON.stringify(config)], failpoint === null ? {} : { GENEVA_FAILPOINT: failpoint })
    this.child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (this.stderr += chunk))
    this.child.on('error', error => (this.stderr += String(error)))
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      this.isOver = true
      return { code, signal }
    })
    this.ready = new Promise(resolve => {
      this.child.on('message', (message: WorkerMessage) => {
        this.messages.push(message)
        if (message.ready) resolve()
        if (message.error) this.errors.push({ error: message.error, step: message.step ?? null })
      })
      // A process that dies before it is ready has nothing more to wait for.
      void this.exited.then(() => resolve())
    })
  }

  get pid(): number {
    return this.child.pid ?? -1
  }
}

export class WorkerFleet {
  readonly #config: CrashWorkerConfig
  readonly #access: PlainAccess
  readonly #program: string
  readonly #all: FleetWorker[] = []
  readonly deaths: Death[] = []

  constructor(config: CrashWorkerConfig, access: PlainAccess, program = 'crash-worker') {
    this.#config = config
    this.#access = access
    this.#program = program
  }

  get living(): readonly FleetWorker[] {
    return this.#all.filter(worker => !worker.isOver)
  }

  /** Those that do not end by themselves. */
  get killable(): readonly FleetWorker[] {
    return this.living.filter(worker => worker.failpoint === null)
  }

  get errors(): readonly WorkerError[] {
    return this.#all.flatMap(worker => worker.errors)
  }

  /** What the processes have printed, which should be nothing. */
  get stderr(): string {
    return this.#all.map(worker => worker.stderr).join('')
  }

  /** Waits until every worker is up that should be, and fails if one has ended instead. */
  async allReady(): Promise<void> {
    const starting = this.killable
    await Promise.all(starting.map(worker => worker.ready))
    const gone = starting.find(worker => worker.isOver)
    if (gone) throw new Error(`A worker has ended by itself:\n${gone.stderr}`)
  }

  /** With the options of the fleet, unless it gets its own. */
  start(failpoint: string | null = null, options = this.#config.options): FleetWorker {
    const worker = new FleetWorker(this.#program, { ...this.#config, options }, failpoint)
    this.#all.push(worker)
    return worker
  }

  /** The worker that holds most executions, as soon as one holds any. */
  async busiest(): Promise<FleetWorker> {
    const held = `select k.pid from ${this.#access.table('geneva_drive_active_executions')} a
      join ${this.#access.table('geneva_drive_workers')} k on k.id = a.owner group by k.pid order by count(*) desc`
    const found = await until(async () => {
      const pids = (await this.#access.query(held)).map(row => Number(row.pid))
      return pids.map(pid => this.killable.find(worker => worker.pid === pid)).find(worker => worker !== undefined)
    }, 10_000)
    if (found === null) throw new Error('No worker has anything under way.')
    return found
  }

  async kill(worker: FleetWorker): Promise<void> {
    worker.child.kill('SIGKILL')
    await this.bury(worker, 'random')
  }

  /** Waits for the end of a process and writes down what the auditor has to know of it. */
  async bury(worker: FleetWorker, cause: string): Promise<void> {
    const { signal, code } = await worker.exited
    if (signal !== 'SIGKILL') throw new Error(`A worker ended by itself with ${signal ?? code}:\n${worker.stderr}`)
    const workers = this.#access.table('geneva_drive_workers')
    const rows = await this.#access.query(`select id from ${workers} where pid = ?`, [worker.pid])
    const [clock] = await this.#access.query(`select ${this.#access.now} as now`)
    const workerIds = rows.map(row => String(row.id))
    this.deaths.push({ cause, pid: worker.pid, workerIds, at: Number(clock?.now) })
  }

  /** Asks all to leave, and fails if one does not do so in good order. */
  async retire(): Promise<void> {
    const leaving = this.living
    // Before that a process does not listen to the signal yet.
    await Promise.all(leaving.map(worker => worker.ready))
    for (const worker of leaving) worker.child.kill('SIGTERM')
    for (const worker of leaving) {
      const { code, signal } = await worker.exited
      if (code !== 0) throw new Error(`A worker left with ${signal ?? code}:\n${worker.stderr}`)
    }
  }

  /** Ends whatever is left, when the run is over in whatever way. */
  async end(): Promise<void> {
    for (const worker of this.living) worker.child.kill('SIGKILL')
    await Promise.all(this.#all.map(worker => worker.exited))
  }
}
