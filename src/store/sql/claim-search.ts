/** What the parts of a claim under limits share: the request, what there is room for, and what has begun lately. */

import type { StartLog } from '../start-log.ts'
import type { ClaimLimits, ClaimRequest, ClaimSource } from '../store.ts'
import type { ClaimBudget, Standing } from './claim-budget.ts'
import type { SqlContext } from './context.ts'
import type { Executor } from './dialect.ts'

export type LimitedRequest = ClaimRequest & { readonly limited: ClaimLimits }

export interface Search {
  readonly context: SqlContext
  readonly executor: Executor
  readonly request: LimitedRequest
  readonly budget: ClaimBudget
  readonly logs: LaneLogs
  /** How far the lanes of each source were looked through: up to this one, or `null`, to the end. */
  readonly cameTo: Map<ClaimSource, string | null>
}

export function standingOf(request: LimitedRequest, row: { queue: string; handler: string; lane: string }): Standing {
  const className = request.limited.classes.get(row.handler) ?? null
  return { queue: row.queue, className, lane: row.lane }
}

/** A line in which something is due, and how many of it may begin. */
export type LaneLine = { readonly source: ClaimSource; readonly lane: string; readonly most: number }

/** What has begun in each lane lately, where that is counted. */
export class LaneLogs {
  readonly #logs = new Map<string, StartLog>()

  note(className: string, lane: string, log: StartLog): void {
    this.#logs.set(JSON.stringify([className, lane]), log)
  }

  of(className: string, lane: string): StartLog {
    return this.#logs.get(JSON.stringify([className, lane])) ?? []
  }
}
