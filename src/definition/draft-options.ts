/** Reads the options of nodes of a graph that is being described, into the form in which they are stored. */
import { DefinitionError, InvalidGraphError } from '../errors.ts'
import { type FrozenCompensation, frozenHuman, testOf } from './frozen-flow.ts'
import type { FrozenNode } from './frozen-graph.ts'
import type { GraphDraft } from './graph-draft.ts'
import { isJob, type Job } from './job.ts'
import { type EncodedArgs, encodeArgs, noArgs } from './node-args.ts'
import { storedPolicy, storedTest } from './node-rules.ts'
import { definedTimeout, refuseUnknownKeys } from './option-checks.ts'
import { OutputReference } from './output-reference.ts'
import { retryInGraph } from './retry-in-graph.ts'
import { checkChildArgs, checkChildStart, classNamed } from './stored-child.ts'
import { outputsIn } from './stored-condition.ts'
import { isPlainObject, toInputIssue } from './validate-input.ts'
import { humanWait, waitOf } from './wait-settings.ts'

type RawOptions = Readonly<Record<string, unknown>>

export function draftArgs(draft: GraphDraft, args: unknown, where: string, job?: Job): EncodedArgs {
  if (args !== undefined && !isPlainObject(args) && !(args instanceof OutputReference)) {
    throw new InvalidGraphError(`${where}: its args must be an object, like { userId: 5 }.`)
  }
  const encoded = args === undefined ? noArgs : encodeArgs(args as object, `${where}: its args`, draft.limits.bytes)
  if (job && encoded.references.size === 0) checkArgs(job, args ?? {}, where)
  draft.tally.add('bytes', encoded.bytes)
  return encoded
}

/** A first look, where the schema answers at once and all is there to be checked. The node checks again when it runs. */
function checkArgs({ name, argsSchema }: Job, args: unknown, where: string): void {
  const result = argsSchema?.['~standard'].validate(args)
  if (result instanceof Promise) result.catch(() => undefined)
  else if (result?.issues) {
    const list = result.issues.map(toInputIssue).map(({ path, message }) => (path ? `${path}: ${message}` : message))
    throw new InvalidGraphError(`${where}: its args are not what job ${name} takes: ${list.join('; ')}.`)
  }
}

/** What a node is asked before it runs, and the names of the nodes whose outputs are needed for that. */
export function draftTest(
  options: RawOptions,
  where: string,
): { readonly test: Pick<FrozenNode, 'if' | 'skip_if'>; readonly asks: ReadonlySet<string> } {
  const test = storedTest(options, where)
  const stored = testOf(test)
  return { test, asks: (stored && outputsIn(stored.text)) ?? new Set() }
}

/** How long an attempt of a job may take. */
export function draftTimeout({ timeout }: RawOptions, where: string): Pick<FrozenNode, 'timeout_ms'> {
  return timeout === undefined ? {} : { timeout_ms: definedTimeout(timeout, where) }
}

/** How the node is undone, and whether its job may be called again. */
export function draftCode(
  draft: GraphDraft,
  { job: code, compensate, idempotent, reconcile, retry, onException }: RawOptions,
  where: string,
): Pick<FrozenNode, 'compensation' | 'once'> {
  const repeats = flagIn(idempotent, 'idempotent', where)
  if (!repeats) refuseManyCalls(code, where)
  if (!repeats) refuseRepetition(retry, onException, where)
  if (reconcile !== undefined && repeats) {
    throw new DefinitionError(
      `${where}: \`reconcile\` settles calls that may not be repeated. Say \`idempotent: false\`.`,
    )
  }
  const job = reconcile === undefined ? undefined : draft.knownJob(reconcile, where, 'its `reconcile`')
  if (job !== undefined) refuseIteration(job, `${where}, reconcile`)
  return {
    ...(compensate === undefined ? {} : { compensation: compensationIn(draft, compensate, where) }),
    ...(repeats ? {} : { once: { reconciles: job !== undefined, ...(job && { job: job.name }) } }),
  }
}

