/** Lists that look through a key for what fits: in stretches, until they have enough or have looked for too long. */
import { InvariantError } from '../../errors.ts'

/** So long a list may look for what fits before it returns what it has found. */
const patienceMs = 120
const quickMs = 15
const firstWindow = 1000
const lastWindow = 16_000

/** Said by a look that need not go on. */
export const enough: unique symbol = Symbol('enough')

/** Looks at one stretch after the other, larger while that is quick. Returns where to go on; `null`: nothing is left. */
export async function inWindows<Place>(
  begin: Place | null,
  look: (before: Place | null, window: number) => Promise<Place | null | typeof enough>,
): Promise<Place | null> {
  const begun = performance.now()
  let before = begin
  for (let window = firstWindow; ; ) {
    const since = performance.now()
    const next = await look(before, window)
    if (next === enough || next === null) return null
    before = next
    const now = performance.now()
    if (now - begun > patienceMs) return before
    if (now - since < quickMs) window = Math.min(window * 4, lastWindow)
  }
}

/** Where a look down the ids goes on. One that did not get below where it began would never end, and say nothing of it. */
export function lower(next: string | null, before: string | null | undefined): string | null {
  if (next === null || before == null || isBelow(next, before)) return next
  throw new InvariantError(`A look at the workflows before ${before} goes on before ${next}, which is not below it.`)
}

/** Ids are numbers, or all as long as each other. */
function isBelow(id: string, other: string): boolean {
  return id.length === other.length ? id < other : id.length < other.length
}
