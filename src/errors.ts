/**
 * Every error that a user of the library can meet, each with a stable code. A message says what happened,
 * to which id, and what to do about it.
 */

const brand = Symbol.for('geneva-drive.error')

/** Stable codes, one per public error class. The reference in `docs/reference/errors.md` has a row for each. */
export type ErrorCode =
  | 'DEFINITION'
  | 'INVALID_ARGUMENT'
  | 'INPUT_INVALID'
  | 'UNSTORABLE_VALUE'
  | 'VALUE_TOO_LARGE'
  | 'UNKNOWN_WORKFLOW'
  | 'INVALID_GRAPH'
  | 'GRAPH_TOO_LARGE'
  | 'ARGS_INVALID'
  | 'HERO_TYPE'
  | 'HERO_GONE'
  | 'ALREADY_ACTIVE'
  | 'IDEMPOTENCY_CONFLICT'
  | 'WORKFLOW_NOT_FOUND'
  | 'INVALID_STATE'
  | 'WORKFLOW_NOT_FINISHED'
  | 'WAIT_TIMEOUT'
  | 'OUTPUT_MISSING'
  | 'STEP_MISSING'
  | 'CHILD_NOT_FINISHED'
  | 'MISSING_JOB'
  | 'CRASH_LIMIT'
  | 'STEP_LIMIT'
  | 'ITERATION_LIMIT'
  | 'RETRYABLE'
  | 'PERMANENT'
  | 'DRIVER_MISSING'
  | 'UNSUPPORTED_DATABASE'
  | 'SCHEMA'
  | 'CLOSED'
  | 'INVARIANT'

/** The base of all errors thrown by Geneva Drive. Recognise it with `isGenevaError`, which also works across copies of the package. */
export class GenevaError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.name = new.target.name
    Object.defineProperty(this, brand, { value: true })
  }
}

/** True for any error of this library, optionally only for one code. */
export function isGenevaError(value: unknown, code?: ErrorCode): value is GenevaError {
  if (typeof value !== 'object' || value === null || !(brand in value)) return false
  return code === undefined || (value as unknown as GenevaError).code === code
}

/** A mistake in a workflow class, raised when the class is defined or registered. */
export class DefinitionError extends GenevaError {
  constructor(message: string) {
    super('DEFINITION', message)
  }
}

/** An option, name or id that cannot be right, whatever the database holds. */
export class InvalidArgumentError extends GenevaError {
  constructor(message: string) {
    super('INVALID_ARGUMENT', message)
  }
}

export interface InputIssue {
  readonly message: string
  readonly path?: string
}

/** The input of a workflow did not pass its schema. Nothing was written. */
export class InputValidationError extends GenevaError {
  readonly issues: readonly InputIssue[]
  constructor(workflow: string, issues: readonly InputIssue[]) {
    super('INPUT_INVALID', `The input for ${workflow} is not valid: ${listOf(issues)}. Nothing was started.`)
    this.issues = issues
  }
}

function listOf(issues: readonly InputIssue[]): string {
  return issues.map(issue => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join('; ')
}

/** A value holds something that cannot be kept in the database: a function, a symbol, a cycle, an unknown class. */
export class UnstorableValueError extends GenevaError {
  readonly path: string
  constructor(what: string, path: string, reason: string) {
    super(
      'UNSTORABLE_VALUE',
      `${what} cannot be stored: ${reason} at ${path}. Use plain data: objects, arrays, strings, numbers, bigints, dates, bytes.`,
    )
    this.path = path
  }
}

/** A value is larger than its limit. Nothing was written. */
export class ValueTooLargeError extends GenevaError {
  readonly bytes: number
  constructor(what: string, bytes: number, limit: number) {
    super(
      'VALUE_TOO_LARGE',
      `${what} takes ${bytes} bytes, the limit is ${limit}. Store the data elsewhere and keep a reference to it, or raise the limit.`,
    )
    this.bytes = bytes
  }
}

/** A class or stored type name that this Geneva instance was not given. */
export class UnknownWorkflowError extends GenevaError {
  constructor(name: string) {
    super(
      'UNKNOWN_WORKFLOW',
      `The workflow class ${name} is not registered. Add it to \`new Geneva({ workflows: [...] })\`.`,
    )
  }
}

/** A mistake in a graph that was built at run time or imported. Nothing was written. */
export class InvalidGraphError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('INVALID_GRAPH', message, options)
  }
}

