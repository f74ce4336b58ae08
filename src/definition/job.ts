/**
 * Jobs: named code for the nodes of graphs that are built at run time. A stored graph holds only their names, so the name
 * must outlive every graph that has it. Nothing is run here.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ArgsValidationError, DefinitionError } from '../errors.ts'
import type { Duration } from '../primitives/duration.ts'
import { isStandardSchema } from './declare-rules.ts'
import { inOrderOfTrial, normalizeRules } from './exception-policy.ts'
import type { Iteration } from './iteration.ts'
import type { JobContext } from './job-context.ts'
import { longestNames, mistakeInStoredName } from './node-name.ts'
import { definedPriority, definedQueue, definedTimeout, refuseUnknownKeys } from './option-checks.ts'
import { resumableSettings } from './resumable-settings.ts'
import type { RetryNotation } from './retry-notation.ts'
import { normalizeRetry } from './retry-policy.ts'
import type { ExceptionNotation, IterationOptions } from './step-options.ts'
import type { Unstorable } from './storable.ts'
import { isPlainObject, toInputIssue } from './validate-input.ts'
import type { ExceptionRule, ResumableSettings } from './workflow-definition.ts'

const brand = Symbol.for('geneva-drive.job')
declare const jobType: unique symbol

/** Named code. `Args` is what a node gives it, `Output` what the node leaves behind. */
export interface Job<Args = any, Output = any> {
  readonly name: string
  readonly body: (args: any, job: JobContext, iteration?: any) => unknown
  readonly argsSchema: StandardSchemaV1 | null
  /** `null`: the node or the workflow decides. */
  readonly queue: string | null
  readonly priority: number | null
  readonly retry: RetryNotation | null
  readonly timeoutMs: number | null
  /** Its body has `job.transaction`, which is committed with the outcome. */
  readonly transactional: boolean
  /** Set exactly for a job that goes through items: its body has an `Iteration`, and goes on where it stopped. */
  readonly resumable: ResumableSettings | null
  /** First match wins. Empty: the workflow decides. */
  readonly onException: readonly ExceptionRule[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** Only for the compiler. */
  readonly [jobType]: (args: Args) => Output
}

/** Queue, priority, retry and policy count for every node of the job that has none of its own. */
export interface DefineJobOptions<Schema extends StandardSchemaV1 | undefined = undefined> {
  /** Checks the arguments by a schema (zod, valibot, arktype, ...); the body receives what it yields. */
  readonly args?: Schema
  readonly queue?: string
  /** 0 to 100, higher goes first. */
  readonly priority?: number
  readonly retry?: RetryNotation
  /** How long an attempt may take. */
  readonly timeout?: Duration
  readonly onException?: ExceptionNotation
  /** Runs the body in a transaction, `job.transaction`, that is committed with the outcome. */
  readonly transaction?: boolean
  /** True: the body receives an `Iteration` as well, as a resumable step does, and the options of one count. */
  readonly resumable?: false
  /** For the application's own use. It stays in the code and is not stored with graphs. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A job that goes through many items and can stop between any two of them. */
export interface ResumableJobOptions<Schema extends StandardSchemaV1 | undefined = undefined>
  extends Omit<DefineJobOptions<Schema>, 'transaction' | 'resumable'>,
    IterationOptions {
  readonly resumable: true
}

/** What a body that asks for nothing can be given. */
export type NoArgs = Record<string, never>

type BodyArgs<Schema, Args> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : Args
type GivenArgs<Schema, Args> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : Args

/** Lets the body of a job pass, or says why not. */
type StorableOutput<R> = [Unstorable<Awaited<R>>] extends [never]
  ? unknown
  : 'this job returns a value that cannot be stored'

const iterationOptions = ['yieldEvery', 'maxRuntime', 'maxIterations', 'checkpoint']
const jobOptions = [
  ...['args', 'queue', 'priority', 'retry', 'timeout', 'onException', 'transaction', 'metadata'],
  ...['resumable', ...iterationOptions],
]

/** Declares a job. The name is stored with every graph that uses it: keep it when the function is renamed. */
export function defineJob<R, Args extends object = NoArgs>(
  name: string,
  body: ((args: Args, job: JobContext) => R) & StorableOutput<R>,
): Job<Args, Awaited<R>>
export function defineJob<
  R,
  Args extends object = NoArgs,
  const Schema extends StandardSchemaV1 | undefined = undefined,
>(
  name: string,
  options: DefineJobOptions<Schema>,
  body: ((args: BodyArgs<Schema, Args>, job: JobContext) => R) & StorableOutput<R>,
): Job<GivenArgs<Schema, Args>, Awaited<R>>
export function defineJob<
  R,
  Cursor,
  Args extends object = NoArgs,
  const Schema extends StandardSchemaV1 | undefined = undefined,
>(
  name: string,
  options: ResumableJobOptions<Schema>,
  body: ((args: BodyArgs<Schema, Args>, job: JobContext, iteration: Iteration<Cursor>) => R) & StorableOutput<R>,
): Job<GivenArgs<Schema, Args>, Awaited<R>>
export function defineJob(name: unknown, ...given: unknown[]): Job {
  const mistake = mistakeInStoredName(name, longestNames.job)
  if (mistake !== null) throw new DefinitionError(`defineJob: the name of a job ${mistake}.`)
  const where = `defineJob(${JSON.stringify(name)})`
  const body = given.at(-1)
  if (typeof body !== 'function' || given.length > 2) {
    throw new DefinitionError(`${where}: it takes (name, body) or (name, options, body), and the body is a function.`)
  }
  const job = { name, body, ...checkedOptions(given.length === 2 ? given[0] : {}, where) }
  return Object.freeze(Object.defineProperty(job, brand, { value: true })) as unknown as Job
}

export function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && brand in value
}

/**
 * The arguments as the body of the job receives them: what its schema yields, or what was given where it has none.
 * Throws `ArgsValidationError`.
 */
export async function validateArgs(job: Job, args: unknown, node: string): Promise<unknown> {
  if (job.argsSchema === null) return args
  const result = await job.argsSchema['~standard'].validate(args)
  if (result.issues) throw new ArgsValidationError(job.name, node, result.issues.map(toInputIssue))
  return result.value
}

function checkedOptions(options: unknown, where: string): Omit<Job, 'name' | 'body' | typeof jobType> {
  if (!isPlainObject(options)) throw new DefinitionError(`${where}: the options must be an object.`)
  refuseUnknownKeys(options as object, jobOptions, where)
  const {
    args,
    queue,
    priority,
    retry,
    timeout,
    onException,
    transaction = false,
    metadata,
  } = options as Record<string, unknown>
  if (args !== undefined && !isStandardSchema(args)) {
    throw new DefinitionError(`${where}: \`args\` takes a Standard Schema, as zod, valibot and arktype make them.`)
  }
  if (typeof transaction !== 'boolean') {
    throw new DefinitionError(`${where}: \`transaction\` must be true or false.`)
  }
  if (metadata !== undefined && !isPlainObject(metadata)) {
    throw new DefinitionError(`${where}: the metadata must be an object.`)
  }
  return {
    argsSchema: args ?? null,
    queue: queue === undefined ? null : definedQueue(queue, where),
    priority: priority === undefined ? null : definedPriority(priority, where),
    retry: retry === undefined ? null : definedRetry(retry, where),
    timeoutMs: timeout === undefined ? null : definedTimeout(timeout, where),
    onException: Object.freeze(onException === undefined ? [] : inOrderOfTrial(normalizeRules(onException, where))),
    transactional: transaction,
    resumable: iterationIn(options as Record<string, unknown>, where),
    metadata: Object.freeze({ ...(metadata as Record<string, unknown> | undefined) }),
  }
}

function iterationIn(options: Readonly<Record<string, unknown>>, where: string): ResumableSettings | null {
  const { resumable = false, transaction } = options
  if (typeof resumable !== 'boolean') throw new DefinitionError(`${where}: \`resumable\` must be true or false.`)
  if (resumable && transaction === true) {
    throw new DefinitionError(
      `${where}: it is resumable or has a transaction, not both. A resumable job opens one for each item: \`iteration.transaction(...)\`.`,
    )
  }
  if (resumable) return resumableSettings(options, where)
  const misplaced = iterationOptions.find(option => options[option] !== undefined)
  if (misplaced === undefined) return null
  throw new DefinitionError(`${where}: \`${misplaced}\` belongs to a resumable job. Say \`resumable: true\`.`)
}

function definedRetry(retry: unknown, where: string): RetryNotation {
  normalizeRetry(retry, where)
  return retry as RetryNotation
}
