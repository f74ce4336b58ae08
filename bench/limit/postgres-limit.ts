/** The limit on PostgreSQL: one statement, one commit and one round trip for each set. */
import pg from 'pg'
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
  create table limit_workflows (id bigint primary key, state smallint not null);
  create table limit_executions (id bigint primary key, workflow_id bigint not null, step smallint not null,
    state smallint not null) with (fillfactor = 70);
  create index limit_due on limit_executions (id) where state = ${due};
  create table limit_history (id bigint primary key, workflow_id bigint not null, step smallint not null,
    state smallint not null);
`

const start = `
  with started as (insert into limit_workflows select unnest($1::bigint[]), ${due} returning id)
  insert into limit_executions select id * ${lastStep} + 1, id, 1, $2::smallint from started`

const claim = `
  update limit_executions set state = ${claimed} where id = any(array(
    select id from limit_executions where state = ${due} order by id limit $1 for update skip locked))
  returning id, workflow_id, step`

// The sum keeps the planner from going through the index of what is due, which knows nothing of these rows.
const isClaimed = `e.id = d.id and e.state + 0 = ${claimed}`
const written: Readonly<Record<Rows, string>> = {
  one: `written as (update limit_executions e set state = ${ended} from done d where ${isClaimed})`,
  two: `gone as (delete from limit_executions e using done d where ${isClaimed} returning e.id, e.workflow_id, e.step),
  written as (insert into limit_history select id, workflow_id, step, ${ended} from gone)`,
}

const finish = (rows: Rows) => `
  with done as (select * from unnest($1::bigint[], $2::bigint[], $3::smallint[]) as d (id, workflow_id, step)),
  ${written[rows]},
  next as (insert into limit_executions
    select id + 1, workflow_id, step + 1, $4::smallint from done where step < ${lastStep})
  update limit_workflows w set state = ${ended} from done d where d.step = ${lastStep} and w.id = d.workflow_id`

const connections = 4

export function openPostgresLimit(url: string, rowsOfAStep: Rows): LimitStore {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // A connection that is on its way out may still hear that its database is dropped. What fails in a statement rejects there.
  pool.on('error', () => {})
  const finishStep = finish(rowsOfAStep)
  const run = async (name: string, text: string, values: unknown[]) => (await pool.query({ name, text, values })).rows
  const count = async (table: string) => {
    const { rows } = await pool.query(`select count(*) as count from ${table} where state = ${ended}`)
    return Number(rows[0].count)
  }
  return {
    prepare: async () => void (await pool.query(tables)),
    start: async (workflows, state) => void (await run('start', start, [workflows, state])),
    claim: async limit => (await run('claim', claim, [limit])).map(row => rowOf(Number(row.workflow_id), row.step)),
    finish: async (rows, next) => void (await run('finish', finishStep, [...columns(rows), next])),
    ended: async () => ({ workflows: await count('limit_workflows'), steps: await count(endedIn[rowsOfAStep]) }),
    close: () => pool.end(),
  }
}

function columns(rows: readonly LimitRow[]): number[][] {
  return [rows.map(({ id }) => id), rows.map(({ workflow }) => workflow), rows.map(({ step }) => step)]
}
