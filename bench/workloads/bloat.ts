/**
 * What a transaction that somebody has forgotten costs everybody else: the server must keep every row version since then, and
 * whoever looks for work may have to pass by all of them. The same load for the same time, without one and beside one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { PlainConnection } from '../../test/support/plain-sql.ts'
import { connectPlainly } from '../../test/support/plain-sql.ts'
import { type Claim, ClaimCount } from '../claim-count.ts'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import { type Bench, lastSteps, startSet, stepsOfFive, withEngine, workerOptions } from '../five-steps.ts'
import { cpuOf, serverProcess } from '../process-cpu.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

const openings: Readonly<Record<BenchDatabase['kind'], readonly string[]>> = {
  sqlite: [],
  postgres: ['begin isolation level repeatable read', 'select count(*) from geneva_drive_workflows'],
  mysql: [
    'set session transaction isolation level repeatable read',
    'start transaction with consistent snapshot',
    'select count(*) from geneva_drive_workflows',
  ],
}

function load(name: string, holdsSnapshot: boolean): Case {
  return {
    name,
    async measure(database, size, { seconds }) {
      // A file has no server whose work could be measured.
      if (database.kind === 'sqlite') return []
      return inFreshPlace(database, place =>
        withEngine(place, async bench => {
          const claims = new ClaimCount(await bench.geneva.openedStore())
          await bench.geneva.startWorker(workerOptions)
          await feed(bench, { seconds: size === 'full' ? 5 : 0.2, size })
          const forgotten = await connectPlainly(place.kind, place.options.url)
          try {
            if (holdsSnapshot) for (const statement of openings[place.kind]) await forgotten.query(statement)
            claims.all.length = 0
            return await measured(place, bench, { claims, seconds: size === 'full' ? seconds : 1, size })
          } finally {
            await forgotten.close()
          }
        }),
      )
    },
  }
}

async function measured(
  place: BenchDatabase,
  bench: Bench,
  { claims, seconds, size }: { readonly claims: ClaimCount; readonly seconds: number; readonly size: Size },
): Promise<Measurement[]> {
  const server = await serverProcess(place.kind, bench.plain)
  const cpu = async () => (server === null ? Number.NaN : cpuOf(server))
  const cpuBefore = await cpu()
  const begun = performance.now()
  const steps = (await feed(bench, { seconds, size })) * stepsOfFive
  const ms = performance.now() - begun
  const cpuMs = (await cpu()) - cpuBefore
  return [
    { what: 'server CPU', value: (cpuMs * 1000) / steps, unit: 'µs/step' },
    { what: 'throughput', value: (steps * 1000) / ms, unit: 'steps/s' },
    { what: 'claim, first tenth', value: meanMs(claims.all.slice(0, claims.all.length / 10)), unit: 'ms' },
    { what: 'claim, last tenth', value: meanMs(claims.all.slice((claims.all.length * 9) / 10)), unit: 'ms' },
    { what: 'disk', value: (await bytesOf(place.kind, bench.plain)) / 2 ** 20, unit: 'MB' },
  ].filter(({ value }) => !Number.isNaN(value))
}

const backlog: Readonly<Record<Size, number>> = { full: 2_000, tiny: 20 }

/** Keeps a backlog of workflows for so long, and resolves when all have run: how many there were. */
async function feed({ geneva }: Bench, { seconds, size }: { seconds: number; size: Size }): Promise<number> {
  const until = performance.now() + seconds * 1000
  const before = lastSteps.count
  let started = 0
  while (performance.now() < until) {
    const room = backlog[size] - (started - (lastSteps.count - before))
    if (room >= backlog[size] / 4) {
      await startSet(geneva, room)
      started += room
    } else await delay(5)
  }
  while (lastSteps.count - before < started) await delay(5)
  return started
}

function meanMs(claims: readonly Claim[]): number {
  return claims.reduce((sum, { ms }) => sum + ms, 0) / claims.length
}

async function bytesOf(kind: BenchDatabase['kind'], plain: PlainConnection): Promise<number> {
  const statement =
    kind === 'postgres'
      ? 'select pg_database_size(current_database()) as bytes'
      : 'select sum(data_length + index_length) as bytes from information_schema.tables where table_schema = database()'
  return Number((await plain.query(statement))[0]?.bytes)
}

export const workload: Workload = {
  about: 'Server time per step beside a snapshot that somebody holds, and without one.',
  cases: [load('no snapshot', false), load('snapshot held', true)],
}
