/** What people and other systems tell a workflow: decisions and signals, checked before anything is written. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { OneDecision } from '../definition/decision.ts'
import { checkKey } from '../engine/check-key.ts'
import type { Engine } from '../engine/engine.ts'
import { fitting, givenTo } from '../engine/message-reader.ts'
import { AlreadyDecidedError, InvalidArgumentError } from '../errors.ts'
import { decodeValue, encodeValue } from '../primitives/json-codec.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { sanitizeText } from '../primitives/sanitize-text.ts'
import { toDate } from '../primitives/to-date.ts'
import type { DecisionRecord, WorkflowRecord } from '../store/records.ts'
import { type RequestOptions, requestFrom } from './request-options.ts'

export interface DecideOptions<Data = unknown> {
  readonly decision: 'confirmed' | 'rejected'
  /** Who decides. One decision per person. */
  readonly by: string
  readonly comment?: string
  /** Checked by the form of the step, where this process has it; the step checks it again. */
  readonly data?: Data
}

export interface SignalOptions extends RequestOptions {
  /** A second signal with the same key changes nothing: for senders that try again. */
  readonly key?: string
}

/** A decision as it was recorded. */
export interface RecordedDecision extends OneDecision {
  readonly step: string
  readonly executionId: string
}

const maxBytes = 1024 * 1024
const maxComment = 10_000
const knownOfDecision = optionNames<DecideOptions>({ decision: 0, by: 0, comment: 0, data: 0 })

/** As the engine takes it. */
type Decided = Parameters<Engine['decide']>[2]

export async function decide(engine: Engine, id: string, step: string, options: DecideOptions): Promise<void> {
  await engine.decide(id, checkKey(step, 'The step'), await decisionFrom(engine, { id, step }, options))
}

async function decisionFrom(
  engine: Engine,
  { id, step }: { readonly id: string; readonly step: string },
  options: DecideOptions,
): Promise<Decided> {
  refuseUnknownOptions('decide', options ?? {}, knownOfDecision)
  const { decision, by, comment, data } = options ?? {}
  if (decision !== 'confirmed' && decision !== 'rejected') {
    throw new InvalidArgumentError(`A decision is 'confirmed' or 'rejected', not ${JSON.stringify(decision)}.`)
  }
  const who = checkKey(by, '`by` of a decision')
  const what = `The data of the decision on step ${step}`
  // Who says no need not fill in a form.
  const given = decision === 'rejected' ? data : await checked(engine, { id, step, kind: 'decision' }, data)
  return {
    decision,
    by: who,
    comment: comment === undefined ? null : sanitizeText(textOf(comment), maxComment),
    data: encodeValue(given, { what, maxBytes }),
  }
}

export async function signal(
  engine: Engine,
  id: string,
  step: string,
  { payload, options }: { readonly payload: unknown; readonly options: SignalOptions },
): Promise<void> {
  const request = requestFrom(options, ['key'])
  const { key } = options
  const given = await checked(engine, { id, step, kind: 'signal' }, payload)
  await engine.signal(id, checkKey(step, 'The signal'), {
    payload: encodeValue(given, { what: `The payload of signal ${step}`, maxBytes }),
    ...request,
    key: key === undefined ? null : checkKey(key, 'The key of a signal'),
  })
}

/** The untyped form, for inboxes: by the id of the execution that waits. */
export async function decideOn(engine: Engine, executionId: string, options: DecideOptions): Promise<void> {
  const found = engine.store.isId(executionId) ? await engine.store.findActive(executionId) : null
  if (found === null) {
    // Somebody else was quicker, and what follows from it may have ended the execution.
    const [made] = engine.store.isId(executionId) ? await engine.store.decisions({ executionId }) : []
    if (made) throw new AlreadyDecidedError(made.workflowId, `Step ${made.node} has been decided already.`)
    throw new InvalidArgumentError(
      `There is no execution ${executionId} that waits for a decision. It may have been decided on, or was canceled.`,
    )
  }
  const { workflowId: id, node: step } = found
  await engine.decide(id, step, { ...(await decisionFrom(engine, { id, step }, options)), on: executionId })
}

export function recorded(record: DecisionRecord): RecordedDecision {
  const { decision, by, comment, node, executionId } = record
  return { step: node, executionId, decision, by, comment, data: decodeValue(record.data), at: toDate(record.at) }
}

interface Place {
  readonly id: string
  readonly step: string
  readonly kind: 'decision' | 'signal'
}

/** By the schema of the step, if this process has it. What the schema makes of it is for the step to see. */
async function checked(engine: Engine, { id, step, kind }: Place, value: unknown): Promise<unknown> {
  const workflow = await engine.find(id)
  const schema = schemaOf(engine, workflow.type, step) ?? (await formOf(engine, workflow, step))
  const what = givenTo({ kind, step, type: workflow.type, workflowId: workflow.id })
  await fitting(schema, value, what, 'Nothing was recorded.')
  return value
}

function schemaOf(engine: Engine, type: string, step: string): StandardSchemaV1 | null {
  const definition = engine.courses.findDefinition(type)
  return definition?.nodes.find(node => node.name === step)?.waitsFor?.schema ?? null
}

/** Of a stored graph, which has the name of a form. */
async function formOf(engine: Engine, workflow: WorkflowRecord, step: string): Promise<StandardSchemaV1 | null> {
  const course = workflow.frozen === null ? undefined : (await engine.courses.of([workflow])).get(workflow.id)
  const node = course?.frozen?.nodes[course.graph.idOf(step)]
  const form = node?.human?.form ?? node?.payload
  return form === undefined ? null : engine.forms.find(form)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  throw new InvalidArgumentError(`\`by\` and \`comment\` must be texts, not ${typeof value}.`)
}
