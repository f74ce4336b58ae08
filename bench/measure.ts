/**
 * Runs the cases of a workload in turns, so that a busy moment does not hit one of them only, and gathers what they measured.
 * Ours must work. What fails of others is noted with its error and not tried again, and what it did before counts for nothing: a
 * number of fewer runs would be compared with those of all.
 */
import { ourSystem } from './bars.ts'
import type { BenchDatabase } from './databases.ts'
import { type Result, resultOf } from './report.ts'
import type { Case, Limits, Measurement, Size } from './workload.ts'

export interface Failure {
  readonly workload: string
  readonly system: string
  readonly database: string
  readonly case: string
  readonly error: string
}

export interface Plan {
  readonly workload: string
  readonly cases: readonly Case[]
  readonly databases: readonly BenchDatabase[]
  readonly runs: number
  readonly size: Size
  readonly limits: Limits
}

interface Gathered {
  readonly turn: Turn
  readonly head: Parameters<typeof resultOf>[0]
  readonly values: number[]
}

interface Turn {
  readonly each: Case
  readonly database: BenchDatabase
  readonly head: Pick<Result, 'system' | 'database' | 'case'>
}

export async function measureAll(plan: Plan): Promise<{ results: Result[]; failures: Failure[] }> {
  const failures: Failure[] = []
  const gathered = new Map<string, Gathered>()
  const note = (turn: Turn, { what, value, unit }: Measurement) => {
    const { head, each } = turn
    const name = what === undefined ? each.name : `${each.name}: ${what}`
    const key = JSON.stringify([head.system, head.database, name])
    const known = gathered.get(key) ?? {
      turn,
      head: { ...head, workload: plan.workload, case: name, unit },
      values: [],
    }
    known.values.push(value)
    gathered.set(key, known)
  }
  let turns = turnsOf(plan)
  const attempt = async (turn: Turn, size: Size): Promise<readonly Measurement[]> => {
    try {
      return await turn.each.measure(turn.database, size, plan.limits)
    } catch (error) {
      if (turn.head.system === ourSystem) throw error
      failures.push({
        ...turn.head,
        workload: plan.workload,
        error: error instanceof Error ? error.message : String(error),
      })
      turns = turns.filter(other => other !== turn)
      return []
    }
  }
  if (plan.size !== 'tiny') for (const turn of turns) await attempt(turn, 'tiny')
  for (let run = 1; run <= plan.runs; run++) {
    for (const turn of turns) {
      const { system, database } = turn.head
      process.stderr.write(`run ${run} of ${plan.runs}: ${turn.each.name}: ${system} on ${database}\n`)
      for (const measurement of await attempt(turn, plan.size)) note(turn, measurement)
    }
  }
  const whole = [...gathered.values()].filter(({ turn }) => turns.includes(turn))
  return { results: whole.map(({ head, values }) => resultOf(head, values)), failures }
}

/** Whatever is compared comes one after another: what has one name, on all databases and by all systems. */
function turnsOf({ cases, databases }: Plan): Turn[] {
  const names = [...new Set(cases.map(({ name }) => name))]
  const ordered = names.flatMap(name => cases.filter(each => each.name === name))
  return ordered.flatMap(each =>
    databases
      .filter(
        (database, index) => each.on === undefined || (each.on === null ? index === 0 : each.on === database.name),
      )
      .map(database => ({
        each,
        database,
        head: { system: each.system ?? ourSystem, database: each.database ?? database.name, case: each.name },
      })),
  )
}
