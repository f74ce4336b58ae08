/** The live stream as a route. */
import { z } from 'zod'
import type { LiveStreams } from '../live-stream.ts'
import { streamQuery } from '../request-schemas.ts'
import { type Route, route } from '../route.ts'
import { securityHeaders } from '../security.ts'

export function streamRoutes(streams: LiveStreams): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/stream',
      action: 'event.stream',
      resource: '*',
      role: 'reader',
      summary: 'Server-sent events: a `change` whenever the workflow, or anything (`overview`), has changed.',
      query: streamQuery,
      answer: z.string(),
      answerType: 'text/event-stream',
      run: async ({ geneva, query: { workflow = 'overview' }, request }) => {
        const id = workflow === 'overview' ? null : (await geneva.views.workflow(workflow)).id
        const headers = { ...securityHeaders(), 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
        // Nobody would read it, so it would never end.
        if (request.method === 'HEAD') return new Response(null, { headers })
        return new Response(streams.open(geneva.views, id, request.signal), { headers })
      },
    }),
  ]
}
