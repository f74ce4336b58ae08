/**
 * What the results are worth: our number against that of each other system in the same run, with the bar that was set for it
 * and whether it is met. What nobody asked for is left out; what was asked for and failed is told, and no bar is met without it.
 */
import type { Failure } from './measure.ts'
import type { Result } from './report.ts'

export const ourSystem = 'geneva-drive'

export interface Comparison {
  readonly what: string
  /** Ours divided by theirs; ours alone where nothing is divided; `null` where theirs was not measured. */
  readonly value: number | null
  readonly unit: string
  /** `at least 10`; `null` where no bar was set. */
  readonly bar: string | null
  readonly met: boolean | null
  /** Others that the bar is about and that were not measured: it may be missed against those that were, but never met. */
  readonly missing?: readonly string[]
}

interface Line {
  readonly case: string
  readonly database: string
  readonly system: string
}

interface Bar {
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
}

interface Rule extends Bar {
  readonly ours: Line
  /** The best of these is taken. Nothing: the number stands for itself. */
  readonly theirs: readonly Line[]
  /** The worst run counts, not the one in the middle. */
  readonly never?: true
}

const runsOn = 'limit (runs on)'
const claimsEach = 'limit (claims each step)'
const twoRows = 'limit (claims each step, two rows)'
const many = '2,000 workflows'
const p50 = 'same process: p50'
const fan = '1,000 wide'

function line(name: string, database: string, system: string = ourSystem): Line {
  return { case: name, database, system }
}

const inPostgres = ['DBOS', 'pg-boss', 'pg-boss, hand-batched', 'graphile-worker', 'openworkflow']
const peers = [
  ...inPostgres.map(system => ({ system, database: 'postgres' })),
  { system: 'Restate', database: 'restate' },
  { system: 'BullMQ', database: 'redis' },
]

function alone(name: string, databases: readonly string[], bar: Omit<Rule, 'ours' | 'theirs'>): Rule[] {
  return databases.map(database => ({ ours: line(name, database), theirs: [], ...bar }))
}

const servers = ['postgres', 'mysql']
const all = ['sqlite', 'sqlite-normal', ...servers]
const longLines = ['a long line, 2 processes', 'a long line, 4 processes', 'a long line, 8 processes']

const rules: Readonly<Record<string, readonly Rule[]>> = {
  throughput: [
    { ours: line(many, 'postgres'), theirs: [line(many, 'postgres', 'DBOS')], atLeast: 10 },
    { ours: line(many, 'postgres'), theirs: [line(many, 'restate', 'Restate')], atLeast: 5 },
    { ours: line(many, 'postgres'), theirs: [line(many, 'redis', 'BullMQ')], atLeast: 2 },
    { ours: line(many, 'postgres'), theirs: [line(many, 'postgres', 'pg-boss, hand-batched')], atLeast: 1 },
    ...[claimsEach, twoRows, runsOn].map(limit => ({
      ours: line(many, 'postgres'),
      theirs: [line(many, 'postgres', limit)],
      atLeast: 0.4,
    })),
    { ours: line(many, 'sqlite'), theirs: [line(many, 'sqlite', 'openworkflow')], atLeast: 15 },
    { ours: line(many, 'mysql'), theirs: [line(many, 'postgres', 'DBOS')], atLeast: 8 },
  ],
  latency: [
    { ours: line(p50, 'postgres'), theirs: inPostgres.map(name => line(p50, 'postgres', name)), atMost: 0.65 },
    ...[claimsEach, twoRows, runsOn].map(limit => ({
      ours: line(p50, 'postgres'),
      theirs: [line(p50, 'postgres', limit)],
      atMost: 1.25,
    })),
    { ours: line(p50, 'postgres'), theirs: [line(p50, 'redis', 'BullMQ')], atMost: 1.1 },
    ...alone(p50, ['sqlite'], { atMost: 4 }),
  ],
  fan: [
    {
      ours: line(fan, 'postgres'),
      theirs: peers.map(({ system, database }) => line(fan, database, system)),
      atMost: 1,
    },
    ...['10,000 wide', '10,000 wide, as many places'].flatMap(wide =>
      all.map(on => ({ ours: line(`${wide}: a node`, on), theirs: [line(`${fan}: a node`, on)], atMost: 2 })),
    ),
  ],
  cost: alone('one at a time: commits, whole workflow', all, { atMost: 7 }),
  growth: [
    ...alone('history: throughput, many against none', all, { atLeast: 0.9 }),
    ...alone('history: start to end of one, many against none', all, { atMost: 1.25 }),
    ...['explain, many against few', 'claim, many against few', 'claim, many against none'].flatMap(what =>
      alone(`history: ${what}`, all, { atMost: 1.5 }),
    ),
  ],
  bloat: servers.map(on => ({
    ours: line('snapshot held: server CPU', on),
    theirs: [line('no snapshot: server CPU', on)],
    atMost: 1.3,
  })),
  contention: [
    { ours: line('2 processes', 'postgres'), theirs: [line('1 process', 'postgres')], atLeast: 0.95 },
    { ours: line('8 processes', 'postgres'), theirs: [line('1 process', 'postgres')], atLeast: 0.8 },
    ...longLines.flatMap(name => alone(`${name}: claims in vain`, all, { atMost: 5 })),
    ...['1 process', '2 processes', '4 processes', '8 processes', ...longLines, 'a long time'].flatMap(name =>
      alone(`${name}: errors told`, all, { atMost: 0, never: true }),
    ),
  ],
  memory: [
    ...alone('a million steps: highest growth of the heap since', all, { atMost: 5, never: true }),
    // 50 bytes for each of 200,000 in line: to know their ids alone takes more.
    ...alone('a backlog: highest growth of the heap since', all, { atMost: 10, never: true }),
  ],
}

