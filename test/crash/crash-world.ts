/**
 * What most crash tests need: an isolated database with the journal in it, a client to start workflows with, plain SQL to
 * look behind the engine's back, and worker processes. All of it goes away with the test.
 */
import { Geneva, type WorkerOptions } from '../../src/index.ts'
import type { CrashWorkerConfig } from '../programs/crash-worker.ts'
import { auditRows, type CrashRows, readCrashRows } from '../programs/harness/crash-audit.ts'
import { createJournal, type JournalEntry, readJournal } from '../programs/harness/journal.ts'
import { FiveSteps, loadWorkflows, stepsOfLoad } from '../programs/harness/load-workflows.ts'
import { openAccess, type PlainAccess } from '../programs/harness/plain-access.ts'
import type { TestDatabase } from '../support/databases.ts'
import { type Program, spawnProgram } from '../support/spawn-program.ts'
import { waitFor } from '../support/wait-for.ts'

/** A lease that lapses soon, and everything else in proportion. */
export const shortLease: WorkerOptions = { lease: 500, poll: 50, concurrency: 10 }

export class CrashWorld {
  readonly url: string
  readonly geneva: Geneva
  readonly access: PlainAccess
  readonly #drop: () => Promise<void>
  readonly #programs: Program[] = []

  constructor(isolated: { url: string; drop(): Promise<void> }, access: PlainAccess) {
    this.url = isolated.url
    this.access = access
    this.geneva = new Geneva({ database: isolated.url, workflows: loadWorkflows })
    this.#drop = () => isolated.drop()
  }

  static async open(database: TestDatabase): Promise<CrashWorld> {
    const isolated = await database.isolated()
    const access = await openAccess(isolated.url)
    const world = new CrashWorld(isolated, access)
    await createJournal(access)
    await world.geneva.migrate()
    return world
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) program.kill()
    await Promise.all(this.#programs.map(program => program.exited))
    await this.geneva.close()
    await this.access.close()
    await this.#drop()
  }

  /** A worker process that is ready to work. */
  async worker(config: Partial<CrashWorkerConfig> = {}): Promise<Program> {
    const full: CrashWorkerConfig = { url: this.url, options: shortLease, ...config }
    const program = spawnProgram('crash-worker', [JSON.stringify(full)])
    this.#programs.push(program)
    await program.nextMessage((message: { ready?: number }) => message.ready !== undefined)
    return program
  }

  async startLoad(count: number): Promise<void> {
    await this.geneva.startMany(
      FiveSteps,
      Array.from({ length: count }, () => ({})),
    )
  }

  /** Waits until no workflow is left that has not ended. */
  async allEnded(timeoutMs = 20_000): Promise<void> {
    const workflows = this.access.table('geneva_drive_workflows')
    const open = `select id, state from ${workflows} where state in ('ready', 'rolling_back')`
    await waitFor(async () => (await this.access.query(open)).length === 0, timeoutMs).catch(async error => {
      throw new Error(`${error.message}\n${await this.#describeOpen()}`)
    })
  }

  /** What stands in the way of an end, for a failed test. */
  async #describeOpen(): Promise<string> {
    const active = await this.access.query(`select * from ${this.access.table('geneva_drive_active_executions')}`)
    const workers = await this.access.query(`select * from ${this.access.table('geneva_drive_workers')}`)
    const output = this.#programs.map(program => JSON.stringify([program.output, program.messages.slice(-20)]))
    return [...active.slice(0, 10), ...workers]
      .map(row => JSON.stringify(row))
      .concat(output)
      .join('\n')
  }

  rows(): Promise<CrashRows> {
    return readCrashRows(this.access)
  }

  journal(): Promise<JournalEntry[]> {
    return readJournal(this.access)
  }

  /** What is wrong with the load, once it has ended. */
  async findings(): Promise<string[]> {
    const { findings } = await this.geneva.doctor()
    const problems = findings.map(({ workflowId, problem }) => `Workflow ${workflowId}: ${problem}`)
    return [...auditRows(await this.rows(), stepsOfLoad, []), ...problems]
  }
}
