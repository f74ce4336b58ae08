/**
 * A worker process under limits: its steps write down in a table that they run, and tell how many do, over all processes. What
 * a killed process leaves there is removed by whoever killed it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva, Workflow } from '../../src/index.ts'
import type { CrashWorkerConfig } from './crash-worker.ts'
import { openAccess, type PlainAccess } from './harness/plain-access.ts'

export const mostInQueue = 4
export const mostOfKey = 2
const bodyMs = 40

let access: PlainAccess | null = null
const tell = (message: object) => void (process.connected && process.send?.(message))

async function occupy(execution: string, key: string): Promise<void> {
  if (access === null) return
  const table = access.table('running_now')
  await access.query(`insert into ${table} (execution, pid, tenant) values ('${execution}', ${process.pid}, '${key}')`)
  const rows = await access.query(`select tenant, count(*) as count from ${table} group by tenant`)
  const counts = rows.map(row => [String(row.tenant), Number(row.count)] as const)
  tell({ running: counts.reduce((sum, [, count]) => sum + count, 0), ofKey: Math.max(...counts.map(([, n]) => n)) })
  await pause(bodyMs)
  await access.query(`delete from ${table} where execution = '${execution}'`)
}

export class Limited extends Workflow<null, { tenant: string }> {
  static {
    this.jobOptions({ queue: 'narrow', perKey: { key: wf => wf.input.tenant, concurrency: mostOfKey } })
    this.step('one')
    this.step('two')
    this.step('three')
  }
  one() {
    return occupy(`${this.execution.id}`, this.input.tenant)
  }
  two() {
    return occupy(`${this.execution.id}`, this.input.tenant)
  }
  three() {
    return occupy(`${this.execution.id}`, this.input.tenant)
  }
}

export const limitedOptions = { workflows: [Limited], queues: { narrow: { concurrency: mostInQueue } } }

if (process.argv[2]?.startsWith('{')) {
  const config: CrashWorkerConfig = JSON.parse(process.argv[2])
  // The test may be gone before us; then there is nobody left to tell.
  process.on('error', () => {})
  access = await openAccess(config.url)
  const geneva = new Geneva({
    ...limitedOptions,
    database: config.url,
    onError: error => tell({ error: String(error) }),
  })
  await geneva.migrate()
  const working = geneva.work(config.options)
  tell({ ready: process.pid })
  await working
  await access.close()
  process.channel?.unref()
}
