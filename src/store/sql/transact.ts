/**
 * Transactions in which the application's code runs, and in which what it came to is written as well: on a connection of ours,
 * or one that the application opens with its own library. One attempt each; whether to try again is for the caller to say.
 */
import { InvalidArgumentError } from '../../errors.ts'
import type { FindCommitted, OpenApplicationTransaction, OpenedTransaction, UserTransaction } from '../store.ts'
import { TransactionUndoneError } from '../transaction-undone-error.ts'
import { BorrowedCall } from './borrowed-call.ts'
import { changeInside, tellChanges } from './change-workflows.ts'
import type { SqlContext } from './context.ts'
import type { Executor, OpenTransaction, OpenUserTransaction } from './dialect.ts'
import { isTransient } from './is-transient.ts'
import type { Sql } from './sql.ts'
import { orEnded } from './transaction-ended.ts'
import { writeProgress } from './write-progress.ts'

type Work<Written> = (opened: OpenedTransaction) => Promise<Written>

/** What others are to hear of once it is committed. */
type Told = (() => void)[]

export async function transact<Written>(
  context: SqlContext,
  open: OpenApplicationTransaction | null,
  work: Work<Written>,
  find: FindCommitted<Written>,
): Promise<Written> {
  const told: Told = []
  const witness = new Witness(work)
  const answering =
    open === null
      ? inOwn(context, told, witness.work)
      : new BorrowedCall(context, { told, work: witness.work }).answerOf(open)
  const written = await answering.then(witness.confirm).catch(error => {
    if (witness.undone !== null) throw witness.undone
    // Also after a conflict, which the application's function may have met with something else, once this was committed.
    if (witness.written === null) throw error
    return find(witness.written.value, error)
  })
  for (const tell of told) tell()
  return written
}

/** Has seen what the work itself came to: what the application's function says of that goes for nothing. */
class Witness<Written> {
  readonly #work: Work<Written>
  /** It is through, and committed unless something has come in between. */
  written: { readonly value: Written } | null = null
  /** It was given up. */
  undone: TransactionUndoneError | null = null

  constructor(work: Work<Written>) {
    this.#work = work
  }

  readonly work: Work<Written> = async opened => {
    try {
      const value = await this.#work(opened)
      this.written = { value }
      return value
    } catch (error) {
      if (error instanceof TransactionUndoneError) this.undone = error
      throw error
    }
  }

  /** A function that has another answer may have committed all the same, or may keep to itself why it has not. */
  readonly confirm = (answer: unknown): Written => {
    if (this.written === null || answer !== this.written.value) throw new InvalidArgumentError(hasAnotherAnswer)
    return this.written.value
  }
}

const hasAnotherAnswer =
  'The function `transactions` has resolved with something else than what `run` has come to, and nothing was committed. Return what `run` resolves with, and let it throw when nothing was committed.'

function inOwn<Written>(context: SqlContext, told: Told, work: Work<Written>): Promise<Written> {
  return context.database.userTransaction(async own => {
    const guarded = new GuardedTransaction(context, own.transaction)
    try {
      return await work({
        handle: guarded,
        abandon: () => {
          own.abandon()
          return true
        },
        async change(targets, decide, call = {}) {
          await guarded.close(own)
          const { executor } = own
          const transaction = within(executor, statements => own.runAll(statements))
          const changed = await changeInside(context, transaction, { targets, decide, call, attempt: 1 })
          told.push(() => tellChanges(context, changed))
          return changed.changes
        },
        async checkpoint(execution, progress) {
          await guarded.close(own)
          return (await own.executor.run(writeProgress(context, execution, progress))) > 0
        },
      })
    } finally {
      guarded.end()
    }
  })
}

/** A transaction that somebody else commits. */
function within(executor: Executor, commitWith: (statements: readonly Sql[]) => Promise<void>): OpenTransaction {
  return {
    pipelines: executor.pipelines,
    query: statement => executor.query(statement),
    run: statement => executor.run(statement),
    commitWith,
  }
}

/** By what the application's code sees of them. */
const handles = new WeakMap<object, object>()

/** The connection behind a transaction of ours; anything else is what it is. */
export function handleOf(transaction: object): object {
  return handles.get(transaction) ?? transaction
}

/** What is left running when the work is over must not reach a connection that belongs to others by then. */
class GuardedTransaction implements UserTransaction {
  readonly handle: unknown
  readonly #context: SqlContext
  readonly #transaction: UserTransaction
  #isOver = false
  /** The server has given up the transaction, whatever the code has made of the error. */
  #doomedBy: { readonly error: unknown } | null = null

  constructor(context: SqlContext, transaction: UserTransaction) {
    this.#context = context
    this.#transaction = transaction
    this.handle = transaction.handle
    if (typeof transaction.handle === 'object' && transaction.handle !== null) handles.set(this, transaction.handle)
  }

  readonly query = async (text: string, values?: readonly unknown[]) => {
    if (this.#isOver) {
      throw new InvalidArgumentError('This transaction is over. Wait for every query in it with `await`.')
    }
    try {
      return await this.#transaction.query(text, values)
    } catch (error) {
      if (isTransient(this.#context.dialect, error)) this.#doomedBy ??= { error }
      throw error
    }
  }

  /** Only what belongs to the engine comes from here on. */
  async close(own: OpenUserTransaction): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#doomedBy !== null) throw this.#doomedBy.error
    try {
      await own.closing()
    } catch (error) {
      throw orEnded(this.#context.dialect, error)
    }
  }

  end(): void {
    this.#isOver = true
  }
}