/** A graph has more nodes, edges or bytes than its limit. Nothing was written. */
export class GraphTooLargeError extends GenevaError {
  readonly limit: 'nodes' | 'edges' | 'bytes'
  constructor(limit: 'nodes' | 'edges' | 'bytes', actual: number, allowed: number) {
    super(
      'GRAPH_TOO_LARGE',
      `The graph has grown to ${actual} ${limit}, the limit is ${allowed}. Spread the work over several workflows, or raise the limit.`,
    )
    this.limit = limit
  }
}

/** What a node passes to its job did not pass the job's schema, once the outputs it refers to were filled in. */
export class ArgsValidationError extends GenevaError {
  readonly issues: readonly InputIssue[]
  constructor(job: string, node: string, issues: readonly InputIssue[]) {
    super(
      'ARGS_INVALID',
      `The arguments of node ${node} are not what job ${job} takes: ${listOf(issues)}. Correct the graph, the job's schema or the outputs that were filled in, then resume.`,
    )
    this.issues = issues
  }
}

/** A hero that the class does not declare, or that its type cannot identify. */
export class HeroTypeError extends GenevaError {
  constructor(message: string) {
    super('HERO_TYPE', message)
  }
}

/** The hero of a workflow could not be found while its code asked for it. */
export class HeroGoneError extends GenevaError {
  constructor(workflowId: string, hero: string) {
    super(
      'HERO_GONE',
      `The hero ${hero} of workflow ${workflowId} no longer exists. Call \`this.mayOutliveHero()\` in the class if it may go on without.`,
    )
  }
}

/** Another workflow of this type is active for this hero. `workflowId` is the one that holds the place. */
export class WorkflowAlreadyActiveError extends GenevaError {
  readonly workflowId: string
  constructor(type: string, hero: string, workflowId: string) {
    super(
      'ALREADY_ACTIVE',
      `${type} is already active for ${hero} as workflow ${workflowId}. Wait for it, cancel it, or declare \`this.allowMultiple()\`.`,
    )
    this.workflowId = workflowId
  }
}

/** The idempotency key was used before with another hero or input. `workflowId` is the workflow that has the key. */
export class IdempotencyConflictError extends GenevaError {
  readonly workflowId: string
  constructor(type: string, key: string, workflowId: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key ${JSON.stringify(key)} of ${type} belongs to workflow ${workflowId}, which was started with another hero or input. Use a new key.`,
    )
    this.workflowId = workflowId
  }
}

export class WorkflowNotFoundError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string) {
    super(
      'WORKFLOW_NOT_FOUND',
      `There is no workflow with the id ${workflowId}. It may have been pruned, or the id belongs to another database.`,
    )
    this.workflowId = workflowId
  }
}

/** A request that the workflow's state does not allow. Nothing was changed. */
export class InvalidStateError extends GenevaError {
  readonly workflowId: string
  readonly state: string
  constructor(workflowId: string, state: string, request: string, remedy: string) {
    super('INVALID_STATE', `Workflow ${workflowId} is ${state}: cannot ${request} it. ${remedy}`)
    this.workflowId = workflowId
    this.state = state
  }
}

/** `waitUntilFinished` met another end than `finished`. */
export class WorkflowNotFinishedError extends GenevaError {
  readonly workflowId: string
  readonly state: string
  constructor(workflowId: string, state: string, detail: string, options?: ErrorOptions) {
    super(
      'WORKFLOW_NOT_FINISHED',
      `Workflow ${workflowId} is ${state} and has no result${detail ? `: ${detail}` : '.'}`,
      options,
    )
    this.workflowId = workflowId
    this.state = state
  }
}

/** The time given to `waitUntilFinished` is over; the workflow goes on. */
export class WaitTimeoutError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string, state: string, timeoutMs: number) {
    super(
      'WAIT_TIMEOUT',
      `Workflow ${workflowId} is still ${state} after ${timeoutMs} ms. It goes on; wait again, or look at its history.`,
    )
    this.workflowId = workflowId
  }
}

/** The output of a step was asked for that has none: it was skipped, or has not completed. */
export class OutputMissingError extends GenevaError {
  constructor(workflowId: string, node: string, state: string) {
    super(
      'OUTPUT_MISSING',
      `Step ${node} of workflow ${workflowId} has no output (${state}). Give a fallback: \`this.output(this.${node}, null)\`.`,
    )
  }
}

