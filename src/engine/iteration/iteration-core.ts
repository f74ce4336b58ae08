/**
 * What all levels of one iteration share: the written progress, the item under way, and the reasons to stop. It knows
 * cursors only as values to be kept. Stopping is flow control: it is thrown, and it counts even when it is swallowed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FlowControl } from '../../definition/flow-control.ts'
import type { StepContext } from '../../definition/step-context.ts'
import type { Transaction } from '../../definition/transaction.ts'
import type { ResumableSettings } from '../../definition/workflow-definition.ts'
import { InvalidArgumentError, IterationLimitError } from '../../errors.ts'
import { decodeValue, encodeValue } from '../../primitives/json-codec.ts'
import type { Progress } from '../../store/records.ts'
import type { WorkInTransaction } from '../../store/store.ts'
import { TransactionUndoneError } from '../../store/transaction-undone-error.ts'
import { Checkpointer } from './checkpointer.ts'
import type { IterationHost } from './iteration-host.ts'

export interface IterationParts {
  /** Of the step, for people. */
  readonly name: string
  readonly host: IterationHost
  readonly settings: ResumableSettings
  readonly context: StepContext
}

/** The item that a loop has handed out. `written`: a transaction has moved the cursor past it. */
interface Item {
  readonly cursor: unknown
  readonly count: number
  state: 'open' | 'writing' | 'written'
}

const maxCursorBytes = 64 * 1024

/** A loop that waits for nothing would keep the process from everything else: heartbeats, signals, its own writes. */
const longestTurnMs = 5

export class IterationCore {
  readonly #parts: IterationParts
  readonly #checkpoints: Checkpointer
  readonly #beganAt = performance.now()
  readonly #doneBefore: number
  #turnBegan = performance.now()
  #item: Item | null = null
  #transacting: Promise<unknown> = Promise.resolve()
  /** What a transaction came to is known to the database alone. */
  #isUnknown = false
  #isLeftBehind = false
  /** Ends the wait for the work in a transaction. */
  #leave: () => void = () => {}
  #begun = false
  #ended = false

  constructor(parts: IterationParts) {
    this.#parts = parts
    this.#checkpoints = new Checkpointer(parts.host, parts.settings.checkpoint)
    this.#doneBefore = parts.host.progress.completedIterations
  }

  get name(): string {
    return this.#parts.name
  }

  /** Where this run begins. */
  get startCursor(): unknown {
    return decodeValue(this.#parts.host.progress.cursor) ?? null
  }

  get resumed(): boolean {
    return this.#parts.host.progress.runs > 1
  }

  get completedIterations(): number {
    return this.#checkpoints.progress.completedIterations
  }

  /** What has gone beyond its limit before does not get another item. */
  checkLimit(): void {
    this.#refuseBeyondLimit(0)
  }

  /** The step's own code comes now. */
  begins(): void {
    this.#begun = true
  }

  /** The code is not waited for any longer. A transaction in which it still works comes to nothing. */
  leaveBehind(): void {
    this.#isLeftBehind = true
    this.#leave()
  }

  /** For the report of this run; no write comes after it. A run whose code was not reached does not count as one. */
  async end(): Promise<Progress | 'as written'> {
    this.#ended = true
    if (!this.#isLeftBehind) await this.#transacting
    await this.#checkpoints.end()
    if (this.#isUnknown) return 'as written'
    const { progress } = this.#checkpoints
    return this.#begun ? progress : { ...progress, runs: progress.runs - 1 }
  }

  /** Moves the cursor past an item, or, with a count of 0, past a group of items that were counted one by one. */
  note(cursor: unknown, count: number): void {
    this.#refuseAfterEnd()
    this.#refuseInTransaction()
    this.#checkpoints.note(this.#forward(cursor, count))
    this.#isUnknown = false
    this.#refuseBeyondLimit(0)
  }

  /** What was noted is written down as often as the step has asked for. Stops here if the step should stop. */
  async settle(): Promise<void> {
    await this.#checkpoints.settle()
    await this.#giveWay()
    this.#stopIfAsked()
  }

  noteTotal(total: number): void {
    this.#refuseAfterEnd()
    if (this.#checkpoints.progress.total !== total) this.#checkpoints.note({ total })
  }

  async checkpoint(): Promise<void> {
    this.#refuseAfterEnd()
    this.#refuseInTransaction()
    await this.#checkpoints.flush()
    await this.#giveWay()
    this.#stopIfAsked()
  }

  /** A loop is about to hand out an item. One more than allowed is a failure of the step. */
  begin(cursor: unknown, count: number): void {
    this.#refuseAfterEnd()
    this.#refuseBeyondLimit(count)
    this.#item = { cursor, count, state: 'open' }
  }

  /** The loop asks for the next item, so the one before is done. */
  noteDone(): void {
    this.#refuseInTransaction()
    const item = this.#item
    this.#item = null
    if (item !== null && item.state !== 'written') this.note(item.cursor, item.count)
  }

  /** The loop was left in the middle of an item, which is then not done. */
  leave(): void {
    this.#item = null
  }

  async transaction<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    this.#refuseAfterEnd()
    const item = this.#item
    if (item === null) {
      throw new InvalidArgumentError(
        'transaction() belongs to an item: call it inside a loop over records, batches, pairs or a list.',
      )
    }
    if (item.state !== 'open') {
      throw new InvalidArgumentError(
        'transaction() was called twice for one item. The first call moves the cursor past it; put all writes into one.',
      )
    }
    item.state = 'writing'
    const result = this.#transact(item, work)
    this.#transacting = result.catch(() => {})
    return result
  }

  async #transact<Result>(item: Item, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    try {
      // Nothing of this run may overtake the cursor that the transaction writes.
      await this.#checkpoints.idle()
      const change = this.#forward(item.cursor, item.count)
      const done = await this.#parts.host.transact({ ...this.#checkpoints.progress, ...change }, this.#within(work))
      if (done === 'lost' || done === 'stopped') return this.#stopFor(done)
      this.#isUnknown = false
      item.state = 'written'
      this.#checkpoints.noteWritten(change)
      return done.result
    } finally {
      if (item.state === 'writing') item.state = 'open'
    }
  }

  /** From the end of the work to the answer of the database nobody here knows whether it is done. */
  #within<Result>(work: (transaction: Transaction) => Promise<Result>): WorkInTransaction<Result> {
    return async (transaction, abandon) => {
      this.#isUnknown = false
      if (this.#isLeftBehind) throw new TransactionUndoneError('unfinished')
      const running = work(transaction)
      const left = new Promise<void>(resolve => {
        this.#leave = resolve
      })
      await Promise.race([running, left])
      if (this.#isLeftBehind) {
        // Where the connection is the application's, nothing that is left running may write outside of its transaction.
        if (!abandon()) await running.catch(() => {})
        throw new TransactionUndoneError('unfinished')
      }
      this.#isUnknown = true
      return running
    }
  }

  #stopFor(answer: 'lost' | 'stopped'): never {
    this.#isUnknown = false
    const { host } = this.#parts
    return this.stop(answer === 'lost' ? 'claim lost' : (host.interrupted(0) ?? 'claim lost'), 0)
  }

