/** The HTTP API and the dashboard in a Fastify application, which takes middleware once `@fastify/middie` is registered. */

import { type NodeHandler, toNodeHandler } from '../../src/http.ts'
import type { Authorize, Geneva } from '../../src/index.ts'

/** What Fastify has after `await app.register(middie)`, as far as it matters here. */
interface FastifyWithMiddleware {
  use(path: string, handler: NodeHandler): unknown
}

export function mountOnFastify(app: FastifyWithMiddleware, geneva: Geneva, authorize: Authorize): void {
  app.use('/ops', toNodeHandler(geneva.handler({ authorize, basePath: '/ops' })))
}
