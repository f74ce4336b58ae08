/**
 * `npm run simulate`: many seeds on one database or all. Prints what a failing seed was about; the exit code is 0 only if
 * none has failed. `--seed N` plays that one alone.
 */
import { parseArgs } from 'node:util'
import { freshDatabase, type Places } from '../programs/harness/fresh-database.ts'
import { type DatabaseKind, openAccess } from '../programs/harness/plain-access.ts'
import { reportLines } from './report-lines.ts'
import type { SagaReport } from './saga-play.ts'
import { simulate } from './simulate.ts'
import { sagaLines, simulateSagas } from './simulate-sagas.ts'

const usage = `usage: npm run simulate -- [--sagas] [--seeds N] [--from N] [--seed N] [--database sqlite|postgres|mysql|all]
With --sagas: random sagas, held against what sagas promise instead of a model. Without a number: 200 seeds from a random one, on all three databases.
`
const kinds: readonly DatabaseKind[] = ['sqlite', 'postgres', 'mysql']
/** After so many failures the rest would only say the same. */
const maxFailures = 3

interface Wishes {
  readonly sagas: boolean
  readonly seeds: readonly number[]
  readonly kinds: readonly DatabaseKind[]
}

export async function simulateCommand(
  args: readonly string[],
  start: (kinds: readonly DatabaseKind[]) => Promise<Places & { stop(): Promise<void> }>,
): Promise<number> {
  const wishes = wishesFrom(args)
  if (wishes === null) {
    process.stderr.write(usage)
    return 2
  }
  const places = await start(wishes.kinds)
  let failures = 0
  try {
    const play = wishes.sagas ? playSagas : playAll
    for (const kind of wishes.kinds) failures += await play(kind, places, wishes.seeds)
  } finally {
    await places.stop()
  }
  const well = wishes.sagas ? 'the engine kept what sagas promise' : 'the engine did what the model says'
  say(failures > 0 ? `${failures} seeds failed` : well)
  return failures > 0 ? 1 : 0
}

function wishesFrom(args: readonly string[]): Wishes | null {
  try {
    const names = ['seeds', 'from', 'seed', 'database'] as const
    const options = Object.fromEntries(names.map(name => [name, { type: 'string' as const }]))
    const { values } = parseArgs({ args: [...args], options: { ...options, sagas: { type: 'boolean' } } }) as {
      values: Partial<Record<string, string | boolean>>
    }
    const number = (name: string, otherwise: number) => {
      const value = values[name]
      if (value === undefined) return otherwise
      if (!/^\d{1,9}$/.test(String(value))) throw new Error(`--${name} takes a number.`)
      return Number(value)
    }
    const database = String(values.database ?? 'all')
    const chosen = kinds.filter(kind => database === 'all' || database === kind)
    if (chosen.length === 0) throw new Error(`--database ${database} is not known.`)
    const alone = values.seed !== undefined
    const from = alone ? number('seed', 0) : number('from', Date.now() % 1_000_000)
    const count = alone ? 1 : number('seeds', 200)
    return {
      sagas: values.sagas === true,
      seeds: Array.from({ length: count }, (_, index) => from + index),
      kinds: chosen,
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    return null
  }
}

async function playAll(kind: DatabaseKind, places: Places, seeds: readonly number[]): Promise<number> {
  say(`${kind}: ${seeds.length} seeds from ${seeds[0]}`)
  const startedAt = performance.now()
  const ends = new Map<string, number>()
  let failures = 0
  let moves = 0
  let database = await freshDatabase(kind, places)
  let access = await openAccess(database.url)
  for (const [index, seed] of seeds.entries()) {
    if (failures >= maxFailures) break
    const report = await simulate({ url: database.url, access }, seed)
    const state = report.play?.model.state ?? 'not begun'
    ends.set(state, (ends.get(state) ?? 0) + 1)
    moves += report.play?.log.length ?? 0
    if ((index + 1) % 100 === 0) say(`${kind}: ${index + 1} seeds, ${Math.round(performance.now() - startedAt)} ms`)
    if (report.findings.length === 0) continue
    failures++
    for (const line of reportLines(report)) say(line)
    say(`again with: npm run simulate -- --seed ${seed} --database ${kind}`)
    // What a failed one leaves behind must not disturb the next.
    await access.close()
    await database.drop()
    database = await freshDatabase(kind, places)
    access = await openAccess(database.url)
  }
  await access.close()
  await database.drop()
  const counts = [...ends].map(([state, count]) => `${count} ${state}`).join(', ')
  say(`${kind}: ${moves} moves in ${((performance.now() - startedAt) / 1000).toFixed(1)} s; ${counts}`)
  return failures
}

async function playSagas(kind: DatabaseKind, places: Places, seeds: readonly number[]): Promise<number> {
  say(`${kind}: ${seeds.length} sagas from ${seeds[0]}`)
  const startedAt = performance.now()
  const ends = new Map<string, number>()
  let [played, moves] = [0, 0]
  const onPlayed = ({ state, log }: SagaReport) => {
    ends.set(state, (ends.get(state) ?? 0) + 1)
    moves += log.length
    if (++played % 100 === 0) say(`${kind}: ${played} sagas, ${Math.round(performance.now() - startedAt)} ms`)
  }
  const database = await freshDatabase(kind, places)
  const failed = await simulateSagas({ url: database.url, seeds, maxFailures, onPlayed })
  await database.drop()
  for (const report of failed) for (const line of sagaLines(report, kind)) say(line)
  const counts = [...ends].map(([state, count]) => `${count} ${state}`).join(', ')
  say(`${kind}: ${moves} moves in ${((performance.now() - startedAt) / 1000).toFixed(1)} s; ${counts}`)
  return failed.length
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
