/** The limit on MariaDB: each set is a transaction in one packet, a claim in two. */
import { createPool, type RowDataPacket } from 'mysql2/promise'
import {
  claimed,
  due,
  ended,
  endedIn,
  type LimitRow,
  type LimitStore,
  lastStep,
  type Rows,
  rowOf,
} from './limit-store.ts'

const tables = `
  create table limit_workflows (id bigint primary key, state tinyint not null) engine = innodb;
  create table limit_executions (id bigint primary key, workflow_id bigint not null, step tinyint not null,
    state tinyint not null, key due (state, id)) engine = innodb;
  create table limit_history (id bigint primary key, workflow_id bigint not null, step tinyint not null,
    state tinyint not null) engine = innodb;
`

// All values are numbers of our own.
const written: Readonly<Record<Rows, (rows: readonly LimitRow[], isClaimed: string) => string[]>> = {
  one: (_, isClaimed) => [`update limit_executions set state = ${ended} where ${isClaimed}`],
  two: (rows, isClaimed) => [
    `delete from limit_executions where ${isClaimed}`,
    `insert into limit_history values ${rows.map(row => `(${row.id},${row.workflow},${row.step},${ended})`)}`,
  ],
}

const connections = 4

/** A set that the server broke up because two waited for each other has left nothing behind, and is written again. */
async function unbroken<T>(write: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const isBroken = error instanceof Error && 'code' in error && error.code === 'ER_LOCK_DEADLOCK'
    if (!isBroken || tries <= 1) throw error
    return unbroken(write, tries - 1)
  }
}

export function openMysqlLimit(url: string, rowsOfAStep: Rows): LimitStore {
  const pool = createPool({ uri: url, connectionLimit: connections, multipleStatements: true })
  pool.on('connection', connection => connection.query('set session transaction isolation level read committed'))
  const together = (...statements: string[]) =>
    unbroken(() => pool.query(['start transaction', ...statements, 'commit'].join(';')))
  const count = async (table: string) => {
    const [rows] = await pool.query<RowDataPacket[]>(`select count(*) as count from ${table} where state = ${ended}`)
    return Number(rows[0]?.count)
  }
  return {
    prepare: async () => void (await pool.query(tables)),
    async start(workflows, state) {
      const first = workflows.map(workflow => rowOf(workflow, 1))
      await together(
        `insert into limit_workflows values ${workflows.map(id => `(${id},${due})`)}`,
        `insert into limit_executions values ${first.map(row => `(${row.id},${row.workflow},1,${state})`)}`,
      )
    },
    claim: limit =>
      unbroken(async () => {
        const connection = await pool.getConnection()
        try {
          const [[, rows = []]] = await connection.query<RowDataPacket[][]>(
            `start transaction; select id, workflow_id, step from limit_executions where state = ${due} order by id
             limit ${limit} for update skip locked`,
          )
          const ids = rows.map(({ id }) => id)
          const take = `update limit_executions set state = ${claimed} where id in (${ids})`
          await connection.query(ids.length > 0 ? `${take};commit` : 'commit')
          return rows.map(row => rowOf(row.workflow_id, row.step))
        } finally {
          connection.release()
        }
      }),
    async finish(rows, next) {
      const goOn = rows.filter(({ step }) => step < lastStep).map(({ workflow, step }) => rowOf(workflow, step + 1))
      const over = rows.filter(({ step }) => step === lastStep)
      const statements = written[rowsOfAStep](rows, `id in (${rows.map(({ id }) => id)}) and state = ${claimed}`)
      const values = goOn.map(row => `(${row.id},${row.workflow},${row.step},${next})`)
      if (goOn.length > 0) statements.push(`insert into limit_executions values ${values}`)
      const ids = over.map(({ workflow }) => workflow)
      if (over.length > 0) statements.push(`update limit_workflows set state = ${ended} where id in (${ids})`)
      await together(...statements)
    },
    ended: async () => ({ workflows: await count('limit_workflows'), steps: await count(endedIn[rowsOfAStep]) }),
    close: () => pool.end(),
  }
}
