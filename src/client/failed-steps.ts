/** Which steps of a workflow wait for somebody to settle them, and a request to each of them. */
import type { NodeReadiness } from '../engine/readiness.ts'
import { isGenevaError } from '../errors.ts'
import type { LetterRecord } from '../store/records.ts'

/** By the ids of their nodes: those that have failed, and those that were given up, whose next attempt waits behind a letter. */
export function failedSteps(
  nodes: readonly NodeReadiness[],
  openLetters: readonly Pick<LetterRecord, 'node' | 'kind'>[],
): string[] {
  const failed = nodes.filter(({ reasons }) => reasons.some(({ kind }) => kind === 'failed')).map(({ id }) => id)
  const givenUp = openLetters.filter(({ kind }) => kind === 'forward').map(({ node }) => node)
  return [...new Set([...failed, ...givenUp])]
}

/**
 * Asks each of them in turn. Once one is settled a join may go on without the others, which then refuse: that is no matter. `look`
 * tells which are left. Throws what a step says that refuses and is among those, and where all refuse.
 */
export async function settleEach(
  steps: readonly string[],
  act: (step: string) => Promise<void>,
  look: () => Promise<readonly string[]>,
): Promise<void> {
  let settled = 0
  for (const [index, step] of steps.entries()) {
    try {
      await act(step)
      settled++
    } catch (error) {
      const isLast = index === steps.length - 1
      const isOver = isGenevaError(error, 'INVALID_STATE') && (settled > 0 || !isLast) && !(await look()).includes(step)
      if (!isOver) throw error
    }
  }
}
