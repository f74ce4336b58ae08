/** Workflows that show everything the HTTP API can be asked about, and a client that holds every answer to its own schema. */
import { z } from 'zod'
import { noteLocal } from '../../src/http/local-requests.ts'
import type { Route } from '../../src/http/route.ts'
import { routeTable } from '../../src/http/route-table.ts'
import { problem } from '../../src/http/wire-schemas.ts'
import {
  type Compensation,
  type Decision,
  defineHero,
  defineSchedule,
  type FetchHandler,
  type Geneva,
  type HandlerOptions,
  type Signal,
  Workflow,
} from '../../src/index.ts'

interface Order {
  readonly id: number
}

export const Orders = defineHero('Order', { id: (order: Order) => order.id, load: async id => ({ id }) })
export const ApprovalForm = z.object({ limit: z.number() })

/** Finishes at once. */
export class Greeting extends Workflow<Order, { name?: string }> {
  static {
    this.named('greeting')
    this.heroes(Orders)
    this.mayOutliveHero()
    this.allowMultiple()
    this.step('greet')
  }
  async greet() {
    return `hello ${this.input.name ?? 'you'}`
  }
}

/** Its step fails as often as it is asked, until it gets another input. */
export class Failing extends Workflow<Order | null> {
  static {
    this.named('failing')
    this.heroes(Orders)
    this.mayOutliveHero()
    this.allowMultiple()
    this.step('prepare', { compensate: 'tidy' })
    this.step('charge', { onException: 'dlq' })
    this.step('ship')
  }
  async prepare() {
    return { at: new Date(0) }
  }
  async tidy(_: Compensation<Failing['prepare']>) {}
  async charge() {
    if (this.execution.input === undefined) throw new RangeError('the card was declined')
    return this.execution.input
  }
  async ship() {}
}

/** Stops at an exception, so that a person has to say how it goes on. */
export class Stopping extends Workflow {
  static {
    this.named('stopping')
    this.step('first')
    this.step('trip')
  }
  async first() {}
  async trip() {
    throw new TypeError('tripped over')
  }
}

export class Approved extends Workflow<Order | null> {
  static {
    this.named('approved')
    this.heroes(Orders)
    this.mayOutliveHero()
    this.allowMultiple()
    this.human('approve', { prompt: 'Is it good?', form: ApprovalForm, assignTo: 'editors', deadline: '3 days' })
    this.waitFor('delivered')
    this.step('close')
  }
  async approve(decision: Decision<typeof ApprovalForm>) {
    return decision.data.limit
  }
  async delivered(signal: Signal<{ by: string }>) {
    return signal.payload.by
  }
  async close() {}
}

/** Has a condition, a fork, and thirty items that fold into one box. */
export class Wide extends Workflow {
  static {
    this.named('wide')
    this.condition('isBig', () => true, { then: b => b.step('grow'), else: b => b.step('shrink') })
    this.each('items', { items: () => Array.from({ length: 30 }, (_, index) => index) })
    this.step('rest', { wait: '1 day' })
  }
  async grow() {}
  async shrink() {}
  async items(item: number) {
    return item
  }
  async rest() {}
}

export const nightly = defineSchedule('nightly', {
  workflow: Greeting,
  cron: '0 3 * * *',
  start: () => ({ hero: Orders.ref(1) }),
})

export const everything = {
  workflows: [Greeting, Failing, Stopping, Approved, Wide],
  schedules: [nightly],
  telemetry: { metrics: true },
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: any
}

const origin = 'http://localhost:4000'
const table = routeTable()

/**
 * Sends requests to a handler, as if over a connection of this machine. What comes back must be what its route declares, or
 * a problem.
 */
export class ApiClient {
  readonly #handle: FetchHandler
  readonly #headers: Record<string, string>
  readonly #base: string

  constructor(geneva: Geneva, options: HandlerOptions = {}, headers: Record<string, string> = {}) {
    this.#handle = geneva.handler(options)
    this.#headers = headers
    this.#base = `${origin}${options.basePath ?? ''}`
  }

  raw(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { host: 'localhost:4000', ...this.#headers, ...(init.headers as Record<string, string>) }
    return this.#handle(noteLocal(new Request(`${this.#base}${path}`, { ...init, headers })))
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#send('GET', path, { headers })
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    const json = { 'content-type': 'application/json', ...headers }
    return this.#send('POST', path, { method: 'POST', body: JSON.stringify(body), headers: json })
  }

  async #send(method: 'GET' | 'POST', path: string, init: RequestInit): Promise<Answer> {
    const response = await this.raw(`/api${path}`, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const body = isJson ? JSON.parse(text) : text
    const route = routeOf(method, path)
    if (response.status !== 200 && !path.startsWith('/health')) problem.parse(body)
    else if (route !== null) route.answer.parse(body)
    return { status: response.status, headers: response.headers, text, body }
  }
}

/** The route that a path belongs to; one with fewer parameters goes first. */
export function routeOf(method: string, path: string): Route | null {
  const [wanted = ''] = path.split('?')
  const fitting = table.filter(route => route.method === method && patternOf(route.path).test(wanted))
  return fitting.toSorted((a, b) => a.path.split(':').length - b.path.split(':').length)[0] ?? null
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
}
