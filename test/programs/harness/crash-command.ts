/**
 * `npm run crash`: the promises about crashes, proved at length on durable servers. Prints its progress and a table, and
 * what it found wrong; the exit code is 0 only if that is nothing.
 */
import { parseArgs } from 'node:util'
import { exactlyOnceRun, onceKills } from './exactly-once-run.ts'
import { type FanInReport, fanInRun } from './fan-in-run.ts'
import { cycleOf, wavesOf, wide } from './fan-in-waves.ts'
import { type FreshDatabase, freshDatabase, type Places } from './fresh-database.ts'
import { type KillReport, type KillRunOptions, killRun } from './kill-run.ts'
import { migrateRun } from './migrate-run.ts'
import type { DatabaseKind } from './plain-access.ts'
import { type StopReport, stopRun } from './stop-run.ts'
import { tickRun } from './tick-run.ts'

const usage = `usage: npm run crash -- [--kills N] [--stops N] [--migrators N] [--ticks N] [--fan-ins N]
  [--exactly-once --kills N] [--database sqlite|postgres|mysql|all] [--seed S]
With --exactly-once the kills hit transactional steps, and nothing else is run.
Without a number of anything: 200 kills, 50 stops, 50 migrators, 1000 ticks, 500 fan-ins, on all three databases.
`
const kinds: readonly DatabaseKind[] = ['sqlite', 'postgres', 'mysql']

/** How soon the work of a killed worker must be taken over at the default settings. */
export const retakeLimitMs = 15_000

interface Wishes {
  readonly kills: number
  readonly stops: number
  readonly migrators: number
  readonly ticks: number
  readonly fanIns: number
  /** How many kills of processes that run transactional steps. */
  readonly exactlyOnce: number
  readonly kinds: readonly DatabaseKind[]
  readonly seed: number
}

type Line = readonly [what: string, value: string]

export async function crashCommand(
  args: readonly string[],
  start: (kinds: readonly DatabaseKind[]) => Promise<Places & { stop(): Promise<void> }>,
): Promise<number> {
  const wishes = wishesFrom(args)
  if (wishes === null) {
    process.stderr.write(usage)
    return 2
  }
  say(`seed ${wishes.seed}; again with: npm run crash -- ${[...args, ...seedArgument(args, wishes.seed)].join(' ')}`)
  const places = await start(wishes.kinds)
  let failed = false
  try {
    for (const kind of wishes.kinds) {
      const findings = await runOn(kind, places, wishes)
      for (const finding of findings.slice(0, 30)) say(`${kind}: WRONG: ${finding}`)
      if (findings.length > 30) say(`${kind}: and ${findings.length - 30} more`)
      failed ||= findings.length > 0
    }
  } finally {
    await places.stop()
  }
  say(failed ? 'failed' : 'all promises held')
  return failed ? 1 : 0
}

