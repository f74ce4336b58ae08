/** What requests may hold. Whatever is not named here is refused, so that a misspelled filter never means "everything". */
import { z } from 'zod'
import { executionStates } from '../client/views/execution-list.ts'
import { maxTags } from '../engine/start-orders.ts'
import { workflowState } from './wire-schemas.ts'

const short = z.string().min(1).max(191)
const id = z.string().min(1).max(64)
const several = <Item extends z.ZodType<string>>(item: Item) => z.union([item, z.array(item).max(50)])
/** In milliseconds, counted back from the time of the database. */
const age = z.coerce.number().int().min(1).max(1e13)
const when = z.iso.datetime({ offset: true }).or(z.iso.date())

export const reason = z.string().max(10_000).optional()
export const requestBody = z.strictObject({ reason })

export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: id.optional(),
})

/** Filters of workflows, as they stand in a query. */
const filterShape = {
  state: several(z.enum([...workflowState.options, 'active'])).optional(),
  type: several(z.string().max(191)).optional(),
  hero: z
    .string()
    .regex(/^[^:]{1,191}:[\s\S]{1,191}$/, 'A hero is written as type:id')
    .optional(),
  tag: short.optional(),
  at: short.optional(),
  error: short.optional(),
  createdAfter: when.optional(),
  createdBefore: when.optional(),
  olderThanMs: age.optional(),
  newerThanMs: age.optional(),
  q: z.string().max(191).optional(),
  parent: id.optional(),
}
export const workflowFilter = z.strictObject(filterShape)
/** Goes on within a workflow. */
const place = z.string().min(1).max(500)
export const approvalQuery = z.strictObject({ ...pageQuery.shape, cursor: place.optional() })
export const workflowQuery = z.strictObject({ ...filterShape, ...pageQuery.shape })

export type FilterQuery = z.output<typeof workflowFilter>

/** Filters of executions, as they stand in a query. */
export const executionQuery = z.strictObject({
  limit: pageQuery.shape.limit,
  /** Holds the key of a row, which may be long. */
  cursor: place.optional(),
  state: several(z.enum(executionStates)).optional(),
  type: several(z.string().max(191)).optional(),
  node: short.optional(),
  queue: short.optional(),
  due: z.stringbool({ truthy: ['true'], falsy: ['false'] }).optional(),
})

export const startBody = z.strictObject({
  type: short,
  hero: z.strictObject({ type: short, id: z.union([short, z.number().int()]) }).optional(),
  input: z.unknown().optional(),
  idempotencyKey: short.optional(),
  tags: z.array(short).max(maxTags).optional(),
  delayMs: z.number().min(0).max(1e12).optional(),
  allowMultiple: z.boolean().optional(),
  reason,
})

const afterDiscard = z.enum(['cancel', 'skip', 'rollback', 'abort']).optional()

export const bulkBody = z
  .strictObject({
    filter: workflowFilter,
    action: z.enum(['pause', 'resume', 'cancel', 'abort', 'skip', 'reattempt', 'resolve', 'requeue', 'discard']),
    /** For skip, reattempt and resolve: this node instead of all that have failed. */
    node: short.optional(),
    /** For resolve: what the nodes would have returned. */
    output: z.unknown().optional(),
    /** For requeue: what the executions work on from now on. */
    input: z.unknown().optional(),
    /** For discard: what becomes of the workflows. */
    then: afterDiscard,
    /** How many workflows the caller has seen; when there are others by now, nothing is done. */
    expect: z.number().int().min(0).optional(),
    dryRun: z.boolean().optional(),
    reason,
  })
  .refine(({ action, output }) => output === undefined || action === 'resolve', 'output is for resolve only')
  .refine(({ action, input }) => input === undefined || action === 'requeue', 'input is for requeue only')
  .refine(({ action, then }) => then === undefined || action === 'discard', 'then is for discard only')

export const graphQuery = z.strictObject({
  expand: z.string().min(1).max(400).optional(),
  foldAt: z.coerce.number().int().min(2).max(1_000_000).optional(),
})
export const explainQuery = z.strictObject({ open: z.coerce.number().int().min(0).max(1000).optional() })
export const historyQuery = z.strictObject({ ...pageQuery.shape, node: short.optional() })
const position = z.string().regex(/^\d{1,15}$/)
const eventPage = { after: position.optional(), limit: z.coerce.number().int().min(1).max(1000).optional() }
export const eventsQuery = z.strictObject({
  ...eventPage,
  order: z.enum(['oldest', 'newest']).optional(),
  before: position.optional(),
})
export const allEventsQuery = z.strictObject({
  ...eventPage,
  type: several(short).optional(),
  last: z.coerce.number().int().min(1).max(1000).optional(),
})
export const requestsQuery = z.strictObject({
  ...pageQuery.shape,
  about: z.enum(['queue', 'schedule', 'workflow']).optional(),
})
export const drawingQuery = z.strictObject({
  format: z.enum(['mermaid', 'dot', 'text', 'svg']).optional(),
  foldAt: z.coerce.number().int().min(2).max(1_000_000).optional(),
})
export const rollbackQuery = z.strictObject({ kind: z.enum(['cancel', 'failure']).optional() })
export const streamQuery = z.strictObject({ workflow: z.string().min(1).max(64).optional() })

export const resolveBody = z.strictObject({ output: z.unknown().optional(), reason })
export const signalBody = z.strictObject({ payload: z.unknown().optional(), key: short.optional(), reason })
export const decideBody = z.strictObject({
  decision: z.enum(['confirmed', 'rejected']),
  data: z.unknown().optional(),
  comment: z.string().max(10_000).optional(),
})

export const letterQuery = z.strictObject({
  ...pageQuery.shape,
  state: z.enum(['open', 'requeued', 'resolved', 'discarded', 'all']).optional(),
  workflow: id.optional(),
  node: short.optional(),
  reason: z
    .enum(['retries_exhausted', 'policy', 'crash_limit', 'compensation_exhausted', 'unknown_outcome'])
    .optional(),
})
export const requeueBody = z.strictObject({ input: z.unknown().optional(), reason })
export const discardBody = z.strictObject({ then: afterDiscard, reason })

export const pruneBody = z.strictObject({
  olderThanMs: z.number().min(0).max(1e13),
  dryRun: z.boolean().optional(),
  reason,
})
