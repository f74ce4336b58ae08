/** What came out of a run, for people as a table and for programs as one JSON document. */
import { cpus, loadavg, totalmem } from 'node:os'
import type { Comparison } from './bars.ts'
import type { Durability } from './durability.ts'
import type { Failure } from './measure.ts'

export interface Result {
  readonly workload: string
  readonly case: string
  /** Which engine was measured. */
  readonly system: string
  readonly database: string
  readonly median: number
  readonly low: number
  readonly high: number
  readonly unit: string
  readonly runs: readonly number[]
}

export interface Machine {
  readonly node: string
  /** Of our own code. */
  readonly commit: string
  readonly platform: string
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  /** Files on a disk, as opposed to memory, where a durable write costs nothing. */
  readonly onDisk: boolean
  /** Processes that wanted to run, over the last minute: before and after. Much more than `cores` spoils the numbers. */
  readonly loadBefore: number
  readonly loadAfter: number
}

export function resultOf(head: Omit<Result, 'median' | 'low' | 'high' | 'runs'>, runs: readonly number[]): Result {
  const sorted = runs.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const at = (index: number) => sorted[index] ?? Number.NaN
  const median = Number.isInteger(middle) ? (at(middle - 1) + at(middle)) / 2 : at(Math.floor(middle))
  return { ...head, median, low: at(0), high: at(sorted.length - 1), runs }
}

export function currentLoad(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100
}

export function describeMachine({
  onDisk,
  loadBefore,
  commit,
}: Pick<Machine, 'onDisk' | 'loadBefore' | 'commit'>): Machine {
  return {
    node: process.version,
    commit,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    onDisk,
    loadBefore,
    loadAfter: currentLoad(),
  }
}

export interface Measured {
  readonly machine: Machine
  readonly results: readonly Result[]
  readonly comparisons: readonly Comparison[]
  readonly failures: readonly Failure[]
  /** What each database says of how durable it is, by its name; missing where none was asked. */
  readonly durability?: Readonly<Record<string, Durability>>
}

export function asTable({ machine, results, comparisons, failures, durability = {} }: Measured): string {
  const { node, commit, platform, cpu, cores, memoryGb, onDisk, loadBefore, loadAfter } = machine
  return [
    ...columns(
      ['workload', 'case', 'system', 'database', '>median', '>low', '>high', 'unit', '>runs'],
      results.map(result => [
        result.workload,
        result.case,
        result.system,
        result.database,
        ...[result.median, result.low, result.high].map(value => number(value)),
        result.unit,
        String(result.runs.length),
      ]),
    ),
    ...(comparisons.length === 0 ? [] : ['', ...compared(comparisons)]),
    ...failures.map(({ system, database, error }) => `\n${system} on ${database} could not be measured:\n${error}`),
    '',
    `Commit ${commit}, Node ${node}, ${platform}, ${cores} x ${cpu}, ${memoryGb} GB, files ${onDisk ? 'on disk' : 'IN MEMORY: not durable'}`,
    ...Object.entries(durability).map(([name, settings]) => `${name}: ${told(settings)}`),
    `load ${loadBefore} before, ${loadAfter} after${loadAfter > cores ? ': the machine was busy, the numbers are low' : ''}`,
  ].join('\n')
}

function compared(comparisons: readonly Comparison[]): string[] {
  return columns(
    ['compared', '>value', 'unit', 'bar', 'verdict'],
    comparisons.map(each => [
      each.what,
      each.value === null ? '' : number(each.value, 2),
      each.unit,
      each.bar ?? '',
      verdict(each),
    ]),
  )
}

function verdict({ met, missing }: Comparison): string {
  if (met === null) return missing === undefined ? '' : `not judged without ${missing.join(', ')}`
  return met ? 'met' : 'NOT MET'
}

function told(settings: Durability): string {
  return Object.entries(settings)
    .map(([setting, value]) => `${setting}=${value}`)
    .join(', ')
}

/** A head that begins with `>` is over numbers, which stand to the right. */
function columns(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const names = head.map(name => name.replace('>', ''))
  const widths = names.map((_, column) => Math.max(...[names, ...rows].map(row => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    head[column]?.startsWith('>') ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)
  const line = (row: readonly string[]) => row.map(pad).join('  ').trimEnd()
  return [line(names), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)]
}

function number(value: number, usual = 1): string {
  const size = Math.abs(value)
  if (size < 0.0005) return '0'
  const digits = size >= 100 ? 0 : size >= 1 ? usual : 3
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
