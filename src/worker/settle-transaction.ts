/**
 * Brings a call of a transactional step to its end: commits it with its report, undoes it when it threw, and calls again, with
 * a fresh instance and a fresh transaction, while it is the database that asks for it.
 */
import type { Engine } from '../engine/engine.ts'
import type { StepRun } from '../engine/execute-step.ts'
import type { FinishResult } from '../engine/finish-request.ts'
import { isOutOfIds } from '../engine/id-pool.ts'
import type { StepTransaction } from '../engine/step-transaction.ts'
import { InvalidArgumentError } from '../errors.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { Report } from './finisher.ts'
import type { RunningStep } from './running-step.ts'

export interface TransactionalCall {
  readonly engine: Engine
  readonly workerId: string
  readonly step: RunningStep
  execute(transaction: StepTransaction): Promise<StepRun>
  /** What is to be recorded of the run; `null`: nothing that may be committed. */
  requestFor(run: StepRun): Report | null
}

export interface SettledRun {
  readonly run: StepRun
  /** `null`: nothing was committed, and the run is to be recorded like any other. */
  readonly result: FinishResult | null
}

/** How often the code is called before a conflict counts as its failure. */
const maxCalls = 10
/** How often a transaction is asked for in vain, for about as long as other writes wait for a busy database. */
const maxOpenings = 150

/** A conflict is over soon; a server that is away may take a while. */
function pauseMs({ engine: { store } }: TransactionalCall, count: number, error: unknown): number {
  return store.isTransient(error) ? Math.min(5 * 2 ** count, 250) : Math.min(50 * 2 ** count, 5000)
}

export async function settleTransaction(
  call: TransactionalCall,
  first: StepRun,
  transaction: StepTransaction,
): Promise<SettledRun> {
  let run = first
  let current = transaction
  let calls = 0
  for (let count = 1; ; count++) {
    const settled = await settleOnce(call, run, current)
    if (!('again' in settled)) return settled
    if (current.wasOpened) calls++
    const isTooMuch = calls >= maxCalls || count - calls >= maxOpenings
    if (isTooMuch || call.step.stopReason !== null) return failedWith(run, settled.again)
    await pauseFor(jittered(pauseMs(call, count, settled.again), 1), call.step.signal)
    current = current.again()
    run = await call.execute(current)
    if (!current.hasBegun) {
      current.close()
      return { run, result: null }
    }
  }
}

/** `again`: nothing was committed, because of an error that may pass. */
async function settleOnce(
  call: TransactionalCall,
  run: StepRun,
  transaction: StepTransaction,
): Promise<SettledRun | { readonly again: unknown }> {
  const { step, workerId } = call
  const request = call.requestFor(run)
  if (request === null || step.reporting) {
    await transaction.undo()
    const thrown = run.report?.kind === 'threw' ? run.errors[0] : undefined
    return thrown !== undefined && mayPass(call, transaction, thrown) ? { again: thrown } : { run, result: null }
  }
  if (transaction.isLeftBehind) {
    // It has called flow control, swallowed that, and gone on for too long.
    await transaction.undo()
    return failedWith(run, new InvalidArgumentError('The step was given up while its code went on, and was undone.'))
  }
  // From here on the claim is about to change hands in good order.
  step.reporting = true
  try {
    return { run, result: await transaction.finish(workerId, request) }
  } catch (error) {
    step.reporting = false
    return mayPass(call, transaction, error) ? { again: error } : failedWith(run, error)
  }
}

/** An error of the connection is one of the code's own unless it is the transaction that has met it. */
function mayPass({ engine: { store } }: TransactionalCall, { trouble }: StepTransaction, error: unknown): boolean {
  if (store.isTransient(error) || isOutOfIds(error)) return true
  return trouble !== null && trouble.error === error && !store.isLasting(error)
}

async function failedWith(run: StepRun, error: unknown): Promise<SettledRun> {
  const outcome = await run.failedWith?.(error)
  return { run: { ...run, ...outcome }, result: null }
}
