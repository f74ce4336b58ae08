/** The workloads that measure speed run and say what they should, and what they are compared with is judged rightly. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { compare } from '../../bench/bars.ts'
import type { Claim } from '../../bench/claim-count.ts'
import { measureAll } from '../../bench/measure.ts'
import { asTable, currentLoad, describeMachine, type Result, resultOf } from '../../bench/report.ts'
import { StandingLine } from '../../bench/standing-line.ts'
import type { Case } from '../../bench/workload.ts'
import { tellClaims } from '../../bench/workloads/contention.ts'

const program = join(import.meta.dirname, '..', '..', '.build/bench/main.js')
const bench = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, '--tiny', '--runs', '1', '--json'])
  return JSON.parse(stdout) as { results: Result[]; comparisons: ReturnType<typeof compare>; failures: unknown[] }
}
const unitOf = (results: readonly Result[], system: string, name: string) =>
  results.find(result => result.system === system && result.case === name)?.unit

describe('the workloads', () => {
  it('measure throughput, latency, cost and a fan in one run, beside the limit', async () => {
    const { results, comparisons, failures } = await bench(
      ...['throughput', 'latency', 'cost', 'fan', '--databases', 'sqlite'],
    )
    const ours = 'geneva-drive'
    const limits = ['limit (claims each step)', 'limit (runs on)', 'limit (starts claimed)']
    for (const system of [ours, ...limits]) {
      expect(unitOf(results, system, '2,000 workflows')).toBe('steps/s')
      expect(unitOf(results, system, 'same process: p50')).toBe('ms')
      expect(unitOf(results, system, 'same process: p99')).toBe('ms')
    }
    expect(unitOf(results, ours, '20,000 workflows')).toBe('steps/s')
    expect(unitOf(results, ours, 'separate processes: p50')).toBe('ms')
    expect(unitOf(results, ours, '1,000 wide')).toBe('ms')
    expect(unitOf(results, ours, '10,000 wide: a node')).toBe('µs')
    for (const name of ['under load', 'one at a time']) {
      expect(unitOf(results, ours, `${name}: statements`)).toBe('/step')
      expect(unitOf(results, ours, `${name}: commits`)).toBe('/step')
      expect(unitOf(results, ours, `${name}: rows written`)).toBe('/step')
      expect(unitOf(results, ours, `${name}: Node CPU`)).toBe('µs/step')
    }
    expect(results.every(result => result.median > 0 && result.runs.length === 1)).toBe(true)
    expect(comparisons.map(({ what }) => what)).toContain('same process: p50: geneva-drive on sqlite')
    expect(failures).toEqual([])
  }, 90_000)

  it('measure what several worker processes do to each other', async () => {
    const { results } = await bench('contention', '--only', '2 processes', '--databases', 'sqlite')
    expect(unitOf(results, 'geneva-drive', '2 processes')).toBe('steps/s')
    expect(results.find(result => result.case === '2 processes: errors told')).toMatchObject({ high: 0 })
  }, 90_000)

  it('count the claims that several worker processes make beside a long line', async () => {
    const line = 'a long line, 2 processes'
    const { results } = await bench('contention', '--only', line, '--databases', 'sqlite')
    const claims = results.find(result => result.case === `${line}: claims while work stood in line`)
    // 120 workflows stand there, and a worker takes 50 at most.
    expect(claims?.low).toBeGreaterThanOrEqual(3)
    expect(results.find(result => result.case === `${line}: errors told`)).toMatchObject({ high: 0 })
  }, 90_000)
})

describe('a claim', () => {
  const claim = (begun: number, at: number, found: number): Claim => ({ at, ms: at - begun, found })

  it('is looked at if something stood in line when it began', () => {
    const line = new StandingLine()
    line.put(100, 10)
    const early = claim(0, 5, 0)
    const first = claim(10, 20, 50)
    const beside = claim(15, 25, 0)
    const last = claim(21, 30, 50)
    const besideTheLast = claim(29, 40, 0)
    const late = claim(30, 45, 0)
    line.put(10, 50)
    const again = claim(51, 60, 10)
    const claims = [late, last, first, again, early, besideTheLast, beside]
    expect(line.claimsMeanwhile(claims)).toEqual([first, beside, last, besideTheLast, again])
  })

  it('was in vain if it found nothing, which is told of fifty or more', () => {
    const claims = Array.from({ length: 50 }, (_, index) => claim(index, index + 1, index < 3 ? 0 : 10))
    expect(tellClaims(claims)).toEqual([
      { what: 'claims while work stood in line', value: 50, unit: 'claims' },
      { what: 'claims in vain', value: 6, unit: '%' },
    ])
    expect(tellClaims(claims.slice(1))).toEqual([
      { what: 'claims while work stood in line', value: 49, unit: 'claims' },
    ])
  })
})

const result = (median: number, place: Partial<Result>): Result => ({
  ...resultOf(
    { workload: 'throughput', case: '2,000 workflows', system: 'geneva-drive', database: 'postgres', unit: 'steps/s' },
    [median],
  ),
  ...place,
})

describe('a comparison', () => {
  it('divides our number by theirs and says whether the bar is met', () => {
    const results = [
      result(9_000, {}),
      result(1_000, { system: 'DBOS' }),
      result(1_500, { system: 'Restate', database: 'restate' }),
      result(3_000, { system: 'graphile-worker' }),
    ]
    expect(compare('throughput', results)).toEqual([
      {
        what: '2,000 workflows: geneva-drive on postgres / DBOS on postgres',
        value: 9,
        unit: 'times',
        bar: 'at least 10',
        met: false,
      },
      {
        what: '2,000 workflows: geneva-drive on postgres / Restate on restate',
        value: 6,
        unit: 'times',
        bar: 'at least 5',
        met: true,
      },
      {
        what: '2,000 workflows: geneva-drive on postgres / graphile-worker on postgres',
        value: 3,
        unit: 'times',
        bar: null,
        met: null,
      },
    ])
  })

  it('is with the best of the others where the bar is about all of them', () => {
    const place = { workload: 'latency', case: 'same process: p50', unit: 'ms' }
    const results = [
      result(6, place),
      result(20, { ...place, system: 'DBOS' }),
      result(10, { ...place, system: 'graphile-worker' }),
      result(11, { ...place, system: 'pg-boss' }),
      result(12, { ...place, system: 'pg-boss, hand-batched' }),
      result(90, { ...place, system: 'openworkflow' }),
    ]
    expect(compare('latency', results)[0]).toMatchObject({
      what: 'same process: p50: geneva-drive on postgres / graphile-worker on postgres',
      value: 0.6,
      met: true,
    })
  })

  it('of what must never happen looks at the worst run', () => {
    const errors = { workload: 'contention', case: '4 processes: errors told', unit: 'errors' }
    expect(compare('contention', [result(0, { ...errors, high: 1 })])[0]).toMatchObject({ value: 1, met: false })
  })

  it('with somebody who failed is not judged, and told, not left out', () => {
    const failed = {
      workload: 'throughput',
      case: '2,000 workflows',
      system: 'DBOS',
      database: 'postgres',
      error: 'no',
    }
    const [comparison, ...rest] = compare('throughput', [result(9_000, {})], [failed])
    expect(rest).toEqual([])
    expect(comparison).toEqual({
      what: '2,000 workflows: geneva-drive on postgres / DBOS on postgres',
      value: null,
      unit: 'times',
      bar: 'at least 10',
      met: null,
      missing: ['DBOS on postgres'],
    })
    // A case may be measured in several ways, and fails as a whole.
    const alone = { ...failed, workload: 'latency', case: 'same process', system: 'BullMQ', database: 'redis' }
    const ours = result(3, { workload: 'latency', case: 'same process: p50', unit: 'ms' })
    expect(compare('latency', [ours], [alone])).toMatchObject([{ bar: 'at most 1.1', missing: ['BullMQ on redis'] }])
  })

  it('is left out where one of the numbers was not asked for', () => {
    expect(compare('throughput', [result(9_000, {})])).toEqual([])
    expect(compare('throughput', [result(9_000, { system: 'DBOS' })])).toEqual([])
  })
})

describe('a run', () => {
  const databases = [{ name: 'sqlite', kind: 'sqlite', options: { url: 'sqlite:' } }] as const
  const plan = { workload: 'w', databases, runs: 3, size: 'tiny', limits: { finished: 0, seconds: 0 } } as const
  const measures = (system: string, measure: Case['measure']): Case => ({ name: 'c', system, measure })
  const fails = async () => {
    throw new Error('It cannot be installed here.')
  }

  it('tells a peer that cannot be measured with its error, and goes on with the others', async () => {
    const works = measures('works', async () => [{ value: 1, unit: 'u' }])
    const { results, failures } = await measureAll({ ...plan, cases: [measures('broken', fails), works] })
    expect(failures).toEqual([
      { workload: 'w', system: 'broken', database: 'sqlite', case: 'c', error: 'It cannot be installed here.' },
    ])
    expect(results).toMatchObject([{ system: 'works', median: 1, runs: [1, 1, 1] }])
    const machine = describeMachine({ onDisk: true, loadBefore: currentLoad(), commit: 'abc1234' })
    const table = asTable({ machine, results, comparisons: [], failures })
    expect(table).toContain('broken on sqlite could not be measured:\nIt cannot be installed here.')
  })

  it('makes nothing of a peer that fails in a later run: its number would be one of fewer runs', async () => {
    let runs = 0
    const tires = measures('tires', async () => {
      if (++runs > 2) throw new Error('Enough.')
      return [{ value: 9, unit: 'u' }]
    })
    const works = measures('works', async () => [{ value: 1, unit: 'u' }])
    const { results, failures } = await measureAll({ ...plan, cases: [tires, works] })
    expect(failures).toMatchObject([{ system: 'tires', error: 'Enough.' }])
    expect(results).toMatchObject([{ system: 'works' }])
  })

  it('ends when we ourselves cannot be measured', async () => {
    await expect(measureAll({ ...plan, cases: [measures('geneva-drive', fails)] })).rejects.toThrow('installed')
  })

  it('lets all that is compared take turns, one after another', async () => {
    const order: string[] = []
    const named = (name: string, system: string): Case => ({
      name,
      system,
      measure: async (_, size) => {
        if (size === 'full') order.push(`${name} ${system}`)
        return []
      },
    })
    const cases = [named('a', 'one'), named('b', 'one'), named('a', 'two')]
    await measureAll({ ...plan, runs: 2, size: 'full', cases })
    expect(order).toEqual(['a one', 'a two', 'b one', 'a one', 'a two', 'b one'])
  })
})
