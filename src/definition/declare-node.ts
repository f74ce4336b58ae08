/** The verbs that add a node with code: `step`, `transactionalStep`, `resumableStep`, `task`, `each`, `child`, `job` and `inline`. Mistakes are raised at once, naming class and step. */
import { DefinitionError } from '../errors.ts'
import { addNode } from './add-node.ts'
import { defaultsOf, jobBody, jobOptionsIn } from './job-node.ts'
import { longestNames } from './node-name.ts'
import type { NodeRef } from './node-ref.ts'
import { freeName, type Place } from './place.ts'
import type { NodeDefinition } from './workflow-definition.ts'

export function declareStep(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  return addNode(place, { name: checked, kind: 'step', body: checked, inChain: true }, options)
}

/** What it writes is committed with its outcome, so it may be called again as often as that takes. */
export function declareTransactionalStep(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  return addNode(place, { name: checked, kind: 'step', body: checked, inChain: true, transactional: true }, options)
}

/** A task that is `resumable` iterates like a resumable step; one with a `transaction` is like a transactional step. */
export function declareTask(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, task ${checked}`
  const { resumable = false, transaction = false, ...rest } = (options ?? {}) as Record<string, unknown>
  for (const [option, value] of Object.entries({ resumable, transaction })) {
    if (typeof value !== 'boolean') throw new DefinitionError(`${where}: \`${option}\` must be true or false.`)
  }
  if (resumable && transaction) {
    throw new DefinitionError(
      `${where}: it is resumable or has a transaction, not both. A resumable step opens one for each item: \`iter.transaction(...)\`.`,
    )
  }
  const kind = resumable ? 'resumable' : 'step'
  return addNode(
    place,
    { name: checked, kind, body: checked, inChain: false, transactional: transaction === true },
    rest,
  )
}

/** One execution for each item that is there when the node is reached. */
export function declareEach(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name, longestNames.each)
  return addNode(place, { name: checked, kind: 'each', body: checked, inChain: true }, options)
}

export function declareChild(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  return addNode(place, { name: checked, kind: 'child', body: checked, inChain: true }, options)
}

/** A step whose code is a job, with arguments that the workflow gives. */
export function declareJob(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, job ${checked}`
  const { job, args, ...rest } = jobOptionsIn(options, where)
  const body = jobBody(job, { name: checked, metadata: rest.metadata }, args)
  const own = { inherited: job.onException, transactional: job.transactional }
  const node = { name: checked, kind: 'step', body, inChain: true, ...own } as const
  const { retry, ...defaults } = defaultsOf(job)
  // What the job says is a default like that of the class, and does not count for a step that is called once.
  const repeated = retry === undefined || rest.idempotent === false ? {} : { retry }
  return addNode(place, node, { ...defaults, ...repeated, ...rest })
}

/** One execution of a job for each item, which is its arguments. */
export function declareEachJob(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name, longestNames.each)
  const where = `${place.declarations.className}, each ${checked}`
  const { job, ...rest } = jobOptionsIn(options, where)
  const body = jobBody(job, { name: checked, metadata: rest.metadata }, (_: unknown, item: unknown) => item)
  const own = { inherited: job.onException, transactional: job.transactional }
  const node = { name: checked, kind: 'each', body, inChain: true, ...own } as const
  return addNode(place, node, { ...defaultsOf(job), ...rest })
}

export function declareResumableStep(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  return addNode(place, { name: checked, kind: 'resumable', body: checked, inChain: true }, options)
}

/** Takes `(body)`, `(name or options, body)` or `(name, options, body)`. */
export function declareInline(place: Place, given: readonly unknown[]): NodeRef<any> {
  const body = given.at(-1)
  const first = given.length > 1 ? given[0] : undefined
  const named = given.length === 3 || typeof first === 'string'
  const options = given.length === 3 ? given[1] : named ? undefined : first
  const name = named ? freeName(place, first) : `step_${place.declarations.anonymousSteps + 1}`
  if (typeof body !== 'function' || given.length > 3) {
    throw new DefinitionError(
      `${place.declarations.className}, step ${name}: inline takes (body), (name, body) or (name, options, body).`,
    )
  }
  const ref = addNode(place, { name, kind: 'step', body: body as NodeDefinition['body'], inChain: true }, options)
  if (!named) place.declarations.anonymousSteps++
  return ref
}
