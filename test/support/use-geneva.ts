/**
 * A Geneva with a database of its own for one describe block: opened before its tests, closed after them. Everything is
 * quick: workers look for work every few milliseconds, and errors of steps are kept instead of printed.
 */
import { afterAll, beforeAll } from 'vitest'
import type { ErrorContext, WorkerOptions } from '../../src/index.ts'
import { Geneva, type GenevaOptions } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { IsolatedDatabase, TestDatabase } from './databases.ts'

type Options = Omit<GenevaOptions, 'database'> & {
  /** Starts a worker as well. */
  readonly worker?: WorkerOptions | boolean
}

export const quickly: WorkerOptions = { poll: 5, grace: 0 }

export interface ReportedError {
  readonly error: unknown
  readonly context: ErrorContext | null
}

export class GenevaUnderTest {
  readonly #database: TestDatabase
  readonly #options: Options
  readonly #opened: Geneva[] = []
  #isolated: IsolatedDatabase | null = null
  #offsetMs = 0
  /** What `onError` was told, by all instances. */
  readonly errors: ReportedError[] = []

  constructor(database: TestDatabase, options: Options) {
    this.#database = database
    this.#options = options
  }

  get geneva(): Geneva {
    const [first] = this.#opened
    if (first === undefined) throw new Error('The tests have not begun yet.')
    return first
  }

  get url(): string {
    return this.#isolated?.url ?? ''
  }

  async open(): Promise<void> {
    this.#isolated = await this.#database.isolated()
    const { worker } = this.#options
    const geneva = this.another()
    await geneva.migrate()
    if (worker) await geneva.startWorker({ ...quickly, ...(worker === true ? {} : worker) })
  }

  get #ownOptions(): Omit<GenevaOptions, 'database'> {
    const { worker: _, ...options } = this.#options
    return options
  }

  /** Another instance on the same database, as another process would have it. */
  another(options: Omit<GenevaOptions, 'database'> = this.#ownOptions): Geneva {
    const onError = (error: unknown, context: ErrorContext | null) => this.errors.push({ error, context })
    const geneva = new Geneva({ onError, ...options, database: this.url })
    this.#opened.push(geneva)
    return geneva
  }

  /** Runs on what is due, in this process, until nothing is. */
  runDue(options: Parameters<Geneva['runDue']>[0] = {}): Promise<number> {
    return this.geneva.runDue({ ...quickly, ...options })
  }

  /** Moves the clock by which things fall due, for the first instance. */
  async setClock(offsetMs: number): Promise<void> {
    const store: Store = await this.geneva.openedStore()
    store.setClockOffset(offsetMs)
    const goesBack = offsetMs < this.#offsetMs
    this.#offsetMs = offsetMs
    // A claim of the worker that is on its way still goes by the later time, and may take what the next test wants to see waiting.
    if (goesBack && this.#options.worker) await new Promise(resolve => setTimeout(resolve, 50))
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map(geneva => geneva.close()))
    await this.#isolated?.drop()
  }
}

export function useGeneva(database: TestDatabase, options: Options): GenevaUnderTest {
  const under = new GenevaUnderTest(database, options)
  beforeAll(() => under.open())
  afterAll(() => under.close())
  return under
}
