/** The shapes that travel: every answer of the API is held to one of these, and the API document is made from them. */
import { z } from 'zod'
import { workflowStates } from '../store/records.ts'

export const time = z.iso.datetime()
const text = z.string()
const count = z.number().int().min(0)
const ms = z.number().min(0)
/** A payload in the form in which it is stored: JSON, with tags for dates and the like. */
export const payload = z
  .json()
  .meta({ description: 'JSON; what JSON does not know is { "$geneva": tag, "value": ... }' })

export const problem = z.strictObject({
  error: z.strictObject({ code: text, message: text, remedy: text.optional() }),
})
export const done = z.strictObject({ ok: z.literal(true) })

export const workflowState = z.enum(workflowStates)
export const hero = z.strictObject({ type: text, id: text })

export function page<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item), nextCursor: text.nullable() })
}

const summaryShape = {
  id: text,
  type: text,
  hero: hero.nullable(),
  state: workflowState,
  at: z.array(text),
  createdAt: time,
  updatedAt: time,
  endedAt: time.nullable(),
  priority: z.number().nullable(),
  queue: text.nullable(),
  error: text.nullable(),
  progress: z.strictObject({ done: count, total: count }).nullable(),
  frozen: z.boolean(),
}
export const workflowSummary = z.strictObject(summaryShape)
export const workflowPage = page(workflowSummary).extend({ capped: z.boolean() })

export const decision = z.strictObject({
  executionId: text,
  node: text,
  decision: z.enum(['confirmed', 'rejected']),
  by: text,
  comment: text.nullable(),
  data: payload,
  at: time,
})

export const workflowDetail = z.strictObject({
  ...summaryShape,
  input: payload,
  output: payload,
  tags: z.array(text),
  idempotencyKey: text.nullable(),
  parent: z.strictObject({ id: text, node: text }).nullable(),
  children: z.array(workflowSummary),
  continuedAs: text.nullable(),
  continues: text.nullable(),
  deadline: time.nullable(),
  pausedAt: time.nullable(),
  pauseCause: text.nullable(),
  blockedBy: text.nullable(),
  rollback: z
    .strictObject({
      kind: z.enum(['failure', 'cancel']),
      message: text.nullable(),
      by: text.nullable(),
      givenUp: z.boolean(),
    })
    .nullable(),
  partial: z.boolean(),
  generation: count,
  deadLetters: z.array(z.strictObject({ id: text, node: text, name: text, reason: text })),
  decisions: z.array(decision),
  actions: z.array(z.enum(['pause', 'resume', 'cancel', 'abort'])),
})

const graphNode = z.strictObject({
  id: text,
  name: text,
  kind: text,
  state: text.nullable(),
  outcome: text.nullable(),
  attempt: count,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  error: text.nullable(),
  fold: z.strictObject({ count, states: z.record(text, count) }).nullable(),
  branchOf: text.nullable(),
  compensates: text.nullable(),
  progress: z.strictObject({ done: count, total: count.nullable(), etaMs: ms.nullable() }).nullable(),
  note: text.nullable(),
  actions: z.array(z.enum(['skip', 'resolve', 'reattempt', 'signal', 'decide'])),
})
const graphEdge = z.strictObject({
  from: text,
  to: text,
  kind: z.enum(['dependency', 'branch', 'compensation']),
  label: text.nullable(),
})
export const graph = z.strictObject({
  nodes: z.array(graphNode),
  edges: z.array(graphEdge),
  folded: z.boolean(),
  size: count,
})

const attemptShape = {
  id: text,
  node: text,
  name: text,
  kind: z.enum(['forward', 'compensate', 'timer']),
  attempt: count,
  state: text,
  outcome: text.nullable(),
  owner: text.nullable(),
  reason: text.nullable(),
  createdAt: time,
  scheduledFor: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  completed: count,
  total: count.nullable(),
  runs: count,
}

export const attempt = z.strictObject({
  ...attemptShape,
  error: z.strictObject({ name: text, message: text, stack: text.nullable() }).nullable(),
  input: payload,
  output: payload,
  cursor: payload,
  ancestry: text,
  parents: z.array(text),
})

/** An attempt in a list of many workflows: without its payloads, with the workflow that it belongs to. */
export const execution = z.strictObject({
  ...attemptShape,
  workflowId: text,
  type: text,
  hero: hero.nullable(),
  queue: text.nullable(),
  priority: z.number().nullable(),
  error: z.strictObject({ name: text, message: text }).nullable(),
})

export const event = z.strictObject({
  position: text,
  workflowId: text,
  type: text,
  executionId: text.nullable(),
  node: text.nullable(),
  name: text.nullable(),
  attempt: count.nullable(),
  from: text.nullable(),
  to: text.nullable(),
  by: text.nullable(),
  reason: text.nullable(),
  outcome: text.nullable(),
  at: time,
  payload,
})

