/** Working as a resident process: until a signal, or until the worker is stopped. */
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames } from '../primitives/refuse-unknown-options.ts'
import type { Worker } from '../worker/worker.ts'
import type { DrainOptions, WorkerOptions } from '../worker/worker-options.ts'

export interface WorkOptions extends WorkerOptions {
  /** Stop in good order on SIGTERM and SIGINT. Default true. */
  readonly handleSignals?: boolean
}

export interface RunDueOptions extends WorkerOptions, Omit<DrainOptions, 'maxMs'> {
  readonly maxMs?: Duration
}

export const knownOfDrain = optionNames<Omit<RunDueOptions, keyof WorkerOptions>>({
  workflowId: 0,
  maxSteps: 0,
  maxItems: 0,
  maxMs: 0,
})

export async function workUntilTold(
  make: () => Promise<Worker>,
  { handleSignals = true }: WorkOptions,
  onError: (error: unknown) => void,
): Promise<void> {
  const told = new AbortController()
  const tell = () => told.abort()
  const signals = handleSignals ? (['SIGTERM', 'SIGINT'] as const) : []
  // Listens before anything is waited for: the signal may come while the worker begins.
  for (const signal of signals) process.once(signal, tell)
  try {
    const worker = await make()
    const stop = () => void worker.stop().catch(onError)
    told.signal.addEventListener('abort', stop)
    if (told.signal.aborted) stop()
    else await worker.start()
    await worker.stopped
    if (worker.refusal !== null) throw worker.refusal
  } finally {
    for (const signal of signals) process.off(signal, tell)
  }
}

export function drainOptionsFrom({ workflowId, maxSteps, maxItems, maxMs }: RunDueOptions): DrainOptions {
  return {
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(maxItems === undefined ? {} : { maxItems }),
    ...(maxMs === undefined ? {} : { maxMs: toMilliseconds(maxMs, 'maxMs') }),
  }
}
