/** Changing workflows: start, one request to one of them or to one of its nodes, and the same request to many. */
import type { z } from 'zod'
import type { Role } from '../../client/handler-options.ts'
import type { Operations } from '../../client/operations.ts'
import type { RequestOptions } from '../../client/request-options.ts'
import { changedMany } from '../command-documents.ts'
import { RequestProblem } from '../request-problem.ts'
import * as ask from '../request-schemas.ts'
import { type Call, type Route, route } from '../route.ts'
import { allows } from '../security.ts'
import * as wire from '../wire-schemas.ts'
import { decodedPayload, given, viewOptionsFrom } from '../wire-values.ts'

type Verb = 'pause' | 'resume' | 'cancel' | 'abort'

/** So many workflows one request may change. */
const mostAtOnce = 10_000
const sampleSize = 10

function workflowVerb(verb: Verb, role: Role, summary: string): Route {
  return route({
    method: 'POST',
    path: `/workflows/:id/${verb}`,
    action: `workflow.${verb}`,
    resource: 'workflow::id',
    role,
    summary,
    body: ask.requestBody,
    answer: wire.workflowDetail,
    run: async call => {
      const { geneva, params } = call
      const { id = '' } = params
      await geneva[verb](id, asked(call))
      return detailOf(call, id)
    },
  })
}

function nodeVerb(verb: 'skip' | 'reattempt', summary: string): Route {
  return route({
    ...ofNode(verb),
    summary,
    body: ask.requestBody,
    answer: wire.workflowDetail,
    run: async call => {
      const { geneva, params } = call
      const { id = '', node = '' } = params
      await geneva[verb](id, node, asked(call))
      return detailOf(call, id)
    },
  })
}

function ofNode(verb: string) {
  return {
    method: 'POST',
    path: `/workflows/:id/nodes/:node/${verb}`,
    action: `node.${verb}`,
    resource: 'workflow::id',
    role: 'operator',
  } as const
}

export const steeringRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/workflows',
    action: 'workflow.start',
    resource: '*',
    role: 'operator',
    summary: 'Starts a workflow by the stored name of its class.',
    body: ask.startBody,
    answer: wire.workflowDetail,
    run: async call => {
      const { type, hero, input, delayMs, idempotencyKey, tags, allowMultiple } = call.body
      const what = given({ hero, input: decodedPayload(input, 'The input') })
      const options = { ...asked(call), ...given({ idempotencyKey, tags, delay: delayMs, allowMultiple }) }
      const { id } = await call.geneva.startByName(type, what, options)
      return detailOf(call, id)
    },
  }),
  route({
    method: 'POST',
    path: '/workflows/bulk',
    action: 'workflow.bulk',
    resource: '*',
    role: 'admin',
    summary:
      'The same request to every workflow that fits, active ones unless the filter says otherwise. First as a dry run.',
    body: ask.bulkBody,
    patienceMs: 120_000,
    answer: changedMany,
    run: changeMany,
  }),
  workflowVerb('pause', 'operator', 'Nothing new starts; what runs ends and is recorded.'),
  workflowVerb('resume', 'operator', 'Goes on where it was; a failed step with a new attempt.'),
  workflowVerb('cancel', 'operator', 'Ends it, and undoes what it has done.'),
  workflowVerb('abort', 'admin', 'Ends it at once: nothing is undone.'),
  nodeVerb('skip', 'Leaves out a node that waits or has failed.'),
  nodeVerb('reattempt', 'A new attempt at a node that has failed.'),
  route({
    ...ofNode('resolve'),
    summary: 'Takes a node as done, with what it would have returned.',
    body: ask.resolveBody,
    answer: wire.workflowDetail,
    run: async call => {
      const { id = '', node = '' } = call.params
      const output = decodedPayload(call.body.output, 'The output')
      await call.geneva.resolve(id, node, { ...asked(call), ...given({ output }) })
      return detailOf(call, id)
    },
  }),
  route({
    ...ofNode('signal'),
    summary: 'Sends a message to a node that waits for it, or will.',
    body: ask.signalBody,
    answer: wire.workflowDetail,
    run: async call => {
      const { id = '', node = '' } = call.params
      const { payload, key } = call.body
      await call.geneva.signal(id, node, decodedPayload(payload, 'The payload'), { ...asked(call), ...given({ key }) })
      return detailOf(call, id)
    },
  }),
]

/** Who asks, and why. */
export function asked({ by, body }: Call<unknown, { readonly reason?: string | undefined }>): RequestOptions {
  return { by, ...given({ reason: body.reason }) }
}

async function detailOf({ geneva, role }: Call, id: string): Promise<object> {
  const { actions, ...detail } = await geneva.views.workflow(id)
  return { ...detail, actions: actions.filter(action => action !== 'abort' || allows(role, 'admin')) }
}

async function changeMany(call: Call<unknown, z.output<typeof ask.bulkBody>>): Promise<object> {
  const { geneva, body } = call
  const where = { state: 'active' as const, ...viewOptionsFrom(body.filter) }
  const { count, capped } = await geneva.views.count(where)
  if (body.dryRun === true) {
    const { items } = await geneva.views.workflows({ ...where, limit: sampleSize })
    return { dryRun: true, count, capped, sample: items }
  }
  const searches = (body.filter.q ?? '') !== ''
  if (capped) {
    throw new RequestProblem(
      422,
      'TOO_MANY',
      searches
        ? 'More may begin with what is searched for than a search looks through.'
        : `The filter finds ${mostAtOnce} workflows or more, or takes too long.`,
      searches ? 'Search for more of the id.' : 'Narrow it, by type, state or time.',
    )
  }
  if (body.expect !== undefined && body.expect !== count) {
    throw new RequestProblem(
      409,
      'COUNT_CHANGED',
      `The filter finds ${count} workflows, not the expected ${body.expect}. Nothing was done.`,
      'Look again, then send the new count.',
    )
  }
  return { dryRun: false, ...(await changeAll(geneva, where, call)) }
}

function changeAll(geneva: Operations, where: object, call: Call<unknown, z.output<typeof ask.bulkBody>>) {
  const bulk = geneva.all({ where })
  const { action, node, then } = call.body
  const output = decodedPayload(call.body.output, 'The output')
  const input = decodedPayload(call.body.input, 'The input')
  return bulk[action]({ ...asked(call), limit: mostAtOnce, ...given({ step: node, output, input, then }) })
}
