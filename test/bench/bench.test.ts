/** The benchmark runs and says what it should. Its numbers are looked at by people. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { resultOf } from '../../bench/report.ts'
import { allPages } from '../docs/markdown.ts'

const root = join(import.meta.dirname, '..', '..')
const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['--expose-gc', join(root, '.build/bench/main.js'), ...args])

/** With the scripts of our package, but nothing is compiled anew while other tests run it. */
async function benchByNpm(...args: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'geneva-bench-npm-'))
  const { type, scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const own = { type, scripts: { ...scripts, 'build:programs': 'exit 0' } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(own))
  await symlink(join(root, '.build'), join(folder, '.build'))
  try {
    return (await promisify(execFile)('npm', ['run', '-s', 'bench', '--', ...args], { cwd: folder })).stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('npm run bench', () => {
  it('measures what checkpoints cost, as one JSON document and nothing else where npm is silent', async () => {
    const stdout = await benchByNpm('checkpoints', '--tiny', '--json', '--databases', 'sqlite')
    const { machine, results, durability } = JSON.parse(stdout)
    expect(durability).toEqual({ sqlite: { synchronous: 'full' } })
    expect(machine).toMatchObject({
      node: process.version,
      commit: expect.stringMatching(/^([0-9a-f]{7,}|unknown)/),
      loadBefore: expect.any(Number),
      cores: expect.any(Number),
    })
    const cases = ['each item its own', 'every 100 items', 'coalesced (default)']
    for (const name of cases) {
      expect(results).toContainEqual({
        workload: 'checkpoints',
        case: name,
        system: 'geneva-drive',
        database: 'sqlite',
        median: expect.any(Number),
        low: expect.any(Number),
        high: expect.any(Number),
        unit: 'items/s',
        runs: [expect.any(Number), expect.any(Number), expect.any(Number)],
      })
    }
    expect(results.map((result: { unit: string }) => result.unit)).toContain('MB')
  })

  it('is silent wherever the documentation asks it for a document', () => {
    const asked = allPages().flatMap(({ text }) => text.match(/npm run [^`\n]*bench [^`\n]*--json/g) ?? [])
    expect(asked.length).toBeGreaterThan(1)
    for (const command of asked) expect(command).toMatch(/^npm run -s bench /)
  })

  it('measures what a node of a graph costs, by the size of the graph', async () => {
    const { stdout } = await bench('graphs', '--tiny', '--json', '--databases', 'sqlite')
    const { results } = JSON.parse(stdout) as { results: { case: string; median: number; unit: string }[] }
    const unitOf = new Map(results.map(result => [result.case, result.unit]))
    for (const shape of ['fan-out and fan-in', 'layers, three parents each']) {
      for (const phase of ['build', 'start', 'run']) {
        expect(unitOf.get(`${shape}: 5 nodes, ${phase}`)).toBe('µs/node')
        expect(unitOf.get(`${shape}: 20 nodes, ${phase}`)).toBe('µs/node')
      }
      expect(unitOf.get(`${shape}: largest against smallest`)).toBe('times')
    }
    expect(results.every(result => result.median > 0)).toBe(true)
  })

  it('measures what history costs, with what it takes on disk', async () => {
    const { stdout } = await bench('growth', '--tiny', '--runs', '1', '--json', '--databases', 'sqlite')
    const { results, finished, comparisons } = JSON.parse(stdout) as {
      finished: number
      results: { case: string; median: number; unit: string }[]
      comparisons: { what: string; bar: string }[]
    }
    expect(finished).toBe(1_000_000)
    const unitOf = new Map(results.map(result => [result.case, result.unit]))
    const barOf = new Map(comparisons.map(({ what, bar }) => [what, bar]))
    const measured = [
      { what: 'explain 20', unit: 'ms', beside: ['50', '500'] },
      { what: 'claim 10', unit: 'ms', beside: ['none', '50', '500'] },
      { what: 'throughput', unit: 'steps/s', beside: ['none', '500'] },
      { what: 'start to end of one', unit: 'ms', beside: ['none', '500'] },
    ]
    for (const { what, unit, beside } of measured) {
      for (const count of beside) expect(unitOf.get(`history: ${what}, ${count} ended`)).toBe(unit)
    }
    for (const [ratio, bar] of [
      ['explain, many against few', 'at most 1.5'],
      ['claim, many against few', 'at most 1.5'],
      ['claim, many against none', 'at most 1.5'],
      ['throughput, many against none', 'at least 0.9'],
      ['start to end of one, many against none', 'at most 1.25'],
    ]) {
      expect(unitOf.get(`history: ${ratio}`)).toBe('times')
      expect(barOf.get(`history: ${ratio}: geneva-drive on sqlite`)).toBe(bar)
    }
    expect(unitOf.get('history: disk, 500 ended')).toBe('MB')
    expect(results.every(result => result.median > 0)).toBe(true)
  }, 30_000)

  it('measures what a worker keeps of the steps that it has run and of what stands in line, and that is next to nothing', async () => {
    const { stdout } = await bench('memory', '--tiny', '--json', '--databases', 'sqlite')
    const { results, comparisons } = JSON.parse(stdout) as {
      results: { case: string; median: number; unit: string }[]
      comparisons: { what: string; met: boolean }[]
    }
    const found = new Map(results.map(result => [result.case, result]))
    const growth = 'highest growth of the heap since'
    expect(found.get(`a million steps: ${growth}`)).toMatchObject({ unit: 'MB' })
    // Over 900 steps, in the middle one of three runs: 0.1 is usual, and half a kilobyte that is kept of each step is too much.
    expect(found.get(`a million steps: ${growth}`)?.median).toBeLessThan(0.5)
    for (const moment of ['before the worker begins', 'in the beginning', 'in the middle', 'at the end']) {
      for (const memory of ['heap', 'resident memory']) {
        expect(found.get(`a backlog: ${memory} ${moment}`)?.median).toBeGreaterThan(1)
      }
    }
    expect(comparisons).toMatchObject(
      ['a million steps', 'a backlog'].map(name => ({ what: `${name}: ${growth}: geneva-drive on sqlite`, met: true })),
    )
  }, 60_000)

  it('runs a large graph in a process of its own, and tells its memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'geneva-bench-test-'))
    const database = JSON.stringify({ url: `sqlite:${join(folder, 'bench.db')}` })
    const program = join(root, '.build/bench/large-graph.js')
    const { stdout } = await promisify(execFile)(process.execPath, [program, database, '20'])
    await rm(folder, { recursive: true, force: true })
    const measured = expect.any(Number)
    expect(JSON.parse(stdout)).toEqual({ buildMs: measured, startMs: measured, runMs: measured, peakMb: measured })
  })

  it('says how it is used when it is told something else', async () => {
    const wrong = [
      [],
      ['nothing'],
      ['checkpoints', '--runs', '2'],
      ['checkpoints', '--databases', 'oracle'],
      ['growth', '--finished', '1234'],
      ['--fast'],
    ]
    const failures = await Promise.all(wrong.map(args => bench(...args).catch(error => error)))
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 2, stdout: '' })
      expect(failure.stderr).toMatch(/usage: npm run bench -- WORKLOAD.*workloads: bloat, checkpoints/s)
    }
  })

  it('takes the middle of the runs, and shows the ends', () => {
    const head = { workload: 'w', case: 'c', system: 's', database: 'd', unit: 'u' }
    expect(resultOf(head, [3, 1, 2])).toMatchObject({ median: 2, low: 1, high: 3, runs: [3, 1, 2] })
    expect(resultOf(head, [4, 1, 2, 3])).toMatchObject({ median: 2.5, low: 1, high: 4 })
  })
})
