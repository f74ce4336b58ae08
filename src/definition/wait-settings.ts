/** Reads the options of nodes that wait for people or for a message. Mistakes are raised at once, naming class and step. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { DefinitionError } from '../errors.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import { isStandardSchema } from './declare-rules.ts'
import { isForm } from './define-form.ts'
import { normalizePolicy } from './exception-policy.ts'
import type { HumanWait, OnReject } from './graph.ts'
import { definedDuration, refuseUnknownKeys } from './option-checks.ts'
import type { PolicyFunction, WaitSettings } from './workflow-definition.ts'

type RawOptions = Readonly<Record<string, unknown>>

export const humanOptions: readonly string[] = [
  'prompt',
  'form',
  'assignTo',
  'quorum',
  'deadline',
  'escalate',
  'onReject',
]

/** Without the form, which a class has as a schema and a stored graph by its name. */
export function humanWait(options: RawOptions, where: string): HumanWait {
  const { prompt, form, assignTo, quorum, deadline, escalate, onReject } = options
  if (prompt !== undefined && typeof prompt !== 'string') {
    throw new DefinitionError(`${where}: \`prompt\` must be a text.`)
  }
  if (quorum !== undefined && !(Number.isSafeInteger(quorum) && Number(quorum) >= 1)) {
    throw new DefinitionError(`${where}: \`quorum\` must be a whole number of at least 1.`)
  }
  const escalations = escalate === undefined ? [] : escalationsIn(escalate, where)
  if (deadline !== undefined) refuseLateEscalations(escalations, waitOf(deadline, 'deadline', where), where)
  return Object.freeze({
    ...(prompt === undefined ? {} : { prompt }),
    ...(isForm(form) ? { form: form.name } : {}),
    ...(assignTo === undefined ? {} : { assignTo: peopleIn(assignTo, 'assignTo', where) }),
    quorum: (quorum as number | undefined) ?? 1,
    onReject: onReject === undefined ? 'abort' : rejectionIn(onReject, where),
    ...(escalations.length === 0 ? {} : { escalations }),
  })
}

export function waitSettings(
  given: { readonly timeout: unknown; readonly onTimeout?: unknown; readonly schema: unknown },
  names: { readonly timeout: string; readonly schema: string },
  where: string,
): WaitSettings {
  const { timeout, onTimeout, schema } = given
  if (schema !== undefined && !isStandardSchema(schema)) {
    throw new DefinitionError(
      `${where}: \`${names.schema}\` takes a Standard Schema, as zod, valibot and arktype make them.`,
    )
  }
  if (onTimeout !== undefined && timeout === undefined) {
    throw new DefinitionError(`${where}: \`onTimeout\` says what follows a timeout, and there is none.`)
  }
  return Object.freeze({
    timeoutMs: timeout === undefined ? null : waitOf(timeout, names.timeout, where),
    onTimeout: Object.freeze(onTimeout === undefined ? [] : [timeoutRule(onTimeout, `${where}, onTimeout`)]),
    schema: (schema as StandardSchemaV1 | undefined) ?? null,
  })
}

function timeoutRule(notation: unknown, where: string) {
  const policy = typeof notation === 'function' ? (notation as PolicyFunction) : normalizePolicy(notation, where)
  return Object.freeze({ errorClass: null, policy })
}

/** None at all is said by leaving it out. */
export function waitOf(duration: unknown, name: string, where: string): number {
  const ms = definedDuration(duration, `the ${name}`, where)
  if (ms > 0) return ms
  throw new DefinitionError(`${where}: a ${name} of 0 leaves no time at all. Leave it out to wait for ever.`)
}

function rejectionIn(onReject: unknown, where: string): OnReject {
  if (onReject === 'abort' || onReject === 'rollback') return onReject
  if (typeof onReject === 'object' && onReject !== null) {
    refuseUnknownKeys(onReject, ['backTo'], `${where}, onReject`)
    const { backTo } = onReject as RawOptions
    const name = typeof backTo === 'object' && backTo !== null ? (backTo as RawOptions).name : backTo
    if (typeof name === 'string' && name !== '') return Object.freeze({ backTo: name })
  }
  throw new DefinitionError(`${where}: \`onReject\` is 'abort', 'rollback' or { backTo: the name of an earlier step }.`)
}

type Escalations = NonNullable<HumanWait['escalations']>

function escalationsIn(given: unknown, where: string): Escalations {
  const all = (Array.isArray(given) ? given : [given]) as unknown[]
  const escalations = all.map(one => {
    if (typeof one !== 'object' || one === null) {
      throw new DefinitionError(`${where}: \`escalate\` takes { after, to }, or an array of those.`)
    }
    refuseUnknownKeys(one, ['after', 'to'], `${where}, escalate`)
    const { after, to } = one as RawOptions
    return Object.freeze({
      afterMs: waitOf(after, 'time of an escalation', where),
      to: peopleIn(to, 'to', `${where}, escalate`),
    })
  })
  return Object.freeze(escalations.sort((a, b) => a.afterMs - b.afterMs))
}

/** Nobody would ever be told: the wait is over by then. */
function refuseLateEscalations(escalations: Escalations, deadlineMs: number, where: string): void {
  const late = escalations.find(({ afterMs }) => afterMs >= deadlineMs)
  if (late === undefined) return
  throw new DefinitionError(
    `${where}: the escalation after ${describeSpan(late.afterMs)} comes too late, since the deadline after ${describeSpan(deadlineMs)} ends the wait. Let it come before, or give a longer deadline.`,
  )
}

function peopleIn(given: unknown, name: string, where: string): readonly string[] {
  const people = (Array.isArray(given) ? given : [given]) as unknown[]
  if (people.length > 0 && people.every(person => typeof person === 'string' && person !== ''))
    return Object.freeze([...people]) as readonly string[]
  throw new DefinitionError(`${where}: \`${name}\` takes a name, or an array of names.`)
}