function wishesFrom(args: readonly string[]): Wishes | null {
  try {
    const counts = ['kills', 'stops', 'migrators', 'ticks', 'fan-ins']
    const options = Object.fromEntries([...counts, 'seed', 'database'].map(name => [name, { type: 'string' as const }]))
    const once = args.includes('--exactly-once')
    const { values } = parseArgs({ args: args.filter(arg => arg !== '--exactly-once'), options })
    const number = (name: string, otherwise: number) => {
      const value = values[name]
      if (value === undefined) return otherwise
      if (!/^\d{1,9}$/.test(String(value))) throw new Error(`--${name} takes a number.`)
      return Number(value)
    }
    const all = !once && counts.every(name => values[name] === undefined)
    const database = String(values.database ?? 'all')
    const chosen = kinds.filter(kind => database === 'all' || database === kind)
    if (chosen.length === 0) throw new Error(`--database ${database} is not known.`)
    return {
      kills: once ? 0 : number('kills', all ? 200 : 0),
      exactlyOnce: once ? number('kills', 200) : 0,
      stops: number('stops', all ? 50 : 0),
      migrators: number('migrators', all ? 50 : 0),
      ticks: number('ticks', all ? 1000 : 0),
      fanIns: number('fan-ins', all ? 500 : 0),
      seed: number('seed', Date.now() % 1_000_000),
      kinds: chosen,
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    return null
  }
}

function seedArgument(args: readonly string[], seed: number): string[] {
  return args.some(arg => arg.startsWith('--seed')) ? [] : ['--seed', String(seed)]
}

async function runOn(kind: DatabaseKind, places: Places, wishes: Wishes): Promise<string[]> {
  const findings: string[] = []
  const onFresh = async (run: (database: FreshDatabase) => Promise<readonly string[]>) => {
    const database = await freshDatabase(kind, places)
    findings.push(...(await run(database).catch(error => [String(error?.stack ?? error)])))
    await database.drop()
  }
  if (wishes.kills > 0) {
    await onFresh(({ url }) => killQuickly(kind, url, wishes))
    await onFresh(({ url }) => killByDefault(kind, url, wishes.seed))
  }
  if (wishes.exactlyOnce > 0) await onFresh(({ url }) => killTransactions(kind, url, wishes))
  if (wishes.stops > 0) await onFresh(({ url }) => stopWorkers(kind, url, wishes.stops))
  if (wishes.ticks > 0) await onFresh(({ url }) => killSchedulers(kind, url, wishes))
  if (wishes.migrators > 0) {
    await onFresh(async ({ url }) => {
      const wrong = await migrateRun(url, wishes.migrators)
      say(`${kind}: ${wishes.migrators} processes migrated an empty database at once`)
      return wrong
    })
  }
  if (wishes.fanIns > 0) {
    await onFresh(({ url }) => fanIn(kind, url, wishes))
    await onFresh(({ url }) => fanInUnderKills(kind, url, wishes))
  }
  return findings
}

/** Short leases, so that many kills fit into little time. */
export const quickKills: Omit<KillRunOptions, 'url' | 'kills' | 'seed' | 'say'> = {
  atFailpoints: true,
  victims: 'random',
  workers: 3,
  options: { lease: 1000, poll: 50, concurrency: 10 },
  bodyMs: [5, 40],
  load: 150,
  betweenMs: [100, 600],
}

async function killQuickly(kind: DatabaseKind, url: string, { kills, seed }: Wishes): Promise<readonly string[]> {
  const report = await killRun({ ...quickKills, url, kills, seed, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: kills with a lease of one second`, killLines(report))
  return report.findings
}

/** Transactional steps that count in a table of the application, which the kills must not make them do twice or never. */
async function killTransactions(kind: DatabaseKind, url: string, wishes: Wishes): Promise<readonly string[]> {
  const { exactlyOnce: kills, seed } = wishes
  const report = await exactlyOnceRun({ ...onceKills, url, kills, seed, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: transactional steps under kills`, [
    ['kills', `${report.deaths.length}, of which ${report.hits} hit work under way`],
    ['attempts taken over from the dead', `${report.recovered}`],
    ['workflows finished', `${report.workflows}`],
    ['steps and items, each counted once', `${report.counted}`],
    ['failed attempts, counted never', `${report.failed}`],
    ['seconds', `${report.seconds}`],
  ])
  return report.findings
}

/** Nothing but the defaults, to see how long the work of the dead lies about. */
export const defaultKills: Omit<KillRunOptions, 'url' | 'seed' | 'say'> = {
  kills: 3,
  atFailpoints: false,
  victims: 'busy',
  workers: 3,
  options: {},
  bodyMs: [20, 60],
  load: 100,
  betweenMs: [300, 900],
}

async function killByDefault(kind: DatabaseKind, url: string, seed: number): Promise<readonly string[]> {
  const report = await killRun({ ...defaultKills, url, seed, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: kills at the default settings`, killLines(report))
  return [...report.findings, ...lateRetakes(report)]
}

export function lateRetakes({ retakes }: KillReport): string[] {
  const took = retakes.map(({ death, claimedMs, calledMs }) => ({ death, ms: calledMs ?? claimedMs }))
  const late = took.filter(({ ms }) => ms > retakeLimitMs)
  return late.map(({ death, ms }) => `The work of process ${death.pid} was taken over only after ${ms} ms.`)
}

async function stopWorkers(kind: DatabaseKind, url: string, rounds: number): Promise<readonly string[]> {
  const report: StopReport = await stopRun({ url, rounds, leaseMs: 500, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: workers stopped past their lease`, [
    ['stops, late results refused', `${report.rounds}`],
    ['done elsewhere after', spread(report.retakenMs)],
    ['stops that held the lock of the file', `${report.blocked}`],
    ['stops that came too late', `${report.missed}`],
  ])
  return report.findings
}

async function killSchedulers(kind: DatabaseKind, url: string, { ticks, seed }: Wishes): Promise<readonly string[]> {
  const options = { url, ticks, seed, everyMs: 25, workers: 8, betweenMs: [50, 400] } as const
  const report = await tickRun({ ...options, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: schedulers killed and restarted`, [
    ['ticks, each started once', `${report.ticks}`],
    ['kills', `${report.deaths.length}`],
    ['late by', spread(report.lateMs)],
    ['errors of workers', errorList(report.workerErrors)],
    ['seconds', `${report.seconds}`],
  ])
  return report.findings
}

/** Diamonds and every width up to 1,000, whose parents end at the same instant in three processes. */
async function fanIn(kind: DatabaseKind, url: string, { fanIns, seed }: Wishes): Promise<readonly string[]> {
  const waves = wavesOf(cycleOf(fanIns))
  const report = await fanInRun({ url, waves, kills: false, seed, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: fan-ins whose parents end at the same instant`, fanInLines(report))
  return report.findings
}

/** A tenth as many waves, in each of which one of the processes is killed. */
async function fanInUnderKills(kind: DatabaseKind, url: string, { fanIns, seed }: Wishes): Promise<readonly string[]> {
  const wave = [2, 3, 5, 10, 50, 200].map(width => wide(width, true))
  const waves = Array.from({ length: Math.ceil(fanIns / 10) }, () => wave)
  const report = await fanInRun({ url, waves, kills: true, seed, say: line => say(`${kind}: ${line}`) })
  printTable(`${kind}: fan-ins under kills`, fanInLines(report))
  return report.findings
}

function fanInLines(report: FanInReport): Line[] {
  const { deaths, hits, taken } = report
  return [
    ['fan-ins', `${report.fanIns}, of which ${report.split} with parents in several processes`],
    ['parents', `${report.parents}`],
    ['calls', `${report.calls}`],
    ['from the first parent to the last', spread(report.spreadMs)],
    ['kills', `${deaths.length}, of which ${hits} hit work under way; ${taken} attempts taken over`],
    ['seconds', `${report.seconds}`],
  ]
}

function killLines(report: KillReport): Line[] {
  const { deaths, retakes } = report
  const atFailpoints = deaths.filter(death => death.cause !== 'random')
  const names = [...new Set(atFailpoints.map(death => death.cause))]
  return [
    ['kills', `${deaths.length}, of which ${atFailpoints.length} at ${names.length} failpoints`],
    ['kills that hit work under way', `${report.hits}`],
    ['workflows finished', `${report.workflows}`],
    ['steps called', `${report.calls}`],
    ['steps taken over from the dead', `${retakes.length}`],
    ['noticed after', spread(retakes.map(retake => retake.noticedMs))],
    ['claimed again after', spread(retakes.map(retake => retake.claimedMs))],
    ['called again after', spread(retakes.flatMap(retake => retake.calledMs ?? []))],
    ['given up after three crashes', `${report.parked}`],
    ['taken over from the living', `${report.needless}`],
    ['errors of workers', errorList(report.workerErrors)],
    ['seconds', `${report.seconds}`],
  ]
}

function errorList(errors: ReadonlyMap<string, number>): string {
  return [...errors].map(([error, count]) => `${count} x ${error}`).join('; ') || 'none'
}

function spread(ms: readonly number[]): string {
  const sorted = [...ms].sort((a, b) => a - b)
  if (sorted.length === 0) return 'never'
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
  return `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${sorted.at(-1)} ms`
}

function printTable(title: string, lines: readonly Line[]): void {
  say(title)
  for (const [what, value] of lines) say(`  ${what.padEnd(36)} ${value}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