  /** The first reason counts, be it flow control of another kind. */
  stop(reason: string, waitMs: number): never {
    const { context } = this.#parts
    context.flowControl ??= new FlowControl('suspend', { reason, waitMs })
    throw context.flowControl
  }

  /** Code that swallowed the stop must not go on with further items, nor code that nobody waits for any more. */
  #refuseAfterEnd(): void {
    const { flowControl, execution } = this.#parts.context
    if (flowControl !== null) throw flowControl
    if (this.#ended) {
      throw new InvalidArgumentError(
        `Step ${execution.node} has ended, and its iteration with it. Wait for every call on it with \`await\`.`,
      )
    }
  }

  /** The transaction moves the cursor itself, and only if it is committed. */
  #refuseInTransaction(): void {
    if (this.#item?.state !== 'writing') return
    throw new InvalidArgumentError(
      'The transaction of the item is still open, and it moves the cursor itself. Wait for it with `await`, and leave the cursor alone inside of it.',
    )
  }

  async #giveWay(): Promise<void> {
    if (performance.now() - this.#turnBegan < longestTurnMs) return
    await nextTurn()
    this.#turnBegan = performance.now()
  }

  #stopIfAsked(): void {
    const { host, settings } = this.#parts
    const { yieldEvery, maxRuntimeMs } = settings
    const doneNow = this.completedIterations - this.#doneBefore
    const reason = this.#checkpoints.lost ? 'claim lost' : host.interrupted(doneNow)
    if (reason !== null) this.stop(reason, 0)
    if (yieldEvery !== null && doneNow >= yieldEvery) this.stop(`yielded after ${doneNow} items`, 0)
    if (maxRuntimeMs !== null && performance.now() - this.#beganAt >= maxRuntimeMs) {
      this.stop(`yielded after ${maxRuntimeMs} ms`, 0)
    }
  }

  #forward(cursor: unknown, count: number): { cursor: string | null; completedIterations: number } {
    const what = `The cursor of step ${this.#parts.context.execution.node}`
    return {
      cursor: encodeValue(cursor, { what, maxBytes: maxCursorBytes }),
      completedIterations: this.completedIterations + count,
    }
  }

  #refuseBeyondLimit(count: number): void {
    const { settings, context } = this.#parts
    const { maxIterations } = settings
    if (maxIterations === null || this.completedIterations + count <= maxIterations) return
    throw new IterationLimitError(context.workflowId, context.execution.node, maxIterations)
  }
}
