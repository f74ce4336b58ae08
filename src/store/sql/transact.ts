/**
 * Transactions in which the application's code runs, and in which what it came to is written as well: on a connection of ours,
 * or one that the application opens with its own library. One attempt each; whether to try again is for the caller to say.
 */
import { InvalidArgumentError } from '../../errors.ts'
import type { FindCommitted, OpenApplicationTransaction, OpenedTransaction, UserTransaction } from '../store.ts'
import { TransactionUndoneError } from '../transaction-undone-error.ts'
import { changeInside, tellChanges } from './change-workflows.ts'
import type { SqlContext } from './context.ts'
import type { Executor, OpenTransaction, OpenUserTransaction } from './dialect.ts'
import { hasLostTransaction, isTransient, OpenedAgain } from './is-transient.ts'
import { ReadingElsewhere } from './reading-elsewhere.ts'
import type { Sql } from './sql.ts'
import { findStepMark, setStepMark } from './step-mark.ts'
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
    open === null ? inOwn(context, told, witness.work) : inBorrowed(context, open, { told, work: witness.work })
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

/** How far a call of the application's function has come. */
interface Progress {
  /** What the work came to is being written, and may be committed. */
  isWritten: boolean
  /** The function has settled. */
  isOver: boolean
}

/**
 * The application may try again by itself. What it calls for then has been done, in a transaction that came to nothing. It may also
 * settle before the work has come to its end: when it resolves, that is waited for; when it rejects, the work is undone, unless it is
 * being written already.
 */
async function inBorrowed<Written>(
  context: SqlContext,
  open: OpenApplicationTransaction,
  { told, work }: { readonly told: Told; readonly work: Work<Written> },
): Promise<unknown> {
  const call: Progress & { first: Promise<Written> | null; isThrough: boolean } = {
    first: null,
    isThrough: false,
    isWritten: false,
    isOver: false,
  }
  try {
    const answer: unknown = await open(async handle => {
      if (call.first !== null) {
        await call.first
        call.isThrough = true
        throw new OpenedAgain()
      }
      const opened = await borrowed(context, handle, told, call)
      // Nobody waits for it any more: it has been told as failed.
      if (call.isOver) throw new TransactionUndoneError('unfinished')
      call.first = work(opened)
      return call.first
    })
    if (call.first === null) throw new InvalidArgumentError(hasNotCalled)
    await call.first
    if (call.isThrough) throw new OpenedAgain()
    return answer
  } catch (error) {
    call.isOver = true
    if (call.isWritten) await call.first?.catch(() => {})
    throw call.isThrough ? new OpenedAgain() : error
  }
}

const hasNotCalled =
  'The function `transactions` has resolved without calling `run`. Let it call `run` with the transaction that it has begun, or throw.'

/**
 * Libraries answer in types of their own, and the transaction may see an older state: what is decided on is read on a
 * connection of ours, while the locks and the writes are the transaction's.
 */
async function borrowed(
  context: SqlContext,
  handle: unknown,
  told: Told,
  progress: Progress,
): Promise<OpenedTransaction> {
  const { database } = context
  const executor = database.borrow(handle)
  await executor.run(setStepMark)
  const stillThere = once(() => stillOpen(context, executor))
  const closing = () => {
    // It has been told as failed, and is not waited for any more.
    if (progress.isOver && !progress.isWritten) throw new TransactionUndoneError('unfinished')
    progress.isWritten = true
    return stillThere()
  }
  return {
    handle,
    abandon: () => false,
    async change(targets, decide, call = {}) {
      await closing()
      // A connection first and the locks then, like everybody else: or they could wait for each other.
      return database.session(async reader => {
        const ids = targets.map(target => target.workflowId)
        const transaction = new ReadingElsewhere(context, { executor, reader, workflowIds: ids })
        const changed = await changeInside(context, transaction, { targets, decide, call, attempt: 1 })
        told.push(() => tellChanges(context, changed))
        return changed.changes
      })
    },
    async checkpoint(execution, progress) {
      await closing()
      return (await executor.run(writeProgress(context, execution, progress))) > 0
    },
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | null = null
  return () => {
    result ??= work()
    return result
  }
}

async function stillOpen(context: SqlContext, executor: Executor): Promise<void> {
  try {
    await executor.run(findStepMark)
  } catch (error) {
    throw hasLostTransaction(context.dialect, error) ? ended(error) : error
  }
}

/** Said where the transaction that was begun is not there any more when its outcome is to be written. */
function ended(cause: unknown): InvalidArgumentError {
  return new InvalidArgumentError(
    'The transaction of the step has ended, or has failed, before the step did. Leave commit and rollback to Geneva, run no statement in it that commits by itself (like CREATE TABLE on some databases), and do not go on after a statement that has failed.',
    { cause },
  )
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
      throw hasLostTransaction(this.#context.dialect, error) ? ended(error) : error
    }
  }

  end(): void {
    this.#isOver = true
  }
}
