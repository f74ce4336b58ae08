/**
 * Reads what a node of a graph from outside says beyond its edges: branches, joins, people, messages and compensations.
 * Each field is checked as if it had been written anew; whether they fit together is `check-flow.ts`.
 */
import { InvalidGraphError } from '../errors.ts'
import { refuseRepetition } from './draft-options.ts'
import { type FrozenCompensation, type FrozenFlow, type FrozenHuman, frozenHuman } from './frozen-flow.ts'
import type { Guard, Join } from './graph.ts'
import { joinRule } from './join-rule.ts'
import { longestNames, maxNameLength, mistakeInStoredName } from './node-name.ts'
import { storedPolicy, storedTest } from './node-rules.ts'
import { definedTimeout, refuseUnknownKeys } from './option-checks.ts'
import { retryInGraph } from './retry-in-graph.ts'
import { checkCondition } from './stored-condition.ts'
import { humanWait, waitOf } from './wait-settings.ts'

type Json = Readonly<Record<string, unknown>>

/** Whether names are known here; absent, all are. */
export interface KnownNames {
  readonly knowsJob?: (job: string) => boolean
  readonly knowsForm?: (form: string) => boolean
}

export const flowFields: readonly string[] = [
  ...[
    'if',
    'skip_if',
    'guard',
    'join',
    'test',
    'compensation',
    'human',
    'wait_timeout_ms',
    'on_timeout',
    'payload',
    'once',
  ],
]

/** Kinds of nodes that may be skipped by an expression. */
const tested: readonly unknown[] = [undefined, 'step', 'resumable', 'child', 'human', 'signal']

/** The kinds that a field belongs to, where it does not belong to all. */
const kindsOf: Readonly<Record<string, readonly unknown[]>> = {
  if: tested,
  skip_if: tested,
  join: ['join'],
  test: ['condition'],
  human: ['human'],
  wait_timeout_ms: ['human', 'signal', 'child'],
  on_timeout: ['signal'],
  payload: ['signal'],
  once: [undefined, 'step'],
}

/** Throws `DefinitionError` and `InvalidGraphError`, naming `where`. */
export function flowIn(node: Json, where: string, known: KnownNames): FrozenFlow {
  for (const [field, kinds] of Object.entries(kindsOf)) {
    if (node[field] === undefined || kinds.includes(node.kind)) continue
    throw new InvalidGraphError(`${where}: ${field} belongs to nodes of the kind ${kinds.at(-1)}.`)
  }
  const runs = storedTest({ if: node.if, skipIf: node.skip_if }, where)
  if (node.method !== undefined && (node.if ?? node.skip_if) !== undefined) {
    throw new InvalidGraphError(
      `${where}: whether a method runs is said by its class, so it has no if or skip_if here.`,
    )
  }
  const { guard, test, compensation, wait_timeout_ms: timeout, on_timeout: onTimeout, payload, once } = node
  if (test !== undefined) checkCondition(test as string)
  return {
    ...runs,
    ...(guard === undefined ? {} : { guard: guardIn(guard, where) }),
    ...(node.kind === 'join' ? { join: joinIn(node.join, where) } : {}),
    ...(test === undefined ? {} : { test: test as string }),
    ...(compensation === undefined ? {} : { compensation: compensationIn(compensation, node, where, known) }),
    ...(node.kind === 'human' ? { human: humanIn(node.human ?? {}, where, { known, timeout }) } : {}),
    ...(timeout === undefined ? {} : { wait_timeout_ms: waitOf(msIn(timeout, where), 'wait_timeout_ms', where) }),
    ...(onTimeout === undefined ? {} : { on_timeout: storedPolicy(onTimeout, `${where}, on_timeout`) }),
    ...(payload === undefined ? {} : { payload: formIn(payload, where, known) }),
    ...(once === undefined ? {} : { once: onceIn(once, node, where, known) }),
  }
}

function guardIn(json: unknown, where: string): Guard {
  const { condition, when } = objectIn(json, ['condition', 'when'], `${where}: its guard`)
  if (typeof condition === 'string' && typeof when === 'boolean') return { condition, when }
  throw new InvalidGraphError(`${where}: its guard has the id of a condition, and \`when\` true or false.`)
}

function joinIn(json: unknown, where: string): Join {
  const { rule, branches } = objectIn(json, ['rule', 'branches'], `${where}: its join`)
  const isSound = (branch: unknown) =>
    Array.isArray(branch) && branch.length > 0 && branch.every(id => typeof id === 'string')
  if (!Array.isArray(branches) || branches.length === 0 || !branches.every(isSound)) {
    throw new InvalidGraphError(`${where}: the branches of its join are lists of node ids, none of them empty.`)
  }
  return { rule: joinRule(rule, branches.length, where), branches: branches as string[][] }
}

