/**
 * The fetch handler for Node's own http: as a function of (request, response, next), which Express, Connect and Fastify's
 * middleware take as well, and as a server of its own that listens to this machine alone.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { FetchHandler } from '../client/handler-options.ts'
import { InvalidArgumentError } from '../errors.ts'
import { noteLocal } from './local-requests.ts'
import { isLoopbackAddress, isLoopbackHost } from './loopback.ts'

interface Mounted extends IncomingMessage {
  readonly originalUrl?: string
  readonly body?: unknown
  rawBody?: Buffer
}

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void

/**
 * A handler without `authorize` answers no peer but this machine. Frameworks that cut off the path under which they mount
 * it are seen through: `basePath` is the whole path. What a body parser has read already is read from there.
 */
export function toNodeHandler(handler: FetchHandler): NodeHandler {
  const answer = handler.localOnly ? (request: Request) => handler(noteLocal(request)) : handler
  const listen = getRequestListener(answer, { overrideGlobalObjects: false })
  return (request, response, next) => {
    if (handler.localOnly && !isLoopbackAddress(request.socket.remoteAddress ?? '')) return refuse(response)
    restore(request)
    listen(request, response).catch(error => (next === undefined ? response.destroy() : next(error)))
  }
}

function refuse(response: ServerResponse): void {
  const message = 'Without authorize only requests from this machine are answered.'
  const error = { code: 'LOCAL_ONLY', message, remedy: 'Give geneva.handler an authorize function.' }
  response.writeHead(403, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' })
  response.end(JSON.stringify({ error }))
}

/** A framework may have cut off the path of the mount, and its body parser may have read the stream to its end. */
function restore(request: Mounted): void {
  const { originalUrl, body } = request
  if (originalUrl !== undefined) request.url = originalUrl
  if (body !== undefined && request.readableEnded) request.rawBody = Buffer.from(JSON.stringify(body))
}

export interface ServeOptions {
  /** Default 3000; 0 takes one that is free. */
  readonly port?: number
  /** Default 127.0.0.1. Another address is refused for a handler without `authorize`. */
  readonly host?: string
}

export interface Served {
  readonly server: Server
  readonly port: number
  /** Where it answers. */
  readonly url: string
  /** Ends open requests and streams, and stops listening. */
  close(): Promise<void>
}

/** Resolves when it listens; rejects when it cannot. */
export async function serveHandler(handler: FetchHandler, options: ServeOptions = {}): Promise<Served> {
  const { port = 3000, host = '127.0.0.1' } = options
  if (handler.localOnly && !isLoopbackHost(host)) {
    throw new InvalidArgumentError(
      `A handler without authorize may listen to this machine only, not to ${host}. Give geneva.handler an authorize function.`,
    )
  }
  const server = createServer(toNodeHandler(handler))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    server,
    port: taken,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () => close(server),
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close(error => (error === undefined ? resolve() : reject(error)))
    server.closeAllConnections()
  })
}
