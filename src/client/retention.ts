/**
 * How long workflows are kept after they have ended, and removing them by hand. What has not ended is never removed, and
 * neither is a part of a family.
 */
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames } from '../primitives/refuse-unknown-options.ts'
import type { PruneCall, PruneStep, RetentionAges } from '../store/housekeeping-store.ts'
import { type EndedWorkflowState, endedWorkflowStates } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { type RequestOptions, requestFrom } from './request-options.ts'

/** For all ends alike, or for each its own; a state that is not named is kept for ever. */
export type RetentionOptions = Duration | { readonly [State in EndedWorkflowState]?: Duration }

export interface PruneOptions extends RequestOptions {
  /** Only workflows that ended at least so long ago. */
  readonly olderThan: Duration
  /** Only workflows that ended so. Default: all that have ended. */
  readonly states?: EndedWorkflowState | readonly EndedWorkflowState[]
  /** Stop when so many are gone. A family that is larger goes as a whole. Default: no limit. */
  readonly limit?: number
  /** Count only. */
  readonly dryRun?: boolean
}

const knownOfPrune = optionNames<Omit<PruneOptions, keyof RequestOptions>>({
  olderThan: 0,
  states: 0,
  limit: 0,
  dryRun: 0,
})

export interface PruneReport {
  /** How many workflows were removed, or would be. */
  readonly workflows: number
  /** False when the limit was reached before everything was looked at. */
  readonly complete: boolean
}

export function retentionAges(options: RetentionOptions | undefined): RetentionAges {
  if (options === undefined) return new Map()
  const byState = typeof options === 'object' && endedWorkflowStates.some(state => state in options)
  const entries = byState
    ? Object.entries(options as object)
    : endedWorkflowStates.map((state): [string, unknown] => [state, options])
  return new Map(
    entries.map(([state, age]) => [
      checkState(state),
      toMilliseconds(age as Duration, `The retention of ${state} workflows`),
    ]),
  )
}

export async function prune(store: Store, options: PruneOptions): Promise<PruneReport> {
  const asked = requestFrom(options, knownOfPrune)
  const { olderThan, states = endedWorkflowStates, limit = Number.MAX_SAFE_INTEGER, dryRun = false } = options ?? {}
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new InvalidArgumentError(`The limit of prune must be a whole number above 0, not ${String(limit)}.`)
  }
  const olderThanMs = toMilliseconds(olderThan, '`olderThan` of prune')
  const ends = [states].flat().map(checkState)
  const call = { ages: new Map(ends.map(state => [state, olderThanMs])), dryRun }
  if (dryRun) return pruneAll(store, call, limit)
  // Recorded before the first is gone, so that nothing goes unrecorded, whatever becomes of this process.
  const detail = (removed: number | null) => JSON.stringify({ removed, olderThanMs, states: ends })
  const id = await store.requests.begin({ ...asked, action: 'workflow.prune', name: null, detail: detail(null) })
  const report = await pruneAll(store, call, limit)
  await store.requests.complete(id, report.workflows === 0 ? null : detail(report.workflows))
  return report
}

async function pruneAll(store: Store, call: Pick<PruneCall, 'ages' | 'dryRun'>, limit: number): Promise<PruneReport> {
  let workflows = 0
  let cursor: string | null = null
  do {
    const step: PruneStep = await store.housekeeping.prune({ ...call, cursor, limit: limit - workflows })
    workflows += step.pruned
    cursor = step.cursor
  } while (cursor !== null && workflows < limit)
  return { workflows, complete: cursor === null }
}

function checkState(state: unknown): EndedWorkflowState {
  const known = endedWorkflowStates.find(each => each === state)
  if (known !== undefined) return known
  throw new InvalidArgumentError(
    `Workflows cannot be removed while they are ${JSON.stringify(state)}. The states that last are ${endedWorkflowStates.join(', ')}.`,
  )
}
