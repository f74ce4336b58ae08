/** What users write for nodes of a class whose code is a job. */
import type { Job } from './job.ts'
import type { Awaitable, StepOptions } from './step-options.ts'

/** A step whose code is a job. */
export interface JobStepOptions<W, Args extends object, Output> extends StepOptions<W> {
  readonly job: Job<Args, Output>
  /** What the job is called with; may be left out if it needs nothing. */
  readonly args?: Args | ((workflow: W) => Awaitable<Args>)
}

/** A job for each item. */
export interface EachJobOptions<W, Args extends object, Output> extends StepOptions<W> {
  readonly job: Job<Args, Output>
  readonly items: (workflow: W) => Awaitable<readonly Args[]>
  /** How many items may be under way at once. Default: all. */
  readonly concurrency?: number
}
