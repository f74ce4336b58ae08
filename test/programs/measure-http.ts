/**
 * Measures how long every page of the HTTP API takes in a PostgreSQL database with very many workflows: fills one with SQL,
 * then asks each question again and again. `npm run measure:http -- --url postgres://... --workflows 1000000`.
 */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Geneva } from '../../src/index.ts'
import { workflowStates } from '../../src/store/records.ts'
import { everything } from '../http/http-world.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    workflows: { type: 'string' },
    rounds: { type: 'string' },
    keep: { type: 'boolean' },
  },
})
const count = Number(values.workflows ?? 1_000_000)
const rounds = Number(values.rounds ?? 20)
const name = 'geneva_http_measure'
const limitMs = 300

/** Of a hundred workflows: ninety finished, some that ended otherwise, a few that somebody has to look at, some that wait. */
const statements = (count: number): string[] => [
  `insert into geneva_drive_workflows (id, type, hero_type, hero_id, hero_id_kind, state, pause_cause, allow_multiple, generation,
     blocked_by, finishing, crooked, open_letters, watched, lane, input, created_at, paused_at, ended_at)
   select i, (array['greeting', 'failing', 'approved', 'wide', 'stopping'])[1 + i % 5], 'Order', (i % 200000)::text, 'number',
     case when i % 100 < 90 then 'finished' when i % 100 < 93 then 'failed' when i % 100 < 95 then 'canceled'
       when i % 2000 = 95 then 'paused' when i % 2000 = 96 then 'dlq' else 'ready' end,
     case when i % 2000 = 95 then 'exception' end, 1, 1, case when i % 2000 in (95, 96) then 'charge' end,
     0, 0, case when i % 2000 = 96 then 1 else 0 end, 0, '', '{"name":"somebody"}', t.now - (${count} - i) * 1000000::bigint,
     case when i % 2000 = 95 then t.now end, case when i % 100 < 95 then t.now - (${count} - i) * 1000000::bigint + 500000 end
   from generate_series(1, ${count}) i, (select (extract(epoch from now()) * 1000000)::bigint as now) t`,
  `insert into geneva_drive_step_executions (id, workflow_id, node, kind, attempt, ordinal, state, outcome, created_at, due_at,
     started_at, ended_at, error_class, error_message, completed_iterations, runs, ancestry_hash, parents)
   select w.id * 4 + s, w.id, (array['prepare', 'charge', 'ship'])[s], 'forward', 1, s,
     case when s = 2 and w.state in ('failed', 'paused', 'dlq') then 'failed' else 'completed' end,
     case when s = 2 and w.state in ('failed', 'paused', 'dlq') then 'dead_lettered' else 'success' end,
     w.created_at, w.created_at, w.created_at + s * 1000, w.created_at + s * 2000,
     case when s = 2 and w.state in ('failed', 'paused', 'dlq') then 'RangeError' end,
     case when s = 2 and w.state in ('failed', 'paused', 'dlq') then 'the card was declined' end, 0, 1, '', ''
   from geneva_drive_workflows w, generate_series(1, 3) s
   where s < 3 or w.state = 'finished' order by w.id, s`,
  `insert into geneva_drive_events (workflow_id, type, node, attempt, from_state, to_state, at, since)
   select w.id, (array['workflow.started', 'step.completed', 'step.completed', 'workflow.finished'])[s],
     case when s in (2, 3) then 'prepare' end, 1, 'ready', 'ready', w.created_at + s * 1000, w.created_at
   from geneva_drive_workflows w, generate_series(1, 4) s order by w.id, s`,
  `insert into geneva_drive_active_executions (workflow_id, slot, id, node, kind, attempt, ordinal, state, queue, handler, lane,
     generation, priority, created_at, due_at, sort_key, fence, failures, crashes, start_mark, completed_iterations, runs,
     ancestry_hash, parents)
   select w.id, '', ${count} * 4 + w.id, case when w.type = 'approved' then 'approve' else 'ship' end, 'forward', 1, 3,
     case when w.type = 'approved' then 'waiting' else 'scheduled' end, 'default', w.type, '', 1, 0, w.created_at,
     w.created_at + 1000000000000, case when w.type = 'approved' then null else w.created_at + 1000000000000 end,
     0, 0, 0, 0, 0, 0, '', ''
   from geneva_drive_workflows w where w.state = 'ready'`,
  `insert into geneva_drive_dead_letters (id, workflow_id, execution_id, node, kind, attempt, reason, error_class, error_message,
     state, created_at)
   select w.id, w.id, w.id * 4 + 2, 'charge', 'forward', 1, 'policy', 'RangeError', 'the card was declined', 'open', w.created_at
   from geneva_drive_workflows w where w.state = 'dlq'`,
  `insert into geneva_drive_tags (tag, workflow_id) select 'rare', w.id from geneva_drive_workflows w where w.id % 50000 = 1`,
  `select setval('geneva_drive_ids', ${count})`,
  'vacuum analyze',
]

