/** The engine room: overview, schedules, queues, workers, definitions, events, health and metrics. */
import { z } from 'zod'
import { pruned, triggered } from '../command-documents.ts'
import { RequestProblem } from '../request-problem.ts'
import * as ask from '../request-schemas.ts'
import { type Call, type Route, route } from '../route.ts'
import * as wire from '../wire-schemas.ts'
import { given } from '../wire-values.ts'
import { asked } from './steering-routes.ts'

const look = { method: 'GET', resource: '*', role: 'reader' } as const

export const systemRoutes: readonly Route[] = [
  route({
    ...look,
    path: '/me',
    action: 'me.read',
    summary: 'Who asks, and what they may do.',
    personal: true,
    answer: z.strictObject({ role: z.enum(['reader', 'operator', 'admin']), by: z.string(), readOnly: z.boolean() }),
    run: async ({ role, by, readOnly }) => ({ role, by, readOnly }),
  }),
  route({
    ...look,
    path: '/overview',
    action: 'overview.read',
    summary:
      'How everything is: counts up to a bound, queues, workers, and the last hour as charts. Shared by all who look.',
    answer: wire.overview,
    run: ({ geneva }) => geneva.views.overview(),
  }),
  route({
    ...look,
    path: '/schedules',
    action: 'schedule.list',
    summary: 'Every schedule that the database knows.',
    answer: z.strictObject({ items: z.array(wire.schedule) }),
    run: async ({ geneva }) => ({ items: await geneva.schedules.list() }),
  }),
  ...(['pause', 'resume'] as const).map(verb =>
    route({
      method: 'POST',
      path: `/schedules/:name/${verb}`,
      action: `schedule.${verb}`,
      resource: 'schedule::name',
      role: 'operator',
      summary: verb === 'pause' ? 'No tick is started any more.' : 'Goes on with the first tick from now.',
      body: ask.requestBody,
      answer: wire.schedule,
      run: async call => {
        await foundSchedule(call)
        await call.geneva.schedules[verb](call.params.name ?? '', asked(call))
        return foundSchedule(call)
      },
    }),
  ),
  route({
    method: 'POST',
    path: '/schedules/:name/trigger',
    action: 'schedule.trigger',
    resource: 'schedule::name',
    role: 'operator',
    summary: 'Starts one workflow now. Its ticks stay as they are.',
    body: ask.requestBody,
    answer: triggered,
    run: async call => {
      await foundSchedule(call)
      return { workflowId: (await call.geneva.schedules.trigger(call.params.name ?? '', asked(call))).id }
    },
  }),
  route({
    ...look,
    path: '/queues',
    action: 'queue.list',
    summary: 'What stands in the queues, and their limits.',
    answer: z.strictObject({ items: z.array(wire.queue) }),
    run: async ({ geneva }) => ({ items: await geneva.views.queues() }),
  }),
  ...(['pause', 'resume'] as const).map(verb =>
    route({
      method: 'POST',
      path: `/queues/:name/${verb}`,
      action: `queue.${verb}`,
      resource: 'queue::name',
      role: 'admin',
      summary: verb === 'pause' ? 'Nothing of the queue begins, in any process.' : 'What is due in the queue begins.',
      body: ask.requestBody,
      answer: wire.done,
      run: async call => {
        await call.geneva.queues[verb](call.params.name ?? '', asked(call))
        call.geneva.views.forget()
        return { ok: true }
      },
    }),
  ),
  route({
    ...look,
    path: '/requests',
    action: 'request.list',
    summary: 'Who changed queues and schedules or removed workflows, and why, newest first.',
    query: ask.requestsQuery,
    answer: wire.page(wire.request),
    run: ({ geneva, query }) => geneva.views.requests(given(query)),
  }),
  route({
    ...look,
    path: '/workers',
    action: 'worker.list',
    summary: 'Workers of all processes.',
    answer: z.strictObject({ items: z.array(wire.worker) }),
    run: async ({ geneva }) => ({ items: await geneva.views.workers() }),
  }),
  route({
    ...look,
    path: '/definitions',
    action: 'definition.list',
    summary: 'Every class of workflows that a process has registered.',
    answer: z.strictObject({ items: z.array(wire.definition) }),
    run: async ({ geneva }) => ({ items: await geneva.views.definitions() }),
  }),
  route({
    ...look,
    path: '/definitions/:type',
    resource: 'definition::type',
    action: 'definition.read',
    summary: 'One class with its graph, drawn before anything runs.',
    query: ask.graphQuery,
    answer: wire.definitionDetail,
    run: async ({ geneva, params: { type = '' }, query }) => {
      const found = await geneva.views.definition(type, given(query))
      if (found !== null) return found
      throw new RequestProblem(404, 'DEFINITION_NOT_FOUND', 'No process has ever registered a class of that name.')
    },
  }),
  route({
    ...look,
    path: '/events',
    action: 'event.list',
    summary:
      'Events of all workflows after a position, or the last so many. nextCursor is where to go on, now or later.',
    query: ask.allEventsQuery,
    answer: wire.page(wire.event),
    run: ({ geneva, query }) => geneva.views.events(given(query)),
  }),
  route({
    method: 'POST',
    path: '/prune',
    action: 'workflow.prune',
    resource: '*',
    role: 'admin',
    summary: 'Removes up to 10,000 workflows that ended long ago, families whole; again while it is not complete.',
    body: ask.pruneBody,
    patienceMs: 120_000,
    answer: pruned,
    run: call => {
      const { olderThanMs, dryRun = false } = call.body
      return call.geneva.prune({ ...asked(call), olderThan: olderThanMs, dryRun, limit: prunedAtOnce })
    },
  }),
  route({
    ...look,
    path: '/health',
    action: 'health.read',
    summary: 'Whether this process can do its work; 503 when it cannot.',
    answer: wire.health,
    run: async ({ geneva }) => {
      const { problems, database, ...rest } = await geneva.health()
      // What a driver says may name hosts and users.
      const shown = problems.map(problem => (problem === database.error ? away : problem))
      return { ...rest, problems: shown, database: { ...database, error: database.error === null ? null : away } }
    },
  }),
  route({
    ...look,
    path: '/metrics',
    action: 'metrics.read',
    summary: 'What this process has counted, in the text format of Prometheus.',
    answer: z.string(),
    answerType: 'text/plain; version=0.0.4; charset=utf-8',
    run: ({ geneva }) => geneva.metrics(),
  }),
]

/** So many a request may remove. */
const prunedAtOnce = 10_000
const away = 'The database does not answer as it should.'

async function foundSchedule({ geneva, params: { name = '' } }: Call): Promise<object> {
  const found = await geneva.schedules.find(name)
  if (found !== null) return found
  throw new RequestProblem(404, 'SCHEDULE_NOT_FOUND', 'There is no schedule of that name.')
}
