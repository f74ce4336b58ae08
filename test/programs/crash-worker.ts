/** A worker process for the crash tests: told by its one argument what to do, it works until a signal or a failpoint. */
import { Geneva, type WorkerOptions } from '../../src/index.ts'
import { writeEntry } from './harness/journal.ts'
import { beatEvery, loadWorkflows, surround } from './harness/load-workflows.ts'
import { openAccess } from './harness/plain-access.ts'

export interface CrashWorkerConfig {
  readonly url: string
  /** Where the journal is written, if not through `url`. */
  readonly journalUrl?: string
  readonly options: WorkerOptions
  readonly bodyMs?: readonly [number, number]
  /** The seeds of the sagas that it runs. */
  readonly seeds?: readonly number[]
  /** Have a schedule that ticks so often. */
  readonly everyMs?: number
  /** How far off this process believes the time to be. */
  readonly clockOffsetMs?: number
  /** Stand still for so long inside the first transaction that records a step, as a stopped process would. */
  readonly stallMs?: number
  /** Tell of reports that were refused. */
  readonly tellRefusals?: boolean
}

const config: CrashWorkerConfig = JSON.parse(process.argv[2] ?? '')
const tell = (message: object) => void (process.connected && process.send?.(message))
// The test may be gone before us; then there is nobody left to tell.
process.on('error', () => {})

if (config.clockOffsetMs !== undefined) shiftClock(config.clockOffsetMs)
const access = await openAccess(config.journalUrl ?? config.url)
surround({
  begin: ({ id, execution }) =>
    writeEntry(access, { workflowId: id, executionId: execution.id, step: execution.node, attempt: execution.attempt }),
  bodyMs: config.bodyMs ?? [0, 0],
  tell,
})
const geneva = new Geneva({
  database: config.url,
  workflows: loadWorkflows,
  schedules: config.everyMs === undefined ? [] : [beatEvery(config.everyMs)],
  onError: (error, context) => tell({ error: String(error), step: context?.step ?? null }),
})
await geneva.migrate()
if (config.tellRefusals) await tellRefusals()
if (config.stallMs !== undefined) await stallOnce(config.stallMs)
const working = geneva.work(config.options)
// After the engine's own listener, so whoever hears of it knows that the engine knows.
process.once('SIGTERM', () => tell({ told: true }))
tell({ ready: process.pid })
await working
tell({ stopped: process.pid })
await access.close()
// From here on nothing of ours keeps the process alive, if the engine keeps nothing either.
process.channel?.unref()

/** Everything that asks this process for the time gets the wrong answer. */
function shiftClock(offsetMs: number): void {
  const RealDate = Date
  globalThis.Date = class extends RealDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(RealDate.now() + offsetMs)
      else super(...(args as [number]))
    }
    static override now() {
      return RealDate.now() + offsetMs
    }
  } as DateConstructor
}

async function tellRefusals(): Promise<void> {
  const store = await geneva.openedStore()
  const change = store.change.bind(store)
  store.change = async (targets, decide, workerId) => {
    const applied = await change(targets, decide, workerId)
    const done = new Set(applied.map(each => each.workflowId))
    const refused = targets.map(target => target.workflowId).filter(id => !done.has(id))
    // With a worker it is a report on steps, else a request or a takeover.
    if (workerId !== undefined) tell({ refused })
    return applied
  }
}

async function stallOnce(ms: number): Promise<void> {
  const store = await geneva.openedStore()
  const change = store.change.bind(store)
  let stalled = false
  // What is decided on without a look has no transaction open meanwhile.
  store.changeAssumed = async () => null
  store.change = (targets, decide, workerId) =>
    change(
      targets,
      (facts, alive) => {
        if (!stalled && workerId !== undefined) {
          stalled = true
          tell({ stalling: facts.workflow.id })
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
        }
        return decide(facts, alive)
      },
      workerId,
    )
}
