/**
 * The transaction of one call of a transactional step. It is opened when the step's code is about to be called; what the code
 * writes and what the step came to are committed together, or neither is. A claim that is lost undoes both.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { failpoint } from '../primitives/failpoint.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { WorkflowChange } from '../store/change.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { OpenedTransaction } from '../store/store.ts'
import { isClaimLost, TransactionUndoneError } from '../store/transaction-undone-error.ts'
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

/** What was written in the transaction, once that is through. */
interface Written {
  readonly result: FinishResult
  readonly changes: readonly WorkflowChange[]
  /** Whether it is there: the row tells. */
  readBack(): Promise<FinishResult | 'open'>
}

type Ending = (opened: OpenedTransaction) => Promise<Written>

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
  #done: Promise<Written> | null = null
  #opened: Opened | null = null
  #hasBegun = false
  /** Nobody waits for the code any more. It may be on its way here still. */
  #isOver = false
  #end: (ending: Ending) => void = () => {}
  #calls = 0
  /** Resolves when the code has ended, in whatever way. */
  #running: Promise<unknown> = Promise.resolve()
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
      if (this.#isOver) throw new TransactionUndoneError('unfinished')
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
    if (this.#isOver) return Promise.reject(new TransactionUndoneError('unfinished'))
    const ending = new Promise<Ending>(resolve => {
      this.#end = resolve
    })
    return new Promise<unknown>((resolve, reject) => {
      const work = async (transaction: OpenedTransaction) => {
        this.#opened = { transaction, run: AsyncLocalStorage.snapshot() }
        resolve(transaction.handle)
        return (await ending)(transaction)
      }
      this.#done = store.transact(transactions, work, (written, error) => this.#find(written, error))
      this.#done.catch(reject)
    })
  }

  async inside<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw new TransactionUndoneError('unfinished')
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
      throw new TransactionUndoneError('unfinished')
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
    this.#end(async transaction => {
      const { result, changes } = await finishInside(this.#engine, transaction, workerId, request)
      // What has changed hands is not ours to write: neither the outcome nor what the code has done.
      if (result.kind === 'refused') throw new TransactionUndoneError('lost')
      return { result, changes, readBack: () => readBack(this.#engine, workerId, request, changes) }
    })
    try {
      if (this.#done === null) return { kind: 'refused' }
      const { result, changes } = await this.#done
      failpoint?.('finish.after-commit')
      this.#engine.ends.noteAll(changes)
      return result
    } catch (error) {
      if (isClaimLost(error)) return { kind: 'refused' }
      this.trouble = { error }
      throw error
    }
  }

  /** Code that waits for something else should learn at once that it writes into nothing. */
  #failure(): Promise<never> {
    return new Promise((_, reject) => {
      this.#done?.catch(error => {
        if (error instanceof TransactionUndoneError) return
        this.trouble ??= { error }
        reject(error)
      })
    })
  }

  /** The answer to the commit is missing: the row tells, once the database can be asked. */
  async #find(written: Written, error: unknown): Promise<Written> {
    const result = await this.#answerOf(written)
    if (result === 'open') throw error
    if (result.kind === 'refused') throw new TransactionUndoneError('lost')
    return { ...written, result }
  }

  async #answerOf(written: Written): Promise<FinishResult | 'open'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await written.readBack()
      } catch (error) {
        if (this.#engine.store.isLasting(error)) throw error
        await pauseFor(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5))
      }
    }
  }
}
