/**
 * What the engine asks of a database: statements, commits that have written something, rows, bytes of log, and processor
 * time of the server. Two readings are compared; each counter only ever rises. What cannot be known is not a number.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseOptions } from '../src/index.ts'
import { connectPlainly, type PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'
import { countingSqlite, countPostgresStatements } from './driver-count.ts'
import { cpuOf, serverProcess } from './process-cpu.ts'

export interface Reading {
  readonly statements: number
  /** Transactions that have written something. */
  readonly commits: number
  /** Rows inserted, updated and deleted. */
  readonly rows: number
  readonly logBytes: number
  readonly serverCpuMs: number
  readonly nodeCpuMs: number
}

type Counters = Omit<Reading, 'serverCpuMs' | 'nodeCpuMs'>

export interface CostMeter {
  /** How the engine has to open the database, so that it can be counted. */
  readonly options: DatabaseOptions
  read(): Promise<Reading>
  /** Waits until nobody is connected any more: a server learns of rows that were written late. */
  settle(): Promise<void>
  close(): Promise<void>
}

export async function openMeter(place: BenchDatabase): Promise<CostMeter> {
  const plain = await connectPlainly(place.kind, place.options.url)
  const { options, counters } = await ways[place.kind](place, plain)
  const server = await serverProcess(place.kind, plain)
  return {
    options,
    async read() {
      const { user, system } = process.cpuUsage()
      const serverCpuMs = server === null ? Number.NaN : await cpuOf(server)
      return { ...(await counters()), serverCpuMs, nodeCpuMs: (user + system) / 1000 }
    },
    async settle() {
      if (place.kind !== 'postgres') return
      while (Number((await plain.query(others))[0]?.count) > 0) await delay(20)
    },
    close: () => plain.close(),
  }
}

const others = `select count(*) as count from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`

type Way = (
  place: BenchDatabase,
  plain: PlainConnection,
) => Promise<{ readonly options: DatabaseOptions; counters(): Promise<Counters> }>

const ways: Readonly<Record<BenchDatabase['kind'], Way>> = {
  async sqlite({ options }) {
    const count = await countingSqlite()
    return {
      options: { ...options, driver: count.driver },
      counters: async () => ({
        statements: count.statements,
        commits: count.commits,
        rows: count.rows(),
        logBytes: await bytesWritten(),
      }),
    }
  },
  async postgres({ options }, plain) {
    const count = countPostgresStatements()
    return {
      options,
      async counters() {
        const { statements } = count
        const [row] = await plain.query(
          `select pg_snapshot_xmax(pg_current_snapshot())::text as commits, tup_inserted + tup_updated + tup_deleted as rows,
             pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes
           from pg_stat_database where datname = current_database()`,
        )
        return { statements, commits: Number(row?.commits), rows: Number(row?.rows), logBytes: Number(row?.bytes) }
      },
    }
  },
  async mysql({ options }, plain) {
    await plain.query(`set global innodb_monitor_enable = 'trx_rw_commits'`)
    return {
      options,
      async counters() {
        const rows = await plain.query(
          `select lower(variable_name) as name, variable_value as value from information_schema.global_status
           union all select name, count from information_schema.innodb_metrics where name = 'trx_rw_commits'`,
        )
        const values = new Map(rows.map(({ name, value }) => [name, Number(value)]))
        const of = (name: string) => values.get(name) ?? Number.NaN
        return {
          statements: of('questions'),
          commits: of('trx_rw_commits'),
          rows: of('handler_write') + of('handler_update') + of('handler_delete'),
          logBytes: of('innodb_os_log_written'),
        }
      },
    }
  },
}

/** By this process, into whatever files: an embedded database writes its log and its pages itself. */
async function bytesWritten(): Promise<number> {
  const io = await readFile('/proc/self/io', 'utf8').catch(() => '')
  return Number(/^wchar: (\d+)/m.exec(io)?.[1] ?? Number.NaN)
}
