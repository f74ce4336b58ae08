/**
 * What a resumable step needs of its worker: durable checkpoints under its claim, and the word that it should stop.
 */
import type { Engine } from '../engine/engine.ts'
import type { IterationHost } from '../engine/iteration/iteration-host.ts'
import { patiently } from './patiently.ts'
import type { RunningStep } from './running-step.ts'

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
      // Where it should stop, the next run does the rest again.
      const mine = (await patiently(step, store, () => store.checkpoint(execution, progress))) ?? true
      step.prove()
      return mine
    },
    async transact(progress, work) {
      const call = { waits: true }
      const inside: typeof work = (transaction, abandon) => {
        // What its code meets is the step's own.
        call.waits = false
        return work(transaction, abandon)
      }
      const write = () => store.checkpointWith(execution, progress, inside, transactions)
      const done = await patiently(step, store, write, call)
      if (done === null) return 'stopped'
      step.prove()
      return done
    },
  }
}