function compensationIn(json: unknown, node: Json, where: string, known: KnownNames): FrozenCompensation {
  const place = `${where}: its compensation`
  const fields = ['name', 'after_failure', 'idempotent', 'retry', 'timeout_ms']
  const { name, after_failure: afterFailure, idempotent, retry, timeout_ms } = objectIn(json, fields, place)
  const mistake = mistakeInStoredName(name, node.method === undefined ? longestNames.job : maxNameLength)
  if (mistake !== null) throw new InvalidGraphError(`${place}: its name ${mistake}.`)
  // In the graph of a class it is a method, which the class knows.
  if (node.method === undefined) refuseUnknownJob(name as string, place, known)
  if (idempotent === false) refuseRepetition(retry, undefined, place)
  return {
    name: name as string,
    ...(flagIn(afterFailure, 'after_failure', place) ? {} : { after_failure: false }),
    ...(flagIn(idempotent, 'idempotent', place) ? {} : { idempotent: false }),
    ...(retry === undefined ? {} : { retry: retryInGraph(retry, place) }),
    ...(timeout_ms === undefined ? {} : { timeout_ms: definedTimeout(msIn(timeout_ms, place), place) }),
  }
}

function onceIn(json: unknown, node: Json, where: string, known: KnownNames): NonNullable<FrozenFlow['once']> {
  const { reconciles, job } = objectIn(json, ['reconciles', 'job'], `${where}: its once`)
  if (typeof reconciles !== 'boolean' || (job !== undefined && (typeof job !== 'string' || !reconciles))) {
    throw new InvalidGraphError(`${where}: its once says whether it \`reconciles\`, and by which \`job\` if it does.`)
  }
  refuseRepetition(node.retry, node.on_exception, where)
  if (job === undefined) return { reconciles }
  refuseUnknownJob(job as string, where, known)
  return { reconciles, job: job as string }
}

function humanIn(
  json: unknown,
  where: string,
  { known, timeout }: { readonly known: KnownNames; readonly timeout: unknown },
): FrozenHuman {
  const place = `${where}: its human`
  const fields = ['prompt', 'form', 'assign_to', 'quorum', 'on_reject', 'escalations']
  const { prompt, form, assign_to: assignTo, quorum, on_reject, escalations } = objectIn(json, fields, place)
  const onReject =
    typeof on_reject === 'object' && on_reject !== null
      ? { backTo: objectIn(on_reject, ['back_to'], `${place}: its on_reject`).back_to }
      : on_reject
  const escalate = Array.isArray(escalations)
    ? escalations.map(one => {
        const { after_ms, to } = objectIn(one, ['after_ms', 'to'], `${place}: its escalations`)
        return { after: msIn(after_ms, place), to }
      })
    : escalations
  const deadline = timeout === undefined ? undefined : msIn(timeout, where)
  const wait = humanWait({ prompt, assignTo, quorum, onReject, escalate, deadline }, where)
  return frozenHuman(form === undefined ? wait : { ...wait, form: formIn(form, where, known) })
}

function formIn(form: unknown, where: string, { knowsForm }: KnownNames): string {
  const mistake = mistakeInStoredName(form)
  if (mistake !== null) throw new InvalidGraphError(`${where}: the name of its form ${mistake}.`)
  if (knowsForm?.(form as string) !== false) return form as string
  throw new InvalidGraphError(
    `${where}: its form ${JSON.stringify(form)} is not known here. Register it: \`new Geneva({ forms: [...] })\`.`,
  )
}

function refuseUnknownJob(job: string, where: string, { knowsJob }: KnownNames): void {
  if (knowsJob?.(job) !== false) return
  throw new InvalidGraphError(
    `${where}: its job ${JSON.stringify(job)} is not known here. Register it: \`new Geneva({ jobs: [...] })\`.`,
  )
}

function flagIn(value: unknown, name: string, where: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? true
  throw new InvalidGraphError(`${where}: ${name} must be true or false.`)
}

/** Stored durations are in milliseconds, and nothing else. */
function msIn(value: unknown, where: string): number {
  if (typeof value === 'number') return value
  throw new InvalidGraphError(`${where}: a time must be a number of milliseconds.`)
}

function objectIn(json: unknown, fields: readonly string[], where: string): Json {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new InvalidGraphError(`${where} must be an object.`)
  }
  refuseUnknownKeys(json, fields, where)
  return json as Json
}
