/** What is recorded with a step, or thrown into one. */
import { GenevaError } from './geneva-error.ts'

/** A node that waited for people, for a message or for a child has waited long enough. */
export class NothingCameError extends GenevaError {
  constructor(workflowId: string, node: string, waited: string) {
    super('NOTHING_CAME', `Step ${node} of workflow ${workflowId} waited ${waited}, and nothing came.`)
  }
}

/** The output of a step was asked for that has none: it was skipped, or has not completed. */
export class OutputMissingError extends GenevaError {
  constructor(
    workflowId: string,
    step: string,
    remedy = 'Give `output` a fallback as its second argument, to be taken then',
  ) {
    super(
      'OUTPUT_MISSING',
      `Step ${step} of workflow ${workflowId} has no output: it was skipped or has not completed. ${remedy}.`,
    )
  }
}

interface MissingJobPlace {
  readonly node: string
  readonly nodeId: string
  readonly frozenAt: string
  /** The job was to undo the node. */
  readonly undoes?: boolean
}

/** A stored graph names a job that no live worker has had for a while. Recorded with the node. */
export class MissingJobError extends GenevaError {
  readonly workflowId: string
  readonly job: string
  constructor(workflowId: string, job: string, { node, nodeId, frozenAt, undoes = false }: MissingJobPlace) {
    const back = `bring the job ${job} back, register it with \`new Geneva({ jobs: [...] })\``
    super(
      'MISSING_JOB',
      [
        `Workflow ${workflowId} was built at run time and names the job ${JSON.stringify(job)}, which no worker has any more.`,
        `${undoes ? 'To undo node' : 'Node'}: ${node} (${nodeId})`,
        `Frozen at: ${frozenAt}`,
        'A stored graph does not change with the code. You can:',
        ...(undoes
          ? [`1. ${back}, and requeue the dead letter;`, '2. undo it by hand, and discard the dead letter.']
          : [
              `1. ${back}, and resume the workflow;`,
              '2. cancel this workflow and start a new one;',
              '3. repair its graph as a last resort: `exportDag`, edit, `importDag` into this workflow.',
            ]),
      ].join('\n'),
    )
    this.workflowId = workflowId
    this.job = job
  }
}

/** The workflow that a `child` node waited for has ended, but not as `finished`. The node has failed by that. */
export class ChildNotFinishedError extends GenevaError {
  readonly workflowId: string
  readonly childId: string
  readonly state: string
  constructor(workflowId: string, node: string, childId: string, state: string) {
    super(
      'CHILD_NOT_FINISHED',
      `Child ${node} of workflow ${workflowId} waited for workflow ${childId}, which is ${state}. A new attempt starts another one.`,
    )
    this.workflowId = workflowId
    this.childId = childId
    this.state = state
  }
}

/** A workflow stands at a step that the newest code no longer has. */
export class StepMissingError extends GenevaError {
  constructor(workflowId: string, type: string, node: string) {
    super(
      'STEP_MISSING',
      `Workflow ${workflowId} stands at step ${node}, which ${type} no longer declares. Deploy code that has it, then resume; or skip the step.`,
    )
  }
}

/** A step whose worker died too many times in a row. */
export class CrashLimitError extends GenevaError {
  constructor(workflowId: string, node: string, crashes: number) {
    super(
      'CRASH_LIMIT',
      `Step ${node} of workflow ${workflowId} lost its worker ${crashes} times in a row. Look for what ends the process (memory, exit, native code), then requeue its dead letter.`,
    )
  }
}

/** The test kit stopped a workflow that seems to run for ever. */
export class StepLimitError extends GenevaError {
  constructor(workflowId: string, limit: number) {
    super(
      'STEP_LIMIT',
      `Workflow ${workflowId} has performed ${limit} steps and is not done. Raise \`maxSteps\` if that is right.`,
    )
  }
}

/** A resumable step has done more items than its `maxIterations` allows. */
export class IterationLimitError extends GenevaError {
  constructor(workflowId: string, node: string, limit: number) {
    super(
      'ITERATION_LIMIT',
      `Step ${node} of workflow ${workflowId} has done ${limit} items and wants more. If it does not loop, raise \`maxIterations\` and resume.`,
    )
  }
}

/** A handler of events was too slow: of what it had still to hear, the oldest were dropped. */
export class EventsDroppedError extends GenevaError {
  readonly count: number
  constructor(count: number) {
    super(
      'EVENTS_DROPPED',
      `A handler of \`geneva.on\` is too slow: ${count} events were dropped before it heard of them. Let it do less, or read them with \`geneva.events()\`, which drops nothing.`,
    )
    this.count = count
  }
}

/** An attempt at a step took longer than its `timeout`. Recorded with the step. */
export class StepTimeoutError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string, step: string, timeoutMs: number) {
    super(
      'STEP_TIMEOUT',
      `Step ${step} of workflow ${workflowId} took longer than ${timeoutMs} ms. Its signal was aborted, and what it still does is ignored.`,
    )
    this.workflowId = workflowId
  }
}
