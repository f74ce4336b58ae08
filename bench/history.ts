/**
 * Tables with so many executions that have ended, all copies of those of one workflow that really ran: made by SQL, because
 * running millions takes hours. The tables of a set have a prefix of their own, so that several sets stand side by side.
 */
import { type Geneva, Workflow } from '../src/index.ts'
import type { PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

/** What the copies are made of. */
export class Past extends Workflow {
  static {
    for (const step of ['one', 'two', 'three', 'four', 'five'] as const) this.step(step)
  }
  async one() {
    return { total: 1250, currency: 'EUR' }
  }
  async two() {}
  async three() {}
  async four() {}
  async five() {}
}

export const stepsOfPast = 5

export interface History {
  /** The ids of some of its workflows, from the whole of it. */
  sample(count: number): string[]
  /** What its tables take on disk, indexes included. */
  readonly bytes: number
}

/** Fills tables that are empty. Executions come in fives. */
export async function seedHistory(
  { geneva, database, plain }: { geneva: Geneva; database: BenchDatabase; plain: PlainConnection },
  executions: number,
): Promise<History> {
  const prefix = database.options.prefix ?? ''
  const before = await bytesOf(plain, database)
  const past = await geneva.start(Past)
  await geneva.runDue()
  const last = Number((await past.history()).reduce((most, { id }) => (Number(id) > Number(most) ? id : most), past.id))
  const stride = last - Number(past.id) + 1
  if (stride > 1000) throw new Error(`The ids of one workflow lie ${stride} apart: too many to be skipped.`)
  const copies = executions / stepsOfPast - 1
  await passOver(geneva, last + copies * stride)
  const copier = new Copier(plain, prefix, { id: past.id, stride })
  for (let from = 0; from < copies; from += atOnce) await copier.copy(from, Math.min(copies, from + atOnce))
  await copier.end()
  for (const statement of gathering[database.kind](prefix)) await plain.query(statement)
  const idOf = (copy: number) => String(Number(past.id) + copy * stride)
  return {
    sample: count => Array.from({ length: count }, (_, index) => idOf(Math.floor((index * (copies + 1)) / count))),
    bytes: (await bytesOf(plain, database)) - before,
  }
}

/** Workflows in one statement: a power of ten. */
const atOnce = 10_000

/** The ids of the copies must not be given to others. */
async function passOver(geneva: Geneva, id: number): Promise<void> {
  const store = await geneva.openedStore()
  while (Number((await store.takeIds(100_000)).at(-1)) <= id);
}

interface Original {
  readonly id: string
  readonly stride: number
}

class Copier {
  readonly #plain: PlainConnection
  readonly #prefix: string
  readonly #original: Original

  constructor(plain: PlainConnection, prefix: string, original: Original) {
    this.#plain = plain
    this.#prefix = prefix
    this.#original = original
  }

  async end(): Promise<void> {
    for (const table of seeded) await this.#plain.query(`drop table if exists ${this.#prefix}${table}_original`)
  }

  /** Each copy a millisecond older than the one before, so that times are as spread as they would be. */
  async copy(from: number, to: number): Promise<void> {
    const { id } = this.#original
    await this.#table('workflows', { where: `id = ${id}`, ids: ['id'], leaveOut: ['active_flag'] }, [from, to])
    const own = { where: `workflow_id = ${id}` }
    await this.#table('step_executions', { ...own, ids: ['id', 'workflow_id'], leaveOut: [] }, [from, to])
    await this.#table('events', { ...own, ids: ['workflow_id', 'execution_id'], leaveOut: ['id'] }, [from, to])
  }

  async #table(
    name: string,
    { where, ids, leaveOut }: { where: string; ids: readonly string[]; leaveOut: readonly string[] },
    [from, to]: readonly [number, number],
  ): Promise<void> {
    const table = `${this.#prefix}${name}`
    const [row = {}] = await this.#plain.query(`select * from ${table} where ${where} limit 1`)
    const columns = Object.keys(row).filter(column => !leaveOut.includes(column))
    const values = columns.map(column => {
      if (ids.includes(column)) return `o.${column} + (n.n + 1) * ${this.#original.stride}`
      return isTime(column) ? `o.${column} - (n.n + 1) * 1000` : `o.${column}`
    })
    // The rows to copy stand in a table of their own: a statement that reads what it writes would be kept aside by some
    // databases, in files.
    const original = `${table}_original`
    if (from === 0) await this.#plain.query(`create table ${original} as select * from ${table} where ${where}`)
    await this.#plain.query(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ${numbers(from, to)} n
       cross join ${original} o`,
    )
  }
}

function isTime(column: string): boolean {
  return column === 'at' || column === 'since' || column.endsWith('_at')
}

/** A row per number, in the SQL that all databases have. */
function numbers(from: number, to: number): string {
  const digit = Array.from({ length: 10 }, (_, value) => `select ${value} as d`).join(' union all ')
  const powers = Array.from({ length: Math.log10(atOnce) }, (_, power) => power)
  const sum = powers.map(power => `p${power}.d * ${10 ** power}`).join(' + ')
  const tables = powers.map(power => `(${digit}) p${power}`).join(' cross join ')
  return `(select ${from} + ${sum} as n from ${tables} where ${from} + ${sum} < ${to})`
}

const seeded = ['workflows', 'step_executions', 'events']

/** What a server does by itself after a while. A file has nobody who does. */
const gathering: Readonly<Record<BenchDatabase['kind'], (prefix: string) => readonly string[]>> = {
  sqlite: () => [],
  postgres: prefix => seeded.map(table => `vacuum analyze ${prefix}${table}`),
  mysql: prefix => seeded.map(table => `analyze table ${prefix}${table}`),
}

/** Of a server's tables with the prefix, of a file all. */
async function bytesOf(plain: PlainConnection, { kind, options }: BenchDatabase): Promise<number> {
  const like = `like '${options.prefix}%'`
  const statements = {
    sqlite: 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()',
    postgres: `select coalesce(sum(pg_total_relation_size(oid)), 0) as bytes from pg_class where relkind = 'r' and relname ${like}`,
    mysql: `select sum(data_length + index_length) as bytes from information_schema.tables
      where table_schema = database() and table_name ${like}`,
  }
  const [row] = await plain.query(statements[kind])
  return Number(row?.bytes ?? 0)
}
