/**
 * What each command of `geneva` prints with `--json`, by its name. Where the API answers the same question the shape is the
 * API's own; the rest is declared here, so that the API document holds every shape that a program may have to read.
 */
import { z } from 'zod'
import * as wire from './wire-schemas.ts'

const text = z.string()
const count = z.number().int().min(0)
const ms = z.number().min(0)
const items = <Item extends z.ZodType>(item: Item) => z.strictObject({ items: z.array(item) })

export const pruned = z.strictObject({ workflows: count, complete: z.boolean() })
export const drawn = z.strictObject({ format: text, drawing: text })
export const undone = z.strictObject({ steps: z.array(wire.rollbackStep) })
export const triggered = z.strictObject({ workflowId: text })

/** The answer to a request to many: first what it would find, then what it has done. */
export const changedMany = z.union([
  z.strictObject({
    dryRun: z.literal(true),
    count,
    capped: z.boolean(),
    sample: z.array(wire.workflowSummary),
  }),
  z.strictObject({
    dryRun: z.literal(false),
    found: count,
    changed: count,
    refused: z.array(z.strictObject({ id: text, message: text })),
  }),
])

/** An event as `geneva.events()` gives it: what every event says, and of the rest what its type has. */
const recordedEvent = z.strictObject({
  position: text,
  type: text,
  workflowId: text,
  workflow: text,
  at: wire.time,
  by: text.nullable(),
  reason: text.nullable(),
  from: text.nullable().optional(),
  to: text.nullable().optional(),
  executionId: text.nullable().optional(),
  step: text.nullable().optional(),
  signal: text.optional(),
  attempt: count.nullable().optional(),
  outcome: text.nullable().optional(),
  error: z.strictObject({ className: text, message: text }).nullable().optional(),
  waitedMs: ms.optional(),
  ranMs: ms.nullable().optional(),
  lastedMs: ms.nullable().optional(),
  pausedMs: ms.nullable().optional(),
  cause: text.nullable().optional(),
  decision: text.nullable().optional(),
  removed: z.array(text).optional(),
  payload: z.json().optional(),
})

const wholeWorkflow = z.strictObject({
  workflow: wire.workflowDetail,
  graph: wire.graph,
  history: z.array(wire.attempt),
  explanation: wire.explanation,
})

const spread = z.strictObject({ p50: ms, p95: ms, p99: ms, max: ms, total: ms })
const nodeStats = z.strictObject({
  workflow: text,
  step: text,
  executions: count,
  failed: count,
  took: spread,
  waited: spread,
})
const stats = z.strictObject({
  since: wire.time,
  until: wire.time,
  executions: count,
  sampled: z.boolean(),
  slowest: z.array(nodeStats),
  bottlenecks: z.array(nodeStats),
  failures: z.array(z.strictObject({ workflow: text, step: text, outcome: text, errorClass: text.nullable(), count })),
  queues: z.array(z.strictObject({ queue: text, handler: text, due: count, oldestMs: ms })),
})

const stuck = z.strictObject({
  kind: z.enum(['no_worker', 'not_claimed', 'queue_paused', 'lease_lost', 'paused', 'dlq', 'schedule_late']),
  workflowId: text.nullable(),
  name: text,
  step: text.nullable(),
  queue: text.nullable(),
  since: wire.time,
  why: text,
})

const check = z.strictObject({
  ok: z.boolean(),
  workflows: count,
  findings: z.array(
    z.strictObject({
      type: text,
      verdict: z.enum(['unchanged', 'heals', 'needs_map', 'orphaned']),
      what: text,
      count,
      examples: z.array(text),
    }),
  ),
})

const doctor = z.strictObject({
  ok: z.boolean(),
  workflows: count,
  omitted: count,
  findings: z.array(
    z.strictObject({
      workflowId: text,
      workflow: text,
      kind: text,
      executionId: text.nullable(),
      node: text.nullable(),
      problem: text,
      remedy: text,
    }),
  ),
})

const migrate = z.union([
  z.strictObject({ upToDate: z.boolean(), message: text, version: count.optional(), latest: count.optional() }),
  z.strictObject({
    version: count,
    latest: count,
    keyType: z.enum(['bigint', 'uuid']),
    statements: z.array(text),
  }),
])

const init = z.strictObject({
  database: text,
  framework: text,
  language: text,
  migrations: text.nullable(),
  keyType: text.nullable(),
  files: z.array(z.strictObject({ path: text, action: z.enum(['written', 'kept']), what: text })),
  warning: text.nullable(),
  next: z.array(z.strictObject({ command: text, why: text })),
})

const steered = z.union([wire.workflowDetail, changedMany])
const letters = items(wire.deadLetterDetail)

/** By the words of the command. With `--watch` and `--follow`, one such document a line. */
export const commandDocuments: Readonly<Record<string, z.ZodType>> = {
  init,
  migrate,
  worker: z.strictObject({ executions: count }),
  start: wire.workflowDetail,
  list: wire.workflowPage,
  executions: wire.page(wire.execution),
  show: wholeWorkflow,
  explain: wire.explanation,
  graph: drawn,
  events: recordedEvent,
  dashboard: z.strictObject({ url: text, readOnly: z.boolean() }),
  pause: steered,
  resume: steered,
  skip: steered,
  resolve: steered,
  reattempt: steered,
  cancel: z.union([steered, undone]),
  abort: steered,
  decide: wire.workflowDetail,
  signal: wire.workflowDetail,
  'dlq list': wire.page(wire.deadLetter),
  'dlq show': wire.deadLetterDetail,
  'dlq requeue': letters,
  'dlq discard': letters,
  'queues list': items(wire.queue),
  'queues pause': wire.queue.nullable(),
  'queues resume': wire.queue.nullable(),
  'schedule list': items(wire.schedule),
  'schedule pause': wire.schedule.nullable(),
  'schedule resume': wire.schedule.nullable(),
  'schedule trigger': triggered,
  stats,
  stuck: items(stuck),
  health: wire.health,
  requests: wire.page(wire.request),
  check,
  doctor,
  prune: pruned,
}
