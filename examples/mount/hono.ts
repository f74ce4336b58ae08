/** The HTTP API and the dashboard in a Hono application. */
import type { Hono } from 'hono'
import type { Authorize, Geneva } from '../../src/index.ts'

export function mountOnHono(app: Hono, geneva: Geneva, authorize: Authorize): void {
  const handler = geneva.handler({ authorize, basePath: '/ops' })
  app.all('/ops', context => handler(context.req.raw))
  app.all('/ops/*', context => handler(context.req.raw))
}
