/** The limit beside the engine, on every database: what bare sets of claims and finishes reach in the same run. */
import { type BenchDatabase, inFreshPlace } from './databases.ts'
import { type Claims, LimitEngine } from './limit/limit-engine.ts'
import { type LimitStore, lastStep, type Rows } from './limit/limit-store.ts'
import { openMysqlLimit } from './limit/mysql-limit.ts'
import { openPostgresLimit } from './limit/postgres-limit.ts'
import { openSqliteLimit } from './limit/sqlite-limit.ts'
import type { Case, Measurement } from './workload.ts'

interface Limit {
  readonly system: string
  /** How its steps are come by. */
  readonly claims: Claims
  readonly rows: Rows
}

const limits: readonly Limit[] = [
  { system: 'limit (claims each step)', claims: 'each', rows: 'one' },
  { system: 'limit (claims each step, two rows)', claims: 'each', rows: 'two' },
  { system: 'limit (runs on)', claims: 'first', rows: 'one' },
  { system: 'limit (starts claimed)', claims: 'none', rows: 'one' },
]

async function openLimit({ kind, options }: BenchDatabase, rows: Rows): Promise<LimitStore> {
  if (kind === 'postgres') return openPostgresLimit(options.url, rows)
  if (kind === 'mysql') return openMysqlLimit(options.url, rows)
  return openSqliteLimit(options.url.slice('sqlite:'.length), options.synchronous ?? 'full', rows)
}

export interface LimitRun {
  readonly engine: LimitEngine
  /** Throws unless that many workflows have ended, with every step. */
  check(workflows: number): Promise<void>
}

/** A line of the table for each way, under the name of the case that it is compared with. */
export function limitCases(name: string, measure: (run: LimitRun, size: 'full' | 'tiny') => Promise<Measurement[]>) {
  return limits.map(
    ({ system, claims, rows }): Case => ({
      name,
      system,
      measure: (database, size) =>
        inFreshPlace(database, async place => {
          const store = await openLimit(place, rows)
          try {
            await store.prepare()
            return await measure({ engine: new LimitEngine(store, claims), check: checkOf(store) }, size)
          } finally {
            await store.close()
          }
        }),
    }),
  )
}

function checkOf(store: LimitStore): LimitRun['check'] {
  return async workflows => {
    const found = await store.ended()
    if (found.workflows === workflows && found.steps === workflows * lastStep) return
    throw new Error(`Expected ${workflows} workflows with all steps, but found ${JSON.stringify(found)}.`)
  }
}
