/**
 * How far a resumable step has come, as people want to know it. All times are the database's.
 */
import { decodeValue } from '../primitives/json-codec.ts'
import type { ActiveExecution, EndedExecution } from '../store/records.ts'

export interface StepProgress {
  /** Items done, over all attempts since the start or since the step was rewound. */
  readonly completed: number
  /** How many there are, if the step has said so with `iter.progress({ total })`. */
  readonly total: number | null
  /** Items per second of this attempt, from its start to now or to its end. `null` where nothing can be said yet. */
  readonly perSecond: number | null
  /** How long the rest will take at this rate. `null` without a total, and when the step does not run. */
  readonly remainingMs: number | null
  /** Where the step goes on; `null` before the first item. */
  readonly cursor: unknown
}

type Row = ActiveExecution | EndedExecution

export function progressOf(row: Row, before: Row | null, now: number | null): StepProgress {
  const { completedIterations: completed, total, cursor } = row.progress
  const isOver = 'endedAt' in row
  const until = isOver ? row.endedAt : row.state === 'paused' ? null : now
  const perSecond = rate(row, completed - takenOver(row, before), until)
  const left = total === null ? null : Math.max(0, total - completed)
  return {
    completed,
    total,
    perSecond,
    remainingMs: isOver || left === null || perSecond === null ? null : Math.ceil((left / perSecond) * 1000),
    cursor: decoded(cursor),
  }
}

function rate(row: Row, done: number, until: number | null): number | null {
  if (row.startedAt === null || until === null || done <= 0) return null
  return done / (Math.max(1, until - row.startedAt) / 1_000_000)
}

/** What this attempt found done when it began. A step that was rewound begins its count of runs anew as well. */
function takenOver({ progress }: Row, before: Row | null): number {
  if (before === null || progress.runs <= before.progress.runs) return 0
  const { completedIterations } = before.progress
  return completedIterations <= progress.completedIterations ? completedIterations : 0
}

/** A cursor that this runtime has no type for is shown as it is stored. */
function decoded(cursor: string | null): unknown {
  if (cursor === null) return null
  try {
    return decodeValue(cursor)
  } catch {
    return cursor
  }
}
