/** Every route of the API, in one list: what is not in it does not exist. */
import { z } from 'zod'
import { LiveStreams } from './live-stream.ts'
import { openApiDocument } from './open-api.ts'
import { type Route, route } from './route.ts'
import { inboxRoutes } from './routes/inbox-routes.ts'
import { steeringRoutes } from './routes/steering-routes.ts'
import { streamRoutes } from './routes/stream-routes.ts'
import { systemRoutes } from './routes/system-routes.ts'
import { workflowRoutes } from './routes/workflow-routes.ts'

export function routeTable(streams: LiveStreams = new LiveStreams(200)): readonly Route[] {
  const routes: Route[] = [
    ...systemRoutes,
    ...workflowRoutes,
    ...steeringRoutes,
    ...inboxRoutes,
    ...streamRoutes(streams),
  ]
  const document: Route = route({
    method: 'GET',
    path: '/openapi.json',
    action: 'api.read',
    resource: '*',
    role: 'reader',
    summary: 'This API as an OpenAPI 3.1 document.',
    answer: z.looseObject({ openapi: z.literal('3.1.0') }),
    run: async () => openApiDocument([...routes, document]),
  })
  return [...routes, document]
}