export function compare(workload: string, all: readonly Result[], failures: readonly Failure[] = []): Comparison[] {
  const results = all.filter(result => result.workload === workload)
  const failed = failures.filter(failure => failure.workload === workload)
  const barred = (rules[workload] ?? []).flatMap(rule => compared(rule, results, failed))
  const known = new Set(barred.map(({ what }) => what))
  return [...barred, ...others(results).filter(({ what }) => !known.has(what))]
}

/** Every other system that did the same work, against ours on the same database, or on a server if it has its own. */
function others(results: readonly Result[]): Comparison[] {
  return results
    .filter(({ system }) => system !== ourSystem)
    .flatMap(their => {
      const isOurs = (result: Result) => result.system === ourSystem && result.case === their.case
      const here = results.find(result => isOurs(result) && result.database === their.database)
      const ours = here ?? results.find(result => isOurs(result) && result.database === 'postgres')
      return ours === undefined ? [] : compared({ ours, theirs: [their] }, results, [])
    })
}

function compared(
  { ours, theirs, atLeast, atMost, never }: Rule,
  results: readonly Result[],
  failures: readonly Line[],
): Comparison[] {
  const find = (wanted: Line) => results.find(result => isSame(result, wanted))
  const our = find(ours)
  const their = theirs.flatMap(wanted => find(wanted) ?? [])
  const absent = theirs.filter(wanted => find(wanted) === undefined)
  const missing = absent.map(({ system, database }) => `${system} on ${database}`)
  const wasAskedFor = absent.some(wanted => failures.some(failure => hasFailed(failure, wanted)))
  if (our === undefined || (theirs.length > 0 && their.length === 0 && !wasAskedFor)) return []
  const isBetter = (a: Result, b: Result) => (our.unit.endsWith('/s') ? a.median > b.median : a.median < b.median)
  const best = their.toSorted((a, b) => (isBetter(a, b) ? -1 : 1))[0]
  const value =
    theirs.length === 0 ? (never ? our.high : our.median) : best === undefined ? null : our.median / best.median
  const against = best ?? absent[0]
  return [
    {
      what: `${our.case}: ${our.system} on ${our.database}${against === undefined ? '' : besides(our, against)}`,
      value,
      unit: theirs.length === 0 ? our.unit : 'times',
      bar: atLeast !== undefined ? `at least ${atLeast}` : atMost !== undefined ? `at most ${atMost}` : null,
      met: value === null ? null : judged(value, { atLeast, atMost }, missing),
      ...(missing.length > 0 && { missing }),
    },
  ]
}

function besides(our: Line, { case: name, system, database }: Line): string {
  return ` / ${name === our.case ? '' : `${name}: `}${system} on ${database}`
}

function isSame(found: Line, wanted: Line): boolean {
  return found.case === wanted.case && found.database === wanted.database && found.system === wanted.system
}

/** What has failed goes by the name of the whole case, of which a line may be one measurement. */
function hasFailed(failure: Line, wanted: Line): boolean {
  const isPart = wanted.case.startsWith(`${failure.case}: `)
  return isSame(isPart ? { ...failure, case: wanted.case } : failure, wanted)
}

/** One that is missing could only be better than the best of the others. */
function judged(
  value: number,
  { atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }: Bar,
  missing: readonly string[],
): boolean | null {
  if (atLeast === Number.NEGATIVE_INFINITY && atMost === Number.POSITIVE_INFINITY) return null
  const isMet = value >= atLeast && value <= atMost
  return isMet && missing.length > 0 ? null : isMet
}
