/** Which steps of a workflow wait for somebody to settle them. */
import type { NodeReadiness } from '../engine/readiness.ts'
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
