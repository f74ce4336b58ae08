/** Who works here, and what is defined: workers with what they hold, and the newest graph of each type. */
import type { WorkerServes } from '../../records.ts'
import type { DefinitionView, WorkerView } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { int, json, text } from '../decode.ts'
import type { Row } from '../dialect.ts'
import { sql } from '../sql.ts'

export async function readWorkers(context: SqlContext): Promise<{ now: number; workers: WorkerView[] }> {
  const { workers, active } = context.tables
  const [clock = [], rows = [], held = []] = await context.snapshot([
    sql`select ${context.leaseNow} as now`,
    sql`select k.id, k.host, k.pid, k.state, k.started_at, k.lease_until, k.handlers, k.serves from ${workers} k order by k.started_at, k.id`,
    sql`select a.owner, count(*) as running from ${active} a where a.owner is not null group by a.owner`,
  ])
  const now = clock[0] ? int(clock[0], 'now') : 0
  const running = new Map(held.map(row => [text(row, 'owner'), int(row, 'running')]))
  return { now, workers: rows.map(row => workerView(row, now, running.get(text(row, 'id')) ?? 0)) }
}

function workerView(row: Row, now: number, running: number): WorkerView {
  const serves = json(row, 'serves')
  const leaseUntil = int(row, 'lease_until')
  return {
    id: text(row, 'id'),
    host: text(row, 'host'),
    pid: int(row, 'pid'),
    alive: text(row, 'state') === 'alive' && leaseUntil >= now,
    startedAt: int(row, 'started_at'),
    leaseUntil,
    handlers: JSON.parse(json(row, 'handlers') ?? '[]') as string[],
    queues: serves === null ? null : (JSON.parse(serves) as WorkerServes).queues,
    running,
  }
}

export async function readDefinitions(context: SqlContext): Promise<DefinitionView[]> {
  const { definitions } = context.tables
  const rows = await context.read(
    sql`select d.type, d.generation, d.created_at from ${definitions} d
      join (select n.type, max(n.generation) as generation from ${definitions} n group by n.type) m
        on m.type = d.type and m.generation = d.generation
      order by d.type`,
  )
  return rows.map(row => ({
    type: text(row, 'type'),
    generation: int(row, 'generation'),
    createdAt: int(row, 'created_at'),
  }))
}
