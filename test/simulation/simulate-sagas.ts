/** Plays many random sagas on one database, and tells what people need to see of those that failed. */
import { openAccess } from '../programs/harness/plain-access.ts'
import { drawSaga, playSaga, type SagaReport } from './saga-play.ts'
import { SagaTroupe } from './saga-troupe.ts'

/** So many share an engine: to open one takes longer than to play most seeds. */
const togetherAtMost = 25

export interface SagaRounds {
  readonly url: string
  readonly seeds: readonly number[]
  /** After so many failures the rest would only say the same. */
  readonly maxFailures?: number
  onPlayed?(report: SagaReport): void
}

/** Returns those that failed. */
export async function simulateSagas({ url, seeds, maxFailures = 1, onPlayed }: SagaRounds): Promise<SagaReport[]> {
  const access = await openAccess(url)
  const failed: SagaReport[] = []
  try {
    for (let from = 0; from < seeds.length && failed.length < maxFailures; from += togetherAtMost) {
      const drawn = seeds.slice(from, from + togetherAtMost).map(drawSaga)
      let troupe = await SagaTroupe.open(url, drawn)
      for (const saga of drawn) {
        if (failed.length >= maxFailures) break
        const report = await playSaga(troupe, access, saga)
        onPlayed?.(report)
        if (report.findings.length === 0) continue
        failed.push(report)
        // What a failed one leaves behind must not disturb the next.
        await troupe.close().catch(() => {})
        troupe = await SagaTroupe.open(url, drawn)
      }
      await troupe.close()
    }
    return failed
  } finally {
    await access.close()
  }
}

export function sagaLines({ drawn, state, log, findings }: SagaReport, database: string): string[] {
  return [
    `seed ${drawn.seed}: ${JSON.stringify(drawn.plan)}`,
    ...log.map(line => `  ${line}`),
    `it is ${state}; what was wrong:`,
    ...findings.map(line => `  ${line}`),
    `again with: npm run simulate -- --sagas --seed ${drawn.seed} --database ${database}`,
  ]
}
