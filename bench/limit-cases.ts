/** The limit beside the engine, on every database: what bare sets of claims and finishes reach in the same run. */
import { type BenchDatabase, inFreshPlace } from './databases.ts'
import { type Claims, LimitEngine } from './limit/limit-engine.ts'
import { type LimitStore, lastStep } from './limit/limit-store.ts'
import { openMysqlLimit } from './limit/mysql-limit.ts'
import { openPostgresLimit } from './limit/postgres-limit.ts'
import { openSqliteLimit } from './limit/sqlite-limit.ts'
import type { Case, Measurement } from './workload.ts'

/** What the limit is called, by how its steps are come by. */
export const limitNames: Readonly<Record<Claims, string>> = {
  each: 'limit (claims each step)',
  first: 'limit (runs on)',
  none: 'limit (starts claimed)',
}

async function openLimit({ kind, options }: BenchDatabase): Promise<LimitStore> {
  if (kind === 'postgres') return openPostgresLimit(options.url)
  if (kind === 'mysql') return openMysqlLimit(options.url)
  return openSqliteLimit(options.url.slice('sqlite:'.length), options.synchronous ?? 'full')
}

export interface LimitRun {
  readonly engine: LimitEngine
  /** Throws unless that many workflows have ended, with every step. */
  check(workflows: number): Promise<void>
}

/** A line of the table for each way, under the name of the case that it is compared with. */
export function limitCases(name: string, measure: (run: LimitRun, size: 'full' | 'tiny') => Promise<Measurement[]>) {
  return (Object.keys(limitNames) as Claims[]).map(
    (claims): Case => ({
      name,
      system: limitNames[claims],
      measure: (database, size) =>
        inFreshPlace(database, async place => {
          const store = await openLimit(place)
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
