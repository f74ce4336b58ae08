/** The benchmark runs and says what it should. Its numbers are looked at by people. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { resultOf } from '../../bench/report.ts'

const root = join(import.meta.dirname, '..', '..')
const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['--expose-gc', join(root, '.build/bench/main.js'), ...args])

describe('npm run bench', () => {
  it('measures what checkpoints cost, as one JSON document', async () => {
    const { stdout } = await bench('checkpoints', '--tiny', '--json', '--databases', 'sqlite')
    const { machine, results } = JSON.parse(stdout)
    expect(machine).toMatchObject({ node: process.version, loadBefore: expect.any(Number), cores: expect.any(Number) })
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

  it('says how it is used when it is told something else', async () => {
    const wrong = [
      [],
      ['nothing'],
      ['checkpoints', '--runs', '2'],
      ['checkpoints', '--databases', 'oracle'],
      ['--fast'],
    ]
    const failures = await Promise.all(wrong.map(args => bench(...args).catch(error => error)))
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 2, stdout: '' })
      expect(failure.stderr).toMatch(/usage: npm run bench -- WORKLOAD.*workloads: checkpoints/s)
    }
  })

  it('takes the middle of the runs, and shows the ends', () => {
    const head = { workload: 'w', case: 'c', system: 's', database: 'd', unit: 'u' }
    expect(resultOf(head, [3, 1, 2])).toMatchObject({ median: 2, low: 1, high: 3, runs: [3, 1, 2] })
    expect(resultOf(head, [4, 1, 2, 3])).toMatchObject({ median: 2.5, low: 1, high: 4 })
  })
})