const nodeReadiness = z.strictObject({
  id: text,
  name: text,
  kind: text.nullable(),
  state: text,
  undoing: z.boolean(),
  attempt: count,
  ready: z.boolean(),
  reasons: z.array(z.looseObject({ kind: text })),
  openParents: z.array(text),
  failures: count.nullable(),
  attemptsLeft: count.nullable(),
  retryable: z.boolean(),
  claimedBy: text.nullable(),
  dueAt: time.nullable(),
})
export const explanation = z.strictObject({
  workflowId: text,
  type: text,
  state: workflowState,
  sentence: text,
  decision: text.nullable(),
  nodes: z.array(nodeReadiness),
  at: time,
})

export const rollbackStep = z.strictObject({
  executionId: text,
  step: text,
  attempt: count,
  compensation: text.nullable(),
})

export const heroPage = z.strictObject({
  hero,
  workflows: z.array(workflowSummary),
  nextCursor: text.nullable(),
  events: z.array(event),
})

export const approval = z.strictObject({
  executionId: text,
  workflowId: text,
  type: text,
  hero: hero.nullable(),
  node: text,
  name: text,
  prompt: text.nullable(),
  form: z
    .record(text, z.json())
    .nullable()
    .meta({ description: 'The JSON Schema of the data, where it is known here' }),
  assignTo: z.array(text),
  quorum: count,
  onReject: text,
  decisions: z.array(decision),
  deadline: time.nullable(),
  waitingSince: time,
})

const letterShape = {
  id: text,
  workflowId: text,
  workflowType: text,
  executionId: text,
  node: text,
  name: text,
  kind: z.enum(['forward', 'compensate']).meta({ description: 'compensate: what was given up is to undo the node' }),
  attempt: count,
  reason: text,
  error: z.strictObject({ name: text, message: text, stack: text.nullable() }).nullable(),
  state: z.enum(['open', 'requeued', 'resolved', 'discarded']),
  createdAt: time,
  handledAt: time.nullable(),
  handledBy: text.nullable(),
  handledReason: text.nullable(),
}
export const deadLetter = z.strictObject(letterShape)
export const deadLetterDetail = z.strictObject({
  ...letterShape,
  input: payload,
  takesInput: z.boolean().meta({ description: 'It can be requeued with another input.' }),
})

export const schedule = z.strictObject({
  name: text,
  workflow: text,
  cron: text.nullable(),
  timeZone: text.nullable(),
  everyMs: ms.nullable(),
  catchUp: z.union([text, z.number()]),
  nextAt: time.nullable(),
  paused: z.boolean(),
  pausedBy: text.nullable(),
  pauseReason: text.nullable(),
  lastTickAt: time.nullable(),
  lastWorkflowId: text.nullable(),
  started: count,
  skipped: count,
  lastError: text.nullable(),
  hasCode: z.boolean(),
})

export const queue = z.strictObject({
  name: text,
  paused: z.boolean(),
  pausedBy: text.nullable(),
  pauseReason: text.nullable(),
  pausedAt: time.nullable(),
  concurrency: count.nullable(),
  rate: z.strictObject({ limit: count, perMs: ms }).nullable(),
  running: count,
  due: count,
  later: count,
  ageMs: ms,
})

export const request = z.strictObject({
  id: text,
  action: text,
  name: text.nullable(),
  by: text.nullable(),
  reason: text.nullable(),
  at: time,
  detail: payload,
})

export const worker = z.strictObject({
  id: text,
  host: text,
  pid: count,
  alive: z.boolean(),
  startedAt: time,
  leaseUntil: time,
  handlers: z.array(text),
  queues: z.array(text).nullable(),
  running: count,
})

const definitionShape = {
  type: text,
  generation: count,
  registeredAt: time,
  hasCode: z.boolean(),
  heroTypes: z.array(text),
}
export const definition = z.strictObject(definitionShape)
export const definitionDetail = z.strictObject({ ...definitionShape, graph })

export const overview = z.strictObject({
  at: time,
  states: z.record(workflowState, count),
  capped: z.boolean(),
  cappedStates: z.array(workflowState),
  throughput: z.strictObject({ stepsPerSecond: ms, workflowsPerMinute: ms }),
  failures: count,
  queues: z.array(queue),
  workers: z.array(worker),
  deadLetters: count,
  approvals: count,
  oldestDueMs: ms.nullable(),
  series: z.array(
    z.strictObject({
      at: time,
      started: count,
      finished: count,
      failed: count,
      stepsPerSecond: ms,
      p50: ms.nullable(),
      p95: ms.nullable(),
    }),
  ),
})

export const health = z.strictObject({
  live: z.literal(true),
  ready: z.boolean(),
  status: z.enum(['ok', 'degraded', 'down']),
  problems: z.array(text),
  database: z.strictObject({ reachable: z.boolean(), latencyMs: ms.nullable(), error: text.nullable() }),
  workers: z.strictObject({ alive: count, here: count, healthyHere: count }),
  queues: z.strictObject({ due: count, oldestMs: ms.nullable() }),
})
