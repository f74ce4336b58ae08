/** The HTTP API and the dashboard in an Express application, under /ops, behind the application's own sign-in. */

import { type NodeHandler, toNodeHandler } from '../../src/http.ts'
import type { Authorize, Geneva } from '../../src/index.ts'

/** What Express has, as far as it matters here: `express()` fits. */
interface ExpressApplication {
  use(path: string, handler: NodeHandler): unknown
}

export function mountOnExpress(app: ExpressApplication, geneva: Geneva, authorize: Authorize): void {
  app.use('/ops', toNodeHandler(geneva.handler({ authorize, basePath: '/ops' })))
}
