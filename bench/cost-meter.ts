/**
 * What the engine asks of a database: statements, round trips, commits that have written something, rows, bytes of log, and processor
 * time of the server. Two readings are compared; each counter only ever rises. What cannot be known is not a number.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseOptions } from '../src/index.ts'
import { connectPlainly, type PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'
import { countingSqlite, countMysql, countPostgres } from './driver-count.ts'
import { cpuOf, serverProcess } from './process-cpu.ts'

export interface Reading {
  readonly statements: number
  /** How often an answer was waited for; not a number where there is no server. */
  readonly roundTrips: number
  /** Transactions that have written something. */
  readonly commits: number
  /** Rows inserted, updated and deleted. */
  readonly rows: number
  /** Rows updated, and those of them whose new version stands on the same page, so that no index was written; PostgreSQL only. */
  readonly updates: number
  readonly hotUpdates: number
  readonly logBytes: number
  readonly serverCpuMs: number
  readonly nodeCpuMs: number
}

type Counters = Omit<Reading, 'serverCpuMs' | 'nodeCpuMs'>

export interface CostMeter {
  /** How the engine has to open the database, so that it can be counted. */
  readonly options: DatabaseOptions
  read(): Promise<Reading>
  /**
   * The same when nobody is connected any more: PostgreSQL is told of written rows late, but before a connection is gone. Only then can
   * rows and updates be relied on.
   */
  readSettled(): Promise<Reading>
  close(): Promise<void>
}

export async function openMeter(place: BenchDatabase): Promise<CostMeter> {
  const plain = await connectPlainly(place.kind, place.options.url)
  const { options, counters } = await ways[place.kind](place, plain)
  const server = await serverProcess(place.kind, plain)
  const read = async () => {
    const { user, system } = process.cpuUsage()
    const serverCpuMs = server === null ? Number.NaN : await cpuOf(server)
    return { ...(await counters()), serverCpuMs, nodeCpuMs: (user + system) / 1000 }
  }
  return {
    options,
    read,
    async readSettled() {
      if (place.kind === 'postgres') while (Number((await plain.query(others))[0]?.count) > 0) await delay(20)
      return read()
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
        roundTrips: Number.NaN,
        commits: count.commits,
        rows: count.rows(),
        ...noUpdates,
        logBytes: await bytesWritten(),
      }),
    }
  },
  async postgres({ options }, plain) {
    const count = countPostgres()
    return {
      options,
      async counters() {
        const { statements, roundTrips } = count
        const [row] = await plain.query(
          `select pg_snapshot_xmax(pg_current_snapshot())::text as commits, tup_inserted + tup_updated + tup_deleted as rows,
             pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes, updates, hot
           from pg_stat_database, (select sum(n_tup_upd) as updates, sum(n_tup_hot_upd) as hot from pg_stat_user_tables) u
           where datname = current_database()`,
        )
        const of = (name: string) => Number(row?.[name])
        const updates = { updates: of('updates'), hotUpdates: of('hot') }
        return { statements, roundTrips, commits: of('commits'), rows: of('rows'), ...updates, logBytes: of('bytes') }
      },
    }
  },
  async mysql({ options }, plain) {
    await plain.query(`set global innodb_monitor_enable = 'trx_rw_commits'`)
    const count = countMysql()
    return {
      options,
      async counters() {
        const { roundTrips } = count
        const rows = await plain.query(
          `select lower(variable_name) as name, variable_value as value from information_schema.global_status
           union all select name, count from information_schema.innodb_metrics where name = 'trx_rw_commits'`,
        )
        const values = new Map(rows.map(({ name, value }) => [name, Number(value)]))
        const of = (name: string) => values.get(name) ?? Number.NaN
        return {
          statements: of('questions'),
          roundTrips,
          commits: of('trx_rw_commits'),
          rows: of('handler_write') + of('handler_update') + of('handler_delete'),
          ...noUpdates,
          logBytes: of('innodb_os_log_written'),
        }
      },
    }
  },
}

/** Rows are changed in place, and whether an index was written nobody counts. */
const noUpdates = { updates: Number.NaN, hotUpdates: Number.NaN }

/** By this process, into whatever files: an embedded database writes its log and its pages itself. */
async function bytesWritten(): Promise<number> {
  const io = await readFile('/proc/self/io', 'utf8').catch(() => '')
  return Number(/^wchar: (\d+)/m.exec(io)?.[1] ?? Number.NaN)
}
