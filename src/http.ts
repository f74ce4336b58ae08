/** What serves a handler with Node's own http. Everything else is a method of Geneva: `geneva.handler(...)`. */
export type { NodeHandler, Served, ServeOptions } from './http/node-adapter.ts'
export { serveHandler, toNodeHandler } from './http/node-adapter.ts'
