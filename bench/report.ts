/** What came out of a run, for people as a table and for programs as one JSON document. */
import { cpus, loadavg, totalmem } from 'node:os'

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

export function describeMachine(onDisk: boolean, loadBefore: number): Machine {
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    onDisk,
    loadBefore,
    loadAfter: currentLoad(),
  }
}

export function asTable(machine: Machine, results: readonly Result[]): string {
  const head = ['workload', 'case', 'database', 'median', 'low', 'high', 'unit', 'runs']
  const rows = results.map(result => [
    result.workload,
    result.case,
    result.database,
    ...[result.median, result.low, result.high].map(number),
    result.unit,
    String(result.runs.length),
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const isNumber = (column: number) => column > 2 && column !== 6
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (isNumber(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))).join('  ')
  const { node, platform, cpu, cores, memoryGb, onDisk, loadBefore, loadAfter } = machine
  return [
    line(head),
    line(widths.map(width => '-'.repeat(width))),
    ...rows.map(line),
    '',
    `Node ${node}, ${platform}, ${cores} x ${cpu}, ${memoryGb} GB, files ${onDisk ? 'on disk' : 'IN MEMORY: not durable'}`,
    `load ${loadBefore} before, ${loadAfter} after${loadAfter > cores ? ': the machine was busy, the numbers are low' : ''}`,
  ].join('\n')
}

function number(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 1 ? 1 : 3
  const rounded = size < 0.0005 ? 0 : value
  return rounded.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
