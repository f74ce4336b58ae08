/** What a route declares: without a declaration there is no way in. */
import type { z } from 'zod'
import type { Role } from '../client/handler-options.ts'
import type { Operations } from '../client/operations.ts'

/** Parameters of the path, checked to be short texts. */
export type Params = Readonly<Record<string, string>>

export interface Call<Query = any, Body = any> {
  readonly geneva: Operations
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly role: Role
  readonly by: string
  readonly readOnly: boolean
  readonly request: Request
}

interface Declaration<Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: 'GET' | 'POST'
  /** Under `/api`, with `:name` for parameters. */
  readonly path: string
  /** What it does, as `authorize` hears it: `workflow.cancel`. */
  readonly action: string
  /** What it is about, with parameters filled in: `workflow::id`; `*` for everything. */
  readonly resource: string
  readonly role: Role
  /** One line for the API document. */
  readonly summary: string
  readonly query?: Query
  readonly body?: Body
  readonly answer: z.ZodType
  /** Default: JSON. */
  readonly answerType?: string
  /** The answer is about who asks, so it is not shared. */
  readonly personal?: boolean
  /** It may take longer than other requests. */
  readonly patienceMs?: number
  /** What is returned is sent as JSON; a Response as it is. */
  run(call: Call<z.output<Query>, z.output<Body>>): Promise<unknown>
}

export type Route = Declaration<z.ZodType, z.ZodType>

export function route<Query extends z.ZodType, Body extends z.ZodType>(declaration: Declaration<Query, Body>): Route {
  return declaration as unknown as Route
}

/** The names of the parameters of a path, in order. */
export function paramsOf(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '')
}

/** The resource of a route with the parameters of a request. */
export function resourceOf({ resource }: Pick<Route, 'resource'>, params: Params): string {
  return resource.replace(/:(\w+)/g, (all, name: string) => params[name] ?? all)
}
