/** Nodes of a class whose code is a job. What the job says about queue, priority and retries counts unless the node says other. */
import { DefinitionError } from '../errors.ts'
import { attachmentOf } from './attached-context.ts'
import { isJob, type Job, validateArgs } from './job.ts'
import { JobRun } from './job-run.ts'

type RawOptions = Readonly<Record<string, unknown>>

export function jobOptionsIn(options: unknown, where: string): RawOptions & { readonly job: Job } {
  const { job } = (options ?? {}) as RawOptions
  if (isJob(job)) {
    if (job.resumable === null) return options as RawOptions & { readonly job: Job }
    throw new DefinitionError(
      `${where}: job ${job.name} is resumable, which jobs of graphs can be. In a class write \`this.resumableStep(...)\`.`,
    )
  }
  throw new DefinitionError(`${where}: \`job\` must be what defineJob returned. Was it imported in a circle?`)
}

export function defaultsOf({ queue, priority, retry, timeoutMs }: Job): RawOptions {
  return {
    ...(queue === null ? {} : { queue }),
    ...(priority === null ? {} : { priority }),
    ...(retry === null ? {} : { retry }),
    ...(timeoutMs === null ? {} : { timeout: timeoutMs }),
  }
}

/** `args` is a value, or a function of the workflow and, in an `each` node, the item. */
export function jobBody(
  job: Job,
  { name, metadata }: { readonly name: string; readonly metadata: unknown },
  args: unknown,
) {
  return async (workflow: object, item?: unknown): Promise<unknown> => {
    const { context } = attachmentOf(workflow, 'job')
    // What a dead letter was requeued with takes the place of the arguments; of an item, that of the item.
    const { input } = context.execution
    const isReplaced = item === undefined && input !== undefined
    const given = isReplaced ? input : typeof args === 'function' ? await args(workflow, item) : args
    const checked = await validateArgs(job, given ?? {}, name)
    return job.body(
      checked,
      new JobRun(context, { id: context.execution.node, name, metadata: (metadata ?? {}) as RawOptions }),
    )
  }
}
