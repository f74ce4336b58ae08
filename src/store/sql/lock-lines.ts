/**
 * Whoever waits for the lock of a workflow has a connection meanwhile. Of those in this process that want the same one, two wait for it, and the
 * others stand behind them without any. All who wait like this leave some connections to everybody else, however many workflows are locked.
 */
import type { Database, Dialect } from './dialect.ts'
import { keptConnections, Turnstile } from './turnstile.ts'

interface Waiting {
  goOn(): void
  giveUp(error: unknown): void
}

interface Line {
  underWay: number
  readonly waiting: Waiting[]
}

/** One that has the lock, and one that gets it in the same instant in which it is given up. */
const mostOfOne = 2

export class LockLines {
  readonly #dialect: Dialect
  readonly #connections: Turnstile
  /** By workflow. */
  readonly #lines = new Map<string, Line>()

  constructor(database: Pick<Database, 'dialect' | 'poolUse'>) {
    const { limit = Number.POSITIVE_INFINITY } = database.poolUse?.() ?? {}
    this.#dialect = database.dialect
    this.#connections = new Turnstile(limit - keptConnections)
  }

  /**
   * One try at a change of the workflow. Rejects with what one before it has met, if that is that others have kept the lock: it would be the
   * same for this one, two seconds later. Must not be asked by anybody who holds a connection that `work` might need.
   */
  async through<T>(workflowId: string, work: () => Promise<T>): Promise<T> {
    // Where there is one writer at a time nobody waits for a single workflow.
    if (!this.#dialect.manyWriters) return work()
    const line = await this.#enter(workflowId)
    try {
      return await this.#connections.through(work)
    } catch (error) {
      if (this.#dialect.waitedInVain?.(error)) for (const { giveUp } of line.waiting.splice(0)) giveUp(error)
      throw error
    } finally {
      this.#leave(workflowId, line)
    }
  }

  async #enter(workflowId: string): Promise<Line> {
    const line = this.#lines.get(workflowId) ?? { underWay: 0, waiting: [] }
    this.#lines.set(workflowId, line)
    if (line.underWay < mostOfOne) line.underWay++
    else await new Promise<void>((goOn, giveUp) => line.waiting.push({ goOn, giveUp }))
    return line
  }

  /** The place goes to the next one. */
  #leave(workflowId: string, line: Line): void {
    const next = line.waiting.shift()
    if (next !== undefined) next.goOn()
    else if (--line.underWay === 0) this.#lines.delete(workflowId)
  }
}
