/**
 * Time-ordered ids (RFC 9562, version 7), so that new rows go to the end of an index. Order is promised only among the
 * ids of one process; between processes they are unique, and ordered as well as their clocks agree.
 */
import { randomUUID } from 'node:crypto'
import { invariant } from './invariant.ts'

const maxTime = 2 ** 48 - 1
const maxCounter = 0xfff

let lastMs = -1
let counter = 0

/**
 * Returns an id greater than every id this process made before, also when the clock stands still or goes back: then
 * the last time is kept and the 12 bits after it count up.
 */
export function uuidV7(nowMs: number = Date.now()): string {
  invariant(nowMs >= 0 && nowMs <= maxTime, `The time ${nowMs} does not fit into a UUID.`)
  const random = randomUUID()
  advance(Math.floor(nowMs), Number.parseInt(random.slice(15, 18), 16))
  const time = lastMs.toString(16).padStart(12, '0')
  const count = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${random.slice(19)}`
}

/** A new millisecond starts its count in the lower half, which leaves room for at least 2048 ids before time is borrowed. */
function advance(nowMs: number, random: number): void {
  if (nowMs <= lastMs && counter < maxCounter) {
    counter += 1
    return
  }
  lastMs = Math.max(nowMs, lastMs + 1)
  counter = random >> 1
}
