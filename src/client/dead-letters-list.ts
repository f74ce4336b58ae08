/** Dead letters as people see them: work that was given up, with why, and what became of it. */
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { typesOf } from '../engine/courses.ts'
import { givenIn } from '../engine/stored-input.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { ErrorRecord } from '../primitives/describe-error.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { toDate, toOptionalDate } from '../primitives/to-date.ts'
import type { LetterReason, LetterRecord, LetterState } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { RequestOptions } from './request-options.ts'

export interface DeadLetter {
  readonly id: string
  readonly workflowId: string
  /** The stored name of the class; empty for a graph that was built at run time. */
  readonly workflowType: string
  readonly executionId: string
  /** What people call the step. */
  readonly step: string
  /** The id of its node: the same as the name, but in graphs that were built at run time. */
  readonly node: string
  /** What was given up: the step itself, or the compensation that undoes it, whose attempts are counted apart. */
  readonly kind: 'forward' | 'compensate'
  readonly attempt: number
  readonly reason: LetterReason
  readonly error: ErrorRecord | null
  readonly state: LetterState
  readonly createdAt: Date
  readonly handledAt: Date | null
  readonly handledBy: string | null
  readonly handledReason: string | null
}

/** One letter that was asked for by its id. */
export interface DeadLetterDetail extends DeadLetter {
  /**
   * What its execution worked on: the item of an `each` node, or what it was requeued with; `undefined` where that was what its
   * workflow or its node says, and for compensations.
   */
  readonly input: unknown
}

export interface DeadLetterOptions {
  /** Default: `open`. */
  readonly state?: LetterState | 'all'
  readonly workflowId?: string
  /** By its name, or the id of its node. */
  readonly step?: string
  readonly reason?: LetterReason
  /** How many at most, 1 to 1,000. Default 100. */
  readonly limit?: number
  /** Letters older than this one: the last of the page before. */
  readonly before?: string
}

export interface DiscardOptions extends RequestOptions {
  /**
   * What becomes of the workflow: it is canceled (the default), rolled back to its save point, aborted, or goes on without
   * the step. The letter of a compensation is only closed, whatever this says.
   */
  readonly then?: 'cancel' | 'skip' | 'rollback' | 'abort'
}

const maxLimit = 1000
const known = optionNames<DeadLetterOptions>({ state: 0, workflowId: 0, step: 0, reason: 0, limit: 0, before: 0 })

/** Newest first. */
export async function listDeadLetters(
  store: Store,
  definition: WorkflowDefinition | null,
  options: DeadLetterOptions = {},
): Promise<DeadLetter[]> {
  refuseUnknownOptions('deadLetters', options, known)
  const { state = 'open', workflowId, step, reason, limit = 100, before } = options
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit) {
    throw new InvalidArgumentError(`The limit of dead letters must be a whole number from 1 to ${maxLimit}.`)
  }
  for (const id of [workflowId, before]) {
    if (id !== undefined && !store.isId(id)) throw new InvalidArgumentError(`${JSON.stringify(id)} is no id.`)
  }
  const letters = await store.listLetters({
    limit,
    ...(state === 'all' ? {} : { state }),
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(step === undefined ? {} : { node: step }),
    ...(reason === undefined ? {} : { reason }),
    ...(before === undefined ? {} : { before }),
    ...(definition === null ? {} : { types: typesOf(definition) }),
  })
  return letters.map(deadLetterFrom)
}

export async function deadLetterDetail(store: Store, letter: LetterRecord): Promise<DeadLetterDetail> {
  const ended = await store.findEnded(letter.executionId)
  return { ...deadLetterFrom(letter), input: decodeValue(givenIn(ended?.input ?? null)) }
}

function deadLetterFrom({ node, nodeName, kind, ...letter }: LetterRecord): DeadLetter {
  return {
    ...letter,
    step: nodeName ?? node,
    node,
    kind: kind === 'compensate' ? kind : 'forward',
    createdAt: toDate(letter.createdAt),
    handledAt: toOptionalDate(letter.handledAt),
  }
}
