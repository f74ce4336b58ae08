/** A bar against the best of several is met only if all of them were measured, and whoever reads the table learns who was not. */
import { describe, expect, it } from 'vitest'
import { compare } from '../../bench/bars.ts'
import { asTable, currentLoad, describeMachine, type Result, resultOf } from '../../bench/report.ts'

const inPostgres = ['DBOS', 'pg-boss', 'pg-boss, hand-batched', 'graphile-worker', 'openworkflow']

function p50(ms: number, system = 'geneva-drive'): Result {
  const head = { workload: 'latency', case: 'same process: p50', system, database: 'postgres', unit: 'ms' }
  return resultOf(head, [ms])
}

/** Ours takes 6 ms. */
function judged(theirs: Readonly<Record<string, number>>) {
  const results = [p50(6), ...Object.entries(theirs).map(([system, ms]) => p50(ms, system))]
  const comparisons = compare('latency', results)
  const machine = describeMachine({ onDisk: true, loadBefore: currentLoad(), commit: 'abc1234' })
  return { first: comparisons[0], table: asTable({ machine, results, comparisons, failures: [] }) }
}

const all = Object.fromEntries(inPostgres.map((system, index) => [system, 10 + index]))
const { 'pg-boss': _, ...withoutOne } = all

describe('a bar against the best of several', () => {
  it('is judged against the best when all were measured', () => {
    const { first, table } = judged(all)
    expect(first).toMatchObject({ value: 0.6, bar: 'at most 0.65', met: true })
    expect(first).not.toHaveProperty('missing')
    expect(table).toMatch(/at most 0.65 +met/)
  })

  it('is not said to be met while one of them is missing, which is named', () => {
    const { first, table } = judged(withoutOne)
    expect(first).toMatchObject({ value: 0.6, met: null, missing: ['pg-boss on postgres'] })
    expect(table).toMatch(/at most 0.65 +not judged without pg-boss on postgres/)
  })

  it('is missed against those that were measured, whoever is missing: the best of all is no worse', () => {
    const { first, table } = judged({ ...withoutOne, DBOS: 8 })
    expect(first).toMatchObject({ value: 0.75, met: false, missing: ['pg-boss on postgres'] })
    expect(table).toMatch(/at most 0.65 +NOT MET/)
  })

  it('says nothing of what has no bar', () => {
    const other = compare('latency', [p50(6), p50(3, 'another')]).find(({ what }) => what.includes('another'))
    expect(other).toMatchObject({ value: 2, bar: null, met: null })
    expect(other).not.toHaveProperty('missing')
  })
})

it('the limits of throughput and latency have the same bar, each of the three', () => {
  const limits = ['claims each step', 'claims each step, two rows', 'runs on'].map(name => `limit (${name})`)
  const latency = compare('latency', [p50(6), ...limits.map(limit => p50(5, limit))])
  expect(latency.map(({ bar, met }) => [bar, met])).toEqual(limits.map(() => ['at most 1.25', true]))
  const many = (value: number, system: string) => {
    const head = { workload: 'throughput', case: '2,000 workflows', system, database: 'postgres', unit: 'steps/s' }
    return resultOf(head, [value])
  }
  const throughput = compare('throughput', [many(300, 'geneva-drive'), ...limits.map(limit => many(1000, limit))])
  expect(throughput.map(({ bar, met }) => [bar, met])).toEqual(limits.map(() => ['at least 0.4', false]))
})

it('what a wide fan costs is compared node by node, though the whole has a name that this one begins with', () => {
  const fan = (name: string, ms: number, nodes: number) => {
    const head = { workload: 'fan', system: 'geneva-drive', database: 'postgres' }
    const node = resultOf({ ...head, case: `${name}: a node`, unit: 'µs' }, [(ms * 1000) / nodes])
    return [resultOf({ ...head, case: name, unit: 'ms' }, [ms]), node]
  }
  const comparisons = compare('fan', [...fan('1,000 wide', 40, 1_000), ...fan('10,000 wide', 600, 10_000)])
  expect(comparisons).toMatchObject([{ value: 1.5, bar: 'at most 2', met: true }])
})
