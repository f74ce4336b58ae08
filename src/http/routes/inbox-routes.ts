/** What waits for people: approvals and dead letters, and what people say to them; and executions, whatever they wait for. */

import { formOf } from '../form-schema.ts'
import * as ask from '../request-schemas.ts'
import { type Call, type Route, route } from '../route.ts'
import * as wire from '../wire-schemas.ts'
import { decodedPayload, given, wireLetter, wireLetterDetail } from '../wire-values.ts'
import { asked } from './steering-routes.ts'

const letter = { method: 'POST', resource: 'dead-letter::id', answer: wire.deadLetterDetail } as const

export const inboxRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/approvals',
    action: 'approval.list',
    resource: '*',
    role: 'reader',
    summary: 'Executions that wait for people, newest workflow first.',
    query: ask.approvalQuery,
    answer: wire.page(wire.approval),
    run: async ({ geneva, query }) => {
      const { items, nextCursor } = await geneva.views.approvals(given(query))
      return { items: items.map(({ schema, ...rest }) => ({ ...rest, form: formOf(schema) })), nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/executions',
    action: 'execution.list',
    resource: '*',
    role: 'reader',
    summary:
      'Executions of all workflows by state; those that have not ended, newest workflow first, unless the state says otherwise.',
    query: ask.executionQuery,
    answer: wire.page(wire.execution),
    run: ({ geneva, query }) => geneva.views.executions(given(query)),
  }),
  route({
    method: 'POST',
    path: '/executions/:id/decide',
    action: 'approval.decide',
    resource: 'execution::id',
    role: 'operator',
    summary: 'Confirms or rejects, in the name of the caller. One decision per person.',
    body: ask.decideBody,
    answer: wire.done,
    run: async ({ geneva, params: { id = '' }, body: { decision, data, comment }, by }) => {
      const value = decodedPayload(data, 'The data')
      await geneva.decide(id, { decision, by, ...given({ comment, data: value }) })
      return { ok: true }
    },
  }),
  route({
    method: 'GET',
    path: '/dead-letters',
    action: 'dead-letter.list',
    resource: '*',
    role: 'reader',
    summary: 'Work that was given up, newest first; open letters unless the state says otherwise.',
    query: ask.letterQuery,
    answer: wire.page(wire.deadLetter),
    run: async ({ geneva, query: { limit = 50, cursor, workflow, node, ...rest } }) => {
      const options = given({ ...rest, workflowId: workflow, step: node, before: cursor })
      const found = await geneva.deadLetters({ ...options, limit: limit + 1 })
      const items = found.slice(0, limit).map(wireLetter)
      return { items, nextCursor: found.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
  }),
  route({
    method: 'GET',
    path: '/dead-letters/:id',
    action: 'dead-letter.read',
    resource: 'dead-letter::id',
    role: 'reader',
    summary: 'One dead letter, with what its execution worked on.',
    answer: wire.deadLetterDetail,
    run: call => letterOf(call),
  }),
  route({
    ...letter,
    path: '/dead-letters/:id/requeue',
    action: 'dead-letter.requeue',
    role: 'operator',
    summary: 'Lets the work go on, as it is or with another input.',
    body: ask.requeueBody,
    run: async call => {
      const input = decodedPayload(call.body.input, 'The input')
      await call.geneva.requeue(call.params.id ?? '', { ...asked(call), ...given({ input }) })
      return letterOf(call)
    },
  }),
  route({
    ...letter,
    path: '/dead-letters/:id/discard',
    action: 'dead-letter.discard',
    role: 'admin',
    summary: 'Gives the work up for good; then the workflow is canceled, rolled back, aborted, or goes on without it.',
    body: ask.discardBody,
    run: async call => {
      await call.geneva.discard(call.params.id ?? '', { ...asked(call), ...given({ then: call.body.then }) })
      return letterOf(call)
    },
  }),
]

async function letterOf({ geneva, params: { id = '' } }: Call): Promise<object> {
  const found = await geneva.deadLetter(id)
  return wireLetterDetail(geneva.views, found)
}
