/**
 * What a resumable step needs of its worker: durable checkpoints under its claim, and the word that it should stop.
 */
import type { Engine } from '../engine/engine.ts'
import type { IterationHost } from '../engine/iteration/iteration-host.ts'
import { jittered, pauseFor } from '../primitives/pause-for.ts'
import type { Store } from '../store/store.ts'
import type { RunningStep } from './running-step.ts'

const longestPauseMs = 5000

export function iterationHost(
  { store, transactions }: Pick<Engine, 'store' | 'transactions'>,
  step: RunningStep,
  maxItems: number | null,
): IterationHost {
  const { execution } = step.claimed
  return {
    progress: execution.progress,
    interrupted(doneNow) {
      if (step.interruption !== null || maxItems === null || doneNow < maxItems) return step.interruption
      return `stopped after ${doneNow} items`
    },
    async write(progress) {
      const mine = await patiently(step, store, () => store.checkpoint(execution, progress))
      step.prove()
      return mine !== false
    },
    async transact(progress, work) {
      const call = { waits: true }
      const inside: typeof work = (transaction, abandon) => {
        // What its code meets is the step's own.
        call.waits = false
        return work(transaction, abandon)
      }
      const done = await patiently(
        step,
        store,
        () => store.checkpointWith(execution, progress, inside, transactions),
        call,
      )
      if (done !== 'stopped') step.prove()
      return done
    },
  }
}

/** While the database is away the step waits with it, unless it should stop: then the next run does the rest again. */
async function patiently<Answer>(
  step: RunningStep,
  store: Store,
  write: () => Promise<Answer>,
  call: { readonly waits: boolean } = { waits: true },
): Promise<Answer | 'stopped'> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (!call.waits || store.isLasting(error)) throw error
      if (step.interruption !== null) return 'stopped'
      await pauseFor(jittered(Math.min(50 * 2 ** attempt, longestPauseMs), 0.5), step.signal)
    }
  }
}