function compensationIn(draft: GraphDraft, given: unknown, where: string): FrozenCompensation {
  const options = isJob(given) ? { job: given } : given
  const place = `${where}, compensate`
  if (!isPlainObject(options) && !isJob(given)) {
    throw new DefinitionError(`${place}: it takes a job, or { job, retry, timeout, idempotent, afterFailure }.`)
  }
  refuseUnknownKeys(options as object, ['job', 'retry', 'timeout', 'idempotent', 'afterFailure'], place)
  const { job, retry, timeout, idempotent, afterFailure } = options as RawOptions
  const undo = draft.knownJob(job, where, 'what undoes it')
  refuseIteration(undo, place)
  const repeats = flagIn(idempotent, 'idempotent', place)
  if (!repeats) refuseManyCalls(job, place)
  if (!repeats) refuseRepetition(retry, undefined, place)
  return {
    name: undo.name,
    ...(flagIn(afterFailure, 'afterFailure', place) ? {} : { after_failure: false }),
    ...(repeats ? {} : { idempotent: false }),
    ...(retry === undefined ? {} : { retry: retryInGraph(retry, place) }),
    ...(timeout === undefined ? {} : { timeout_ms: definedTimeout(timeout, place) }),
  }
}

/** It is called in one go. */
function refuseIteration({ name, resumable }: Job, where: string): void {
  if (resumable === null) return
  throw new DefinitionError(`${where}: job ${name} is resumable, and only what a node itself runs can be.`)
}

/** A conflict lets the whole run again, and so does whatever stops a job between two items. */
function refuseManyCalls(job: unknown, where: string): void {
  if (isJob(job) && job.resumable !== null) {
    throw new DefinitionError(
      `${where}: job ${job.name} is resumable and may be called again, so it cannot have \`idempotent: false\`.`,
    )
  }
  if (!isJob(job) || !job.transactional) return
  throw new DefinitionError(
    `${where}: job ${job.name} runs in a transaction and may be run again, so it cannot have \`idempotent: false\`.`,
  )
}

/** One call, ever: what would call again contradicts it. */
export function refuseRepetition(retry: unknown, onException: unknown, where: string): void {
  if (retry !== undefined) {
    throw new DefinitionError(
      `${where}: a node with \`idempotent: false\` is called once, so it cannot have a \`retry\`.`,
    )
  }
  const policy = isPlainObject(onException) ? (onException as RawOptions).policy : onException
  if (policy === 'reattempt') {
    throw new DefinitionError(
      `${where}: a node with \`idempotent: false\` is called once, so its \`onException\` cannot be reattempt.`,
    )
  }
}

function flagIn(value: unknown, name: string, where: string): boolean {
  if (value === undefined || value === true) return true
  if (value === false) return false
  throw new DefinitionError(`${where}: \`${name}\` must be true or false.`)
}

export function draftHuman(draft: GraphDraft, options: RawOptions, where: string): Partial<FrozenNode> {
  draft.knownForm(options.form, 'form', where)
  const { deadline } = options
  return {
    human: frozenHuman(humanWait(options, where)),
    ...(deadline === undefined ? {} : { wait_timeout_ms: waitOf(deadline, 'deadline', where) }),
  }
}

/** Only the stored name of the class goes into the graph. */
export function draftChild(
  draft: GraphDraft,
  { workflow, timeout, hero, input, workflowId }: RawOptions,
  where: string,
): {
  readonly frozen: Pick<FrozenNode, 'workflow' | 'args' | 'wait_timeout_ms'>
  readonly references: EncodedArgs['references']
} {
  const { type, definition } = classNamed(workflow, where)
  const given = Object.entries({ hero, input, workflowId }).filter(([, value]) => value !== undefined)
  const args = checkChildArgs(Object.fromEntries(given), where)
  const { json, references } = draftArgs(draft, args, where)
  if (definition !== null && references.size === 0) checkChildStart(args, definition, where)
  const waits = timeout === undefined ? {} : { wait_timeout_ms: waitOf(timeout, 'timeout', where) }
  return { frozen: { workflow: type, ...(given.length === 0 ? {} : { args: json }), ...waits }, references }
}

export function draftWait(draft: GraphDraft, options: RawOptions, where: string): Partial<FrozenNode> {
  const { timeout, onTimeout } = options
  const payload = draft.knownForm(options.payload, 'payload', where)
  if (onTimeout !== undefined && timeout === undefined) {
    throw new DefinitionError(`${where}: \`onTimeout\` says what follows a timeout, and there is none.`)
  }
  return {
    ...(timeout === undefined ? {} : { wait_timeout_ms: waitOf(timeout, 'timeout', where) }),
    ...(onTimeout === undefined ? {} : { on_timeout: storedPolicy(onTimeout, `${where}, onTimeout`) }),
    ...(payload && { payload: payload.name }),
  }
}
