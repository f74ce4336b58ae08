/** Plays many random sagas on one database, and tells what people need to see of those that failed. */
import { openAccess, type PlainAccess } from '../programs/harness/plain-access.ts'
import { drawSaga, playSaga, type SagaReport } from './saga-play.ts'
import { type Drawn, SagaTroupe } from './saga-troupe.ts'

/** So many share an engine and one visit of the doctor: to open one takes longer than to play most seeds. */
const togetherAtMost = 100

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
      failed.push(...(await playTogether({ url, access, drawn, most: maxFailures - failed.length, onPlayed })))
    }
    return failed
  } finally {
    await access.close()
  }
}

interface Company {
  readonly url: string
  readonly access: PlainAccess
  readonly drawn: readonly Drawn[]
  readonly most: number
  onPlayed?: SagaRounds['onPlayed']
}

/** One after the other; then the doctor looks at all of them. */
async function playTogether({ url, access, drawn, most, onPlayed }: Company): Promise<SagaReport[]> {
  const failed: SagaReport[] = []
  const passed: SagaReport[] = []
  let troupe = await SagaTroupe.open(url, drawn)
  for (const saga of drawn) {
    if (failed.length >= most) break
    const report = await playSaga(troupe, access, saga)
    onPlayed?.(report)
    if (report.findings.length === 0) passed.push(report)
    else {
      failed.push(report)
      // What a failed one leaves behind must not disturb the next.
      await troupe.close().catch(() => {})
      troupe = await SagaTroupe.open(url, drawn)
    }
  }
  const ill = await examined(troupe, passed, drawn.length)
  await troupe.close()
  return [...failed, ...ill].slice(0, most)
}

/** Those that the doctor complains about. */
async function examined({ geneva }: SagaTroupe, reports: readonly SagaReport[], limit: number): Promise<SagaReport[]> {
  const { findings: complaints } = await geneva.doctor({ limit })
  return reports.flatMap(report => {
    const own = complaints.filter(({ workflowId }) => workflowId === report.workflowId)
    const findings = own.map(({ problem }) => `The doctor says: ${problem}`)
    return findings.length === 0 ? [] : { ...report, findings }
  })
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
