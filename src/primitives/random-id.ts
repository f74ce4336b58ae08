/** Random names for workers, leases and tokens. They carry no time and no order; `uuidV7` is for ids of rows. */
import { randomBytes } from 'node:crypto'
import { invariant } from './invariant.ts'

/**
 * Returns that many unguessable bytes in lower-case hex: safe on a command line, and distinct even where a database
 * compares text without regard to case.
 */
export function randomId(bytes = 16): string {
  invariant(Number.isInteger(bytes) && bytes > 0, `A random id of ${bytes} bytes was asked for.`)
  return randomBytes(bytes).toString('hex')
}
