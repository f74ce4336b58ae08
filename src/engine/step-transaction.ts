/**
 * The transaction of one call of a transactional step. It is opened when the step's code is about to be called; what the code
 * writes and what the step came to are committed together, or neither is. A claim that is lost undoes both.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { InvalidArgumentError } from '../errors.ts'
import { failpoint } from '../primitives/failpoint.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { WorkflowChange } from '../store/change.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { OpenedTransaction } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { FinishRequest, FinishResult } from './finish-request.ts'
import { finishInside, readBack, reserveFor } from './finish-steps.ts'
import { IdPool } from './id-pool.ts'

/** What the code of a step needs of its transaction. */
export interface CallTransaction {
  /** Opens it, and gives what the code gets to see. */
  begin(): Promise<unknown>
  /** Calls the code as if from inside the function that has opened the transaction. Rejects as soon as that has ended. */
  inside<Result>(call: () => Promise<Result>): Promise<Result>
}

type Ending = (opened: OpenedTransaction) => Promise<FinishResult>

interface Opened {
  readonly transaction: OpenedTransaction
  /** Runs something in the asynchronous context in which the transaction was handed over. */
  run<T>(call: () => T): T
}

const longestPauseMs = 5000

export class StepTransaction implements CallTransaction {
  readonly #engine: Engine
  readonly #claimed: ClaimedExecution
  readonly #ids: IdPool
  /** Settles when the transaction has ended; `null` before it was asked for. */
  #done: Promise<FinishResult> | null = null
  #opened: Opened | null = null
  #hasBegun = false
  /** Nobody waits for the code any more. It may be on its way here still. */
  #isOver = false
  #end: (ending: Ending) => void = () => {}
  #calls = 0
  /** Resolves when the code has ended, in whatever way. */
  #running: Promise<unknown> = Promise.resolve()
  /** Why it is not to be committed, whatever the application's function makes of what it is thrown for that. */
  #givenUp: 'undone' | 'refused' | null = null
  /** What went wrong with the transaction itself, not in the code that ran in it. */
  trouble: { readonly error: unknown } | null = null

  /** `ids` are those of an earlier call. */
  constructor(engine: Engine, claimed: ClaimedExecution, ids: IdPool = new IdPool(engine.ids)) {
    this.#engine = engine
    this.#claimed = claimed
    this.#ids = ids
  }

  /** Another one, for another call of the same attempt. */
  again(): StepTransaction {
    return new StepTransaction(this.#engine, this.#claimed, this.#ids)
  }

  /** The step has got as far as that. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** It was opened, so the code may have been called. */
  get wasOpened(): boolean {
    return this.#opened !== null
  }

  /** The code was not waited for, and may still write. */
  get isLeftBehind(): boolean {
    return this.#calls > 0
  }

  /** Ids are reserved before: where only one can write, nobody could get any while the transaction is open. */
  async begin(): Promise<unknown> {
    this.#hasBegun = true
    try {
      if (this.#isOver) throw new TransactionUndoneError(isUndone)
      await reserveFor(this.#engine, this.#claimed, this.#ids)
      return await this.#open()
    } catch (error) {
      this.trouble = { error }
      throw error
    }
  }

  #open(): Promise<unknown> {
    const { store, transactions } = this.#engine
    // Nobody would come to end what is opened now.
    if (this.#isOver) return Promise.reject(new TransactionUndoneError(isUndone))
    const ending = new Promise<Ending>(resolve => {
      this.#end = resolve
    })
    return new Promise<unknown>((resolve, reject) => {
      this.#done = store.transact(transactions, async transaction => {
        this.#opened = { transaction, run: AsyncLocalStorage.snapshot() }
        resolve(transaction.handle)
        return (await ending)(transaction)
      })
      this.#done.catch(reject)
    })
  }

  async inside<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw new TransactionUndoneError(isUndone)
    const running = this.#opened === null ? call() : this.#opened.run(call)
    this.#calls++
    const settled = running.finally(() => this.#calls--)
    this.#running = settled.catch(() => {})
    return Promise.race([settled, this.#failure()])
  }

  /** The step has ended without it: it is not to be opened by code that was left behind. */
  close(): void {
    this.#isOver = true
  }

  /**
   * Undoes what the code has written. Never rejects. Code that was left behind may go on, but not outside of a transaction: its
   * connection is given up, or, where it belongs to the application, kept until the code has ended.
   */
  async undo(): Promise<void> {
    this.#isOver = true
    const leftBehind = this.#calls === 0 ? null : this.#running
    this.#end(async transaction => {
      if (leftBehind !== null && !transaction.abandon()) await leftBehind
      this.#givenUp = 'undone'
      throw new TransactionUndoneError(isUndone)
    })
    // One that still waits for its turn is undone when that comes.
    const waits = this.#opened !== null && (leftBehind === null || this.#opened.transaction.abandon())
    if (waits) await this.#done?.catch(() => {})
  }

  /**
   * Writes what the step came to and commits. Rejects when nothing was committed. Whether a commit without an answer has
   * happened is found out before that.
   */
  async finish(workerId: string, report: Omit<FinishRequest, 'ids' | 'repeated'>): Promise<FinishResult> {
    this.#isOver = true
    const request: FinishRequest = { ...report, ids: this.#ids, repeated: false }
    const { ends, store } = this.#engine
    const written: { changes: readonly WorkflowChange[] | null } = { changes: null }
    this.#end(async transaction => {
      const { result, changes } = await finishInside(this.#engine, transaction, workerId, request)
      // What has changed hands is not ours to write: neither the outcome nor what the code has done.
      if (result.kind === 'refused') {
        this.#givenUp = 'refused'
        throw new TransactionUndoneError(isLost)
      }
      written.changes = changes
      return result
    })
    try {
      if (this.#done === null) return { kind: 'refused' }
      const result = (await this.#done) as FinishResult | undefined
      // It may have committed, or may have kept to itself why it has not: the row tells.
      if (result === undefined) throw new InvalidArgumentError(returnsNothing)
      failpoint?.('finish.after-commit')
      ends.noteAll(written.changes ?? [])
      return result
    } catch (error) {
      if (this.#givenUp === 'refused') return { kind: 'refused' }
      this.trouble = { error }
      if (written.changes === null || store.isTransient(error)) throw error
      const found = await this.#find(workerId, request, written.changes)
      if (found === 'open') throw error
      if (found.kind === 'refused') return found
      this.#opened?.transaction.committed()
      ends.noteAll(written.changes)
      return found
    }
  }

  /** Code that waits for something else should learn at once that it writes into nothing. */
  #failure(): Promise<never> {
    return new Promise((_, reject) => {
      this.#done?.catch(error => {
        if (this.#givenUp !== null) return
        this.trouble ??= { error }
        reject(error)
      })
    })
  }

  /** The answer to the commit was lost: the row tells, once the database can be asked. */
  async #find(
    workerId: string,
    request: FinishRequest,
    written: readonly WorkflowChange[],
  ): Promise<FinishResult | 'open'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await readBack(this.#engine, workerId, request, written)
      } catch (error) {
        if (this.#engine.store.isLasting(error)) throw error
        await pauseFor(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5))
      }
    }
  }
}

/** What the application's function is thrown, so that it rolls back. */
class TransactionUndoneError extends Error {}

const isUndone = 'The step has not come to its end, so what it has written is undone.'
const isLost = 'The step belongs to another worker by now, so what it has written is undone.'
const returnsNothing =
  'The function `transactions` has resolved with something else than what `run` has come to. Return that, and let it throw when nothing was committed.'
