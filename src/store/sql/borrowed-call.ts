/**
 * One call of the application's function `transactions`. The function may call for the work as often as it likes, at the same time or by
 * trying again: it is done once, in the transaction that comes first. It may also settle before the work has come to its end: when
 * it resolves, that is waited for; when it rejects, the work is undone, unless it is being written already.
 */
import { InvalidArgumentError } from '../../errors.ts'
import type { OpenApplicationTransaction, OpenedTransaction } from '../store.ts'
import { TransactionUndoneError } from '../transaction-undone-error.ts'
import { changeInside, tellChanges } from './change-workflows.ts'
import type { SqlContext } from './context.ts'
import { isLasting, OpenedAgain } from './is-transient.ts'
import { ReadingElsewhere } from './reading-elsewhere.ts'
import { findStepMark, setStepMark } from './step-mark.ts'
import { orEnded } from './transaction-ended.ts'
import { writeProgress } from './write-progress.ts'

interface Parts<Written> {
  /** What others are to hear of once it is committed. */
  readonly told: (() => void)[]
  readonly work: (opened: OpenedTransaction) => Promise<Written>
}

interface Failure {
  readonly error: unknown
}

export class BorrowedCall<Written> {
  readonly #context: SqlContext
  readonly #parts: Parts<Written>
  /** The work, in the transaction that came first. */
  #first: Promise<Written> | null = null
  /** Why a transaction could not be taken up: another may be. */
  #refusal: Failure | null = null
  /** What the work has failed with. */
  #failure: Failure | null = null
  /** It was called for once more when it was through, or had failed. */
  #isAgain = false
  /** What it came to is being written, and may be committed. */
  #isWritten = false
  /** What has kept that from being written is not for the application's code to say. */
  #isOurs = false
  /** The function has settled. */
  #isOver = false

  constructor(context: SqlContext, parts: Parts<Written>) {
    this.#context = context
    this.#parts = parts
  }

  /** What the function resolves with. Rejects with what the work has met, where that is what has kept it from being committed. */
  async answerOf(open: OpenApplicationTransaction): Promise<unknown> {
    try {
      const answer: unknown = await open(this.#run)
      if (this.#first === null) throw this.#refusal?.error ?? new InvalidArgumentError(hasNotCalled)
      await this.#first
      if (this.#isAgain) throw new OpenedAgain()
      return answer
    } catch (error) {
      this.#isOver = true
      if (this.#isWritten) await this.#first?.catch(() => {})
      throw this.#reasonFor(error)
    }
  }

  /** Of a conflict, and of what our own writes have met, the function has nothing to say. */
  #reasonFor(error: unknown): unknown {
    const failure = this.#failure
    if (failure === null) return this.#isAgain ? new OpenedAgain() : error
    const isFailure = this.#isAgain || this.#isOurs || !isLasting(this.#context.dialect, failure.error)
    return isFailure ? failure.error : error
  }

  /** What the function calls. Of two calls at once the second waits for the first, which is noted before anything is waited for. */
  readonly #run = (handle: unknown): Promise<Written> => {
    const result = this.#first === null ? this.#begin(handle) : this.#again(this.#first, handle)
    // The function may leave it alone.
    result.catch(() => {})
    return result
  }

  #begin(handle: unknown): Promise<Written> {
    const opening = this.#takeUp(handle)
    const first = opening.then(opened => this.#work(opened))
    this.#first = first
    opening.catch(error => {
      this.#refusal = { error }
      this.#first = null
    })
    return first
  }

  async #again(first: Promise<Written>, handle: unknown): Promise<Written> {
    await first.catch(() => {})
    // Its transaction could not be taken up.
    if (this.#first !== first) return this.#run(handle)
    this.#isAgain = true
    throw new OpenedAgain()
  }

  async #work(opened: OpenedTransaction): Promise<Written> {
    try {
      return await this.#parts.work(opened)
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  /**
   * Libraries answer in types of their own, and the transaction may see an older state: what is decided on is read on a
   * connection of ours, while the locks and the writes are the transaction's.
   */
  async #takeUp(handle: unknown): Promise<OpenedTransaction> {
    const { database } = this.#context
    const executor = database.borrow(handle)
    await executor.run(setStepMark)
    // Nobody waits for it any more: it has been told as failed.
    if (this.#isOver) throw new TransactionUndoneError('unfinished')
    // Not before the locks are there: while they are waited for, the function may end the transaction.
    const beforeWrites = once(async () => void (await executor.run(findStepMark)))
    return {
      handle,
      abandon: () => false,
      change: (targets, decide, call = {}) =>
        this.#writing(() =>
          // A connection first and the locks then, like everybody else: or they could wait for each other.
          database.session(async reader => {
            const workflowIds = targets.map(target => target.workflowId)
            const transaction = new ReadingElsewhere(this.#context, { executor, reader, workflowIds, beforeWrites })
            const changed = await changeInside(this.#context, transaction, { targets, decide, call, attempt: 1 })
            this.#parts.told.push(() => tellChanges(this.#context, changed))
            return changed.changes
          }),
        ),
      checkpoint: (execution, progress) =>
        this.#writing(async () => {
          await beforeWrites()
          return (await executor.run(writeProgress(this.#context, execution, progress))) > 0
        }),
    }
  }

  async #writing<T>(write: () => Promise<T>): Promise<T> {
    // It has been told as failed, and is not waited for any more.
    if (this.#isOver && !this.#isWritten) throw new TransactionUndoneError('unfinished')
    this.#isWritten = true
    try {
      return await write()
    } catch (error) {
      this.#isOurs = true
      throw orEnded(this.#context.dialect, error)
    }
  }
}

const hasNotCalled =
  'The function `transactions` has resolved without calling `run`. Let it call `run` with the transaction that it has begun, or throw.'

function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | null = null
  return () => {
    result ??= work()
    return result
  }
}
