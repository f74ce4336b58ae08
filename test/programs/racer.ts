/**
 * One of two processes that do the same thing at the same instant: start a workflow for a hero, or claim what is due. Each
 * round is asked for with a message that names the instant.
 */
import { Geneva, isGenevaError, type WorkflowAlreadyActiveError } from '../../src/index.ts'
import { Contest, Contestants } from './harness/contest.ts'

export interface RaceRound {
  readonly kind: 'start' | 'start beside' | 'claim'
  readonly at: number
}

export interface RaceResult {
  /** The workflow that this process has started. */
  readonly started?: string
  /** The workflow that stood in its way. */
  readonly holder?: string
  /** The error's code; anything but `ALREADY_ACTIVE` was not meant to happen. */
  readonly code?: string
  /** The executions that this process has claimed. */
  readonly claimed?: readonly string[]
}

const sleep = new Int32Array(new SharedArrayBuffer(4))
const [url = '', workerId = ''] = process.argv.slice(2)
const geneva = new Geneva({ database: url, workflows: [Contest] })
const store = await geneva.openedStore()
await store.registerWorker({ id: workerId, host: 'here', pid: process.pid, leaseMs: 600_000, handlers: ['Contest'] })

process.on('message', async ({ kind, at }: RaceRound) => {
  // A timer would be off by milliseconds. Sleeping is not, but for the last one; a processor that spins is missed elsewhere.
  Atomics.wait(sleep, 0, 0, Math.max(0, at - Date.now() - 1))
  while (Date.now() < at);
  process.send?.(await (kind === 'claim' ? claim() : start(kind === 'start beside')))
})
process.send?.({ ready: true })

async function start(allowMultiple: boolean): Promise<RaceResult> {
  try {
    const { id } = await geneva.start(Contest, { hero: Contestants.ref('the one') }, { allowMultiple })
    return { started: id }
  } catch (error) {
    if (!isGenevaError(error)) return { code: String(error) }
    return { code: error.code, holder: (error as WorkflowAlreadyActiveError).workflowId }
  }
}

async function claim(): Promise<RaceResult> {
  const sources = [{ queue: 'default', handler: 'Contest', generation: 1 }]
  const claimed = await store.claim({ workerId, sources, limit: 3 })
  return { claimed: claimed.map(item => item.execution.id) }
}
