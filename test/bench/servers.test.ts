/** The workloads that measure servers run on them as well, on servers of their own that lose nothing, and none that may is measured. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { durabilityOf, refuseUnlessDurable } from '../../bench/durability.ts'
import type { Result } from '../../bench/report.ts'
import { databases } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'

const program = join(import.meta.dirname, '..', '..', '.build/bench/main.js')
const servers = databases.filter(({ name }) => name !== 'sqlite')

interface Measured {
  readonly results: readonly Result[]
  readonly failures: readonly unknown[]
  readonly durability: unknown
}

async function bench(...args: string[]): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, '--tiny', '--runs', '1', '--json'])
  return JSON.parse(stdout) as Measured
}

const durable: Readonly<Record<string, unknown>> = {
  postgres: { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' },
  mysql: { innodb_flush_log_at_trx_commit: '1', innodb_doublewrite: expect.stringMatching(/^(1|ON)$/) },
}
const limits = ['claims each step', 'claims each step, two rows', 'runs on', 'starts claimed']

/** What is measured on each server. Processor time has a grain of a hundredth of a second, in which nothing may have been used. */
const expected: readonly (readonly [name: string, unit: string, system?: string])[] = [
  ...['geneva-drive', ...limits.map(limit => `limit (${limit})`)].flatMap(system => [
    ['2,000 workflows', 'steps/s', system] as const,
    ['same process: p50', 'ms', system] as const,
    ['same process: p99', 'ms', system] as const,
  ]),
  ['20,000 workflows', 'steps/s'],
  ['separate processes: p50', 'ms'],
  ...['under load', 'one at a time'].flatMap(name => [
    [`${name}: statements`, '/step'] as const,
    [`${name}: round trips`, '/step'] as const,
    [`${name}: commits`, '/step'] as const,
    [`${name}: rows written`, '/step'] as const,
    [`${name}: log`, 'bytes/step'] as const,
  ]),
  ...['no snapshot', 'snapshot held'].flatMap(name => [
    [`${name}: throughput`, 'steps/s'] as const,
    [`${name}: claim, last tenth`, 'ms'] as const,
    [`${name}: disk`, 'MB'] as const,
  ]),
]

describe('the workloads on servers', () => {
  it.each(servers.length === 0 ? [] : [servers.map(({ name }) => name)])(
    'measure throughput, latency, cost and bloat on %s and %s, and tell how durable they are',
    async (...names) => {
      const { results, failures, durability } = await bench(
        ...['throughput', 'latency', 'cost', 'bloat', '--databases', names.join(',')],
      )
      expect(failures).toEqual([])
      expect(durability).toEqual(Object.fromEntries(names.map(name => [name, durable[name]])))
      for (const database of names) {
        const resultFor = (wanted: string, system = 'geneva-drive') =>
          results.find(each => each.case === wanted && each.system === system && each.database === database)
        for (const [name, unit, system] of expected) {
          const found = resultFor(name, system)
          expect({ name, system, database, unit: found?.unit }).toEqual({ name, system, database, unit })
          expect(found?.median).toBeGreaterThan(0)
        }
        for (const name of ['under load', 'one at a time']) {
          const trips = resultFor(`${name}: round trips`)?.median ?? Number.NaN
          // Statements that need no answer of each other travel together.
          expect(trips).toBeLessThan(resultFor(`${name}: statements`)?.median ?? Number.NaN)
        }
        const hot = resultFor('one at a time: updates that are HOT')
        if (database === 'postgres') expect(hot).toMatchObject({ unit: '%' })
        else expect(hot).toBeUndefined()
        if (hot !== undefined) expect(hot.median > 0 && hot.median <= 100).toBe(true)
      }
    },
    180_000,
  )
})

describe('a server that may lose what it has committed', () => {
  it.each(servers.filter(({ name }) => name === 'postgres'))(
    'is not measured, $name as it says itself',
    async server => {
      const { url } = await server.isolated()
      const plain = await connectPlainly(server.name, url)
      await plain.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`)
      await plain.close()
      await expect(durabilityOf({ kind: 'postgres', options: { url } })).rejects.toThrow(
        /may lose what it has committed.*synchronous_commit is off, not on/,
      )
    },
  )

  it('is refused with the setting that is wrong', () => {
    refuseUnlessDurable('mysql', { innodb_flush_log_at_trx_commit: '1', innodb_doublewrite: 'ON' })
    const careless = { innodb_flush_log_at_trx_commit: '2', innodb_doublewrite: '1' }
    expect(() => refuseUnlessDurable('mysql', careless)).toThrow(
      'The mysql server may lose what it has committed, so nothing is measured: innodb_flush_log_at_trx_commit is 2, not 1.',
    )
    expect(() => refuseUnlessDurable('postgres', {})).toThrow(/fsync is undefined, not on/)
  })
})
