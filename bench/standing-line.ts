/**
 * What stood in line at any moment, by those who put it there and those who took it: what was started, less what claims have
 * come back with. So each claim can be judged by whether there was work when it began, without asking the database meanwhile.
 */
import type { Claim } from './claim-count.ts'

interface Change {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly count: number
}

export class StandingLine {
  readonly #put: Change[] = []

  /** So many stand there from now on: they are committed. */
  put(count: number, at: number = performance.timeOrigin + performance.now()): void {
    this.#put.push({ at, count })
  }

  /**
   * Of the claims of all workers, those that began while something stood there. What somebody else was just taking did: whoever
   * looked for that in vain had to look, too.
   */
  claimsMeanwhile(claims: readonly Claim[]): Claim[] {
    const taken = claims.map(({ at, found }) => ({ at, count: -found }))
    const changes = [...this.#put, ...taken].toSorted((a, b) => a.at - b.at)
    const meanwhile: Claim[] = []
    let standing = 0
    let next = 0
    for (const claim of claims.toSorted((a, b) => begunAt(a) - begunAt(b))) {
      for (; (changes[next]?.at ?? Number.POSITIVE_INFINITY) <= begunAt(claim); next++) {
        standing += changes[next]?.count ?? 0
      }
      if (standing > 0) meanwhile.push(claim)
    }
    return meanwhile
  }
}

export function begunAt({ at, ms }: Claim): number {
  return at - ms
}