const pages = (middle: number): string[] => [
  '/overview',
  '/workflows',
  `/workflows?cursor=${middle}`,
  '/workflows?limit=500',
  ...['active', ...workflowStates].flatMap(state => [`/workflows?state=${state}`, `/workflows/count?state=${state}`]),
  '/workflows?type=wide',
  '/workflows?type=none',
  '/workflows?type=wide&state=failed',
  '/workflows?hero=Order:4711',
  '/workflows?q=4711',
  '/workflows?q=47',
  `/workflows?q=${middle}`,
  '/workflows?q=nothing-like-that',
  '/workflows?tag=rare',
  '/workflows?at=charge',
  '/workflows?at=approve',
  '/workflows?at=nowhere',
  '/workflows?error=declined',
  '/workflows?error=nothing-like-that',
  '/workflows?error=declined&state=finished',
  '/workflows?createdBefore=2001-01-01',
  '/workflows?createdAfter=2100-01-01',
  '/workflows/count',
  '/workflows/count?type=none',
  '/workflows/count?error=declined',
  `/workflows/${middle}`,
  `/workflows/${middle}/graph`,
  `/workflows/${middle}/history`,
  `/workflows/${middle}/events`,
  `/workflows/${middle}/explain`,
  '/heroes/Order/4711',
  '/approvals',
  `/approvals?cursor=${middle}`,
  '/dead-letters',
  '/dead-letters?state=all',
  '/schedules',
  '/queues',
  '/workers',
  '/definitions',
  '/definitions/failing',
  '/events',
  '/events?last=100',
  '/health',
]

function url(database: string): string {
  const whole = new URL(values.url ?? process.env.GENEVA_TEST_POSTGRES_URL ?? 'postgres://localhost/postgres')
  if (database !== '') whole.pathname = `/${database}`
  return whole.href
}

async function run(database: string, texts: readonly string[]): Promise<void> {
  const client = new pg.Client(url(database))
  await client.connect()
  for (const text of texts) {
    const begun = performance.now()
    await client.query(text)
    console.error(
      `${((performance.now() - begun) / 1000).toFixed(1)} s  ${text.trim().slice(0, 60).replace(/\s+/g, ' ')}`,
    )
  }
  await client.end()
}

const exists = async () => {
  const client = new pg.Client(url(''))
  await client.connect()
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name])
  await client.end()
  return rowCount === 1
}

const fresh = !(await exists())
if (fresh) await run('', [`create database ${name} template template0`])
const geneva = new Geneva({ ...everything, database: url(name) })
await geneva.migrate()
if (fresh) await run(name, statements(count))
const handle = geneva.handler({ authorize: () => ({ role: 'admin', by: 'measure' }) })
const slow: string[] = []
for (const page of pages(Math.floor(count / 2 / 5) * 5 + 1)) {
  const times: number[] = []
  let bytes = 0
  let status = 0
  for (let i = 0; i < rounds + 2; i++) {
    const begun = performance.now()
    const response = await handle(new Request(`http://localhost/api${page}`))
    bytes = (await response.text()).length
    status = response.status
    // The first two warm it up.
    if (i >= 2) times.push(performance.now() - begun)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
  if (p95 > limitMs) slow.push(page)
  console.log(
    `${p95.toFixed(1).padStart(8)} ms p95  ${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(1).padStart(8)} ms p50  ${status}  ${String(bytes).padStart(7)} bytes  ${page}`,
  )
}
await geneva.close()
if (values.keep !== true) await run('', [`drop database ${name} with (force)`])
console.log(slow.length === 0 ? `All within ${limitMs} ms.` : `Over ${limitMs} ms: ${slow.join(', ')}`)
process.exitCode = slow.length === 0 ? 0 : 1
