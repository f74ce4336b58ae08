/** The limit on SQLite: each set is a transaction of prepared statements, row by row. */
import { openSqliteHandle } from '../../src/store/sqlite/sqlite-driver.ts'
import { claimed, due, ended, endedIn, type LimitStore, lastStep, type Rows, rowOf } from './limit-store.ts'

const tables = `
  create table limit_workflows (id integer primary key, state integer not null);
  create table limit_executions (id integer primary key, workflow_id integer not null, step integer not null,
    state integer not null);
  create index limit_due on limit_executions (id) where state = ${due};
  create table limit_history (id integer primary key, workflow_id integer not null, step integer not null,
    state integer not null);
`

const taken: Readonly<Record<Rows, string>> = {
  one: `update limit_executions set state = ${ended}`,
  two: 'delete from limit_executions',
}

export async function openSqliteLimit(
  path: string,
  synchronous: 'full' | 'normal',
  rowsOfAStep: Rows,
): Promise<LimitStore> {
  const handle = await openSqliteHandle(path)
  handle.exec('pragma journal_mode = wal')
  handle.exec(`pragma synchronous = ${synchronous}`)
  handle.exec(tables)
  const [begin, commit] = [handle.prepare('begin immediate'), handle.prepare('commit')]
  const insertWorkflow = handle.prepare(`insert into limit_workflows values (?, ${due})`)
  const insert = handle.prepare('insert into limit_executions values (?, ?, ?, ?)')
  const claim = handle.prepare(
    `update limit_executions set state = ${claimed} where id in
       (select id from limit_executions where state = ${due} order by id limit ?) returning workflow_id, step`,
  )
  const finish = handle.prepare(`${taken[rowsOfAStep]} where id = ? and state = ${claimed}`)
  const keep = rowsOfAStep === 'two' ? handle.prepare(`insert into limit_history values (?, ?, ?, ${ended})`) : null
  const finishWorkflow = handle.prepare(`update limit_workflows set state = ${ended} where id = ?`)
  const together = (work: () => void) => {
    begin.run()
    work()
    commit.run()
  }
  const count = (table: string) => {
    const [row] = handle.prepare(`select count(*) as count from ${table} where state = ${ended}`).all()
    return (row as { count: number }).count
  }
  return {
    prepare: async () => {},
    async start(workflows, state) {
      together(() => {
        for (const workflow of workflows) {
          insertWorkflow.run(workflow)
          insert.run(rowOf(workflow, 1).id, workflow, 1, state)
        }
      })
    },
    async claim(limit) {
      const rows = claim.all(limit) as { workflow_id: number; step: number }[]
      return rows.map(row => rowOf(row.workflow_id, row.step))
    },
    async finish(rows, next) {
      together(() => {
        for (const { id, workflow, step } of rows) {
          finish.run(id)
          keep?.run(id, workflow, step)
          if (step === lastStep) finishWorkflow.run(workflow)
          else insert.run(id + 1, workflow, step + 1, next)
        }
      })
    },
    ended: async () => ({ workflows: count('limit_workflows'), steps: count(endedIn[rowsOfAStep]) }),
    close: async () => handle.close(),
  }
}
