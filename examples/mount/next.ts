/**
 * The HTTP API and the dashboard in a Next application: `app/ops/[[...path]]/route.ts` exports what this returns, as
 * `export const { GET, POST } = routeForNext(geneva, authorize)`, with `export const dynamic = 'force-dynamic'` beside it.
 */
import type { Authorize, FetchHandler, Geneva } from '../../src/index.ts'

export function routeForNext(geneva: Geneva, authorize: Authorize): { GET: FetchHandler; POST: FetchHandler } {
  const handler = geneva.handler({ authorize, basePath: '/ops' })
  return { GET: handler, POST: handler }
}