/** A stored graph names a job that no live worker has had for a while. Recorded with the node. */
export class MissingJobError extends GenevaError {
  readonly workflowId: string
  readonly job: string
  constructor(
    workflowId: string,
    job: string,
    { node, nodeId, frozenAt }: { readonly node: string; readonly nodeId: string; readonly frozenAt: string },
  ) {
    super(
      'MISSING_JOB',
      [
        `Workflow ${workflowId} was built at run time and names the job ${JSON.stringify(job)}, which no worker has any more.`,
        `Node: ${node} (${nodeId})`,
        `Frozen at: ${frozenAt}`,
        'A stored graph does not change with the code. You can:',
        `1. bring the job ${job} back, register it with \`new Geneva({ jobs: [...] })\`, and resume the workflow;`,
        '2. cancel this workflow and start a new one;',
        '3. repair its graph as a last resort: `exportDag`, edit, `importDag` into this workflow.',
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
      `Step ${node} of workflow ${workflowId} lost its worker ${crashes} times in a row. Look for what ends the process (memory, exit, native code), then resume.`,
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

/**
 * How long a service asked to be left alone: milliseconds, a duration such as `'5 min'` or `{ minutes: 5 }`, or what its
 * `Retry-After` header says, seconds as text or a date. Null and undefined stand for a header that was not sent.
 */
export type RetryAfter =
  | number
  | string
  | {
      readonly weeks?: number
      readonly days?: number
      readonly hours?: number
      readonly minutes?: number
      readonly seconds?: number
      readonly milliseconds?: number
    }
  | null
  | undefined

export interface RetryableErrorOptions extends ErrorOptions {
  /** Replaces the wait that `retry` would come to, up to 24 hours. What cannot be read is ignored. */
  readonly retryAfter?: RetryAfter
}

/** Thrown by a step to say that another attempt may help, whatever its `retryIf` thinks; `attempts` still counts. */
export class RetryableError extends GenevaError {
  readonly retryAfter: RetryAfter
  constructor(message: string, { retryAfter, ...options }: RetryableErrorOptions = {}) {
    super('RETRYABLE', message, options)
    this.retryAfter = retryAfter
  }
}

/** Thrown by a step to say that no further attempt can help: `onException` acts at once, however many are left. */
export class PermanentError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('PERMANENT', message, options)
  }
}

/** An optional database driver is not installed. */
export class DriverMissingError extends GenevaError {
  constructor(database: string, packageName: string, options?: ErrorOptions) {
    super(
      'DRIVER_MISSING',
      `${database} needs the package ${packageName}. Install it: npm install ${packageName}`,
      options,
    )
  }
}

/** The database server or library is too old, or a kind that is not supported. */
export class UnsupportedDatabaseError extends GenevaError {
  constructor(message: string) {
    super('UNSUPPORTED_DATABASE', message)
  }
}

/** The tables are missing, older than the code, or newer than it can use. */
export class SchemaError extends GenevaError {
  constructor(message: string) {
    super('SCHEMA', message)
  }
}

/** This Geneva instance was closed. */
export class ClosedError extends GenevaError {
  constructor() {
    super('CLOSED', 'This Geneva instance is closed. Create a new one to go on.')
  }
}

/** A bug in Geneva Drive itself. */
export class InvariantError extends GenevaError {
  constructor(message: string) {
    super('INVARIANT', `${message} This is a bug in Geneva Drive; please report it.`)
  }
}
