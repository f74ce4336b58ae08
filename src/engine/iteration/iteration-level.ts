/**
 * What a loop needs of the level that it runs on: where to begin, and someone who is told of every item.
 */
import type { Iteration } from '../../definition/iteration.ts'

export interface IterationLevel<Cursor> {
  /** Where to go on; `null` at the start. */
  readonly cursor: Cursor | null
  /** A loop begins. Refused while another one is under way, because they would share one cursor. */
  enter(): void
  /** The loop is over, in whatever way. An item that was handed out and is not done stays undone. */
  leave(): void
  /** An item is about to be handed out. Behind it, and the records that it stands for, the cursor will be this. */
  begin(cursor: Cursor, count?: number): void
  /** The item is done. */
  done(): Promise<void>
  /** Past a group of items that were counted one by one. */
  moveOn(cursor: Cursor): Promise<void>
  /** An iteration one level further in, whose cursor is a part of this one's. */
  inner<Inner>(cursor: Inner | null, whole: (cursor: Inner) => Cursor): Iteration<Inner>
}
