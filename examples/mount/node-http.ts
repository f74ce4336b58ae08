/** The HTTP API and the dashboard in a plain server of Node, for this machine alone. */

import { type Served, serveHandler } from '../../src/http.ts'
import { type Geneva, InvalidArgumentError } from '../../src/index.ts'

/** Goes to the next port when one is taken. */
export async function serveOnNode(geneva: Geneva, port = 3000): Promise<Served> {
  for (let tried = port; tried < port + 10; tried++) {
    try {
      return await serveHandler(geneva.handler(), { port: tried })
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'EADDRINUSE') throw error
    }
  }
  throw new InvalidArgumentError(`The ports ${port} to ${port + 9} are taken.`)
}
