/**
 * Runs of a resumable step without a database: what is written survives a run, and a run ends in good order, with its
 * report, or by the death of its process, without.
 */
import type { FlowControl } from '../../../../src/definition/flow-control.ts'
import type { Iteration } from '../../../../src/definition/iteration.ts'
import type { ResumableSettings } from '../../../../src/definition/workflow-definition.ts'
import { IterationCore } from '../../../../src/engine/iteration/iteration-core.ts'
import type { IterationHost } from '../../../../src/engine/iteration/iteration-host.ts'
import { StepIteration } from '../../../../src/engine/iteration/step-iteration.ts'
import { noProgress, type Progress } from '../../../../src/store/records.ts'
import type { WorkInTransaction } from '../../../../src/store/store.ts'
import { sampleContext } from '../../definition/sample-workflow.ts'

export const plainSettings: ResumableSettings = {
  yieldEvery: null,
  maxRuntimeMs: null,
  maxIterations: null,
  checkpoint: 'each',
}

/** A host that keeps in memory what it is asked to write. */
export class MemoryHost implements IterationHost {
  progress: Progress
  /** Every write, oldest first. */
  readonly writes: Progress[] = []
  interruption: string | null = null
  /** Writes are refused: the claim belongs to somebody else. */
  isLost = false
  /** How many transactions were committed. */
  committed = 0

  constructor(progress: Progress = noProgress) {
    this.progress = progress
  }

  interrupted(): string | null {
    return this.interruption
  }

  async write(progress: Progress): Promise<boolean> {
    if (!this.isLost) this.writes.push(progress)
    return !this.isLost
  }

  async transact<Result>(progress: Progress, work: WorkInTransaction<Result>) {
    const result = await work({ query: async () => [], handle: null }, () => true)
    if (this.isLost) return 'lost' as const
    this.committed++
    this.writes.push(progress)
    return { result }
  }
}

export interface EndedRun {
  /** Why the step stopped, if it did not come to its end. */
  readonly stopped: FlowControl | null
  readonly error: unknown
  /** What the report of the run says. */
  readonly progress: Progress
}

/** One run under a host. Whatever the body throws is in the answer. */
export async function runUnder<Cursor>(
  host: IterationHost,
  body: (iter: Iteration<Cursor>) => unknown,
  settings: Partial<ResumableSettings> = {},
): Promise<EndedRun> {
  const context = sampleContext()
  const core = new IterationCore({ name: 'copy', host, settings: { ...plainSettings, ...settings }, context })
  let error: unknown = null
  try {
    core.checkLimit()
    core.begins()
    await body(StepIteration.outermost<Cursor>(core))
  } catch (thrown) {
    if (thrown !== context.flowControl) error = thrown
  }
  return { stopped: context.flowControl, error, progress: (await core.end()) as Progress }
}

/** A step over several runs, as the engine would have them: each goes on from what the ones before have left. */
export class StepLife {
  progress: Progress = noProgress

  get cursor(): unknown {
    return this.progress.cursor === null ? null : JSON.parse(this.progress.cursor)
  }

  /** A run that ends in good order: its report counts. */
  async run<Cursor>(
    body: (iter: Iteration<Cursor>, host: MemoryHost) => unknown,
    settings: Partial<ResumableSettings> = {},
  ): Promise<EndedRun> {
    const host = this.#begin()
    const run = await runUnder<Cursor>(host, iter => body(iter, host), settings)
    this.progress = run.progress
    return run
  }

  /** A run whose process dies wherever the body throws: only what was written counts. */
  async die<Cursor>(
    body: (iter: Iteration<Cursor>, host: MemoryHost) => unknown,
    settings: Partial<ResumableSettings> = {},
  ): Promise<void> {
    const host = this.#begin()
    await runUnder<Cursor>(host, iter => body(iter, host), settings)
    this.progress = host.writes.at(-1) ?? host.progress
  }

  #begin(): MemoryHost {
    return new MemoryHost({ ...this.progress, runs: this.progress.runs + 1 })
  }
}
