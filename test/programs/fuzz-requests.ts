/**
 * Sends random requests to the HTTP API, made from the route table and a seed: nearly right ones, wrong ones and plain
 * nonsense. Whatever comes, there is no 5xx, no answer but the one that its route declares, and nothing about what is inside.
 * `npm run fuzz -- --requests 100000 --seed 7` does so from the command line.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Route } from '../../src/http/route.ts'
import { routeTable } from '../../src/http/route-table.ts'
import { problem } from '../../src/http/wire-schemas.ts'
import { Geneva, type Role } from '../../src/index.ts'
import { Approved, everything, Failing, Greeting, Orders, Stopping, Wide } from '../http/http-world.ts'

export interface FuzzReport {
  readonly requests: number
  readonly statuses: ReadonlyMap<number, number>
  /** What must not happen, each with the request that brought it about. */
  readonly complaints: readonly string[]
}

const table = routeTable()
const roles: readonly (Role | 'nobody')[] = ['reader', 'operator', 'admin', 'admin', 'admin', 'nobody']
const leaks =
  /\n\s+at |node_modules|\.[jt]s:\d|\/tmp\/|\/src\/|geneva_drive_|sqlite|select |insert into|update .* set |errcode|prototype/i
const nasty: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1e309',
  'NaN',
  '99999999999999999999',
  "' or '1'='1",
  '"; drop table workflows; --',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '..%2f..%2f',
  '%00',
  '\u0000',
  '\ud800',
  '\u202e\u0000x',
  '__proto__',
  'constructor',
  'toString',
  '%',
  '_',
  '\\',
  '{{7*7}}',
  '😀'.repeat(50),
  'x'.repeat(300),
  '2026-01-01',
  '2026-13-45T99:99:99Z',
  'true',
  'null',
  '[]',
  '{}',
  'Order:1',
  ':',
  'a:b:c',
]

/** Numbers that look random and are the same for the same seed. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)] as T
  }
}

export async function fuzzRequests(geneva: Geneva, requests: number, seed: number): Promise<FuzzReport> {
  const chance = new Chance(seed)
  const known = await populate(geneva)
  const handle = geneva.handler({
    maxBodyBytes: 2000,
    authorize: request => {
      const role = request.headers.get('x-role') as Role | 'nobody' | null
      return role === null || role === 'nobody' ? null : { role, by: 'fuzz' }
    },
  })
  const statuses = new Map<number, number>()
  const complaints: string[] = []
  for (let i = 0; i < requests; i++) {
    const route = chance.pick(table)
    const request = randomRequest(chance, route, known)
    const described = `${i}: ${request.method} ${request.url}`
    try {
      const response = await handle(request)
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      const complaint = await complaintAbout(response, route)
      if (complaint !== null) complaints.push(`${described}: ${complaint}`)
    } catch (error) {
      complaints.push(`${described}: threw ${String(error)}`)
    }
  }
  return { requests, statuses, complaints }
}

/** Enough to be found by requests that are nearly right. */
async function populate(geneva: Geneva): Promise<readonly string[]> {
  const started = [
    ...(await geneva.startMany(
      Greeting,
      [1, 2, 3].map(id => ({ hero: Orders.ref(id), input: { name: '<b>' } })),
    )),
    ...(await geneva.startMany(
      Failing,
      [1, 2, 3, 4].map(id => ({ hero: Orders.ref(id) })),
    )),
    ...(await geneva.startMany(
      Approved,
      [1, 2, 3].map(id => ({ hero: Orders.ref(id) })),
    )),
    ...(await geneva.startMany(Wide, [{}, {}])),
    ...(await geneva.startMany(Stopping, [{}, {}])),
  ]
  await geneva.runDue({ poll: 5, grace: 0 })
  const letters = (await geneva.deadLetters()).map(({ id }) => id)
  const waiting = (await geneva.views.approvals()).items.map(({ executionId }) => executionId)
  const ids = started.map(({ id }) => id)
  return [...ids, ...ids, ...letters, ...waiting, 'nightly', 'default', 'failing', 'Order', 'charge', 'trip', 'approve']
}

function randomRequest(chance: Chance, route: Route, known: readonly string[]): Request {
  const word = () => (chance.is(0.7) ? chance.pick(known) : chance.pick(nasty))
  const path = chance.is(0.03)
    ? `/${Array.from({ length: 4 }, () => encoded(chance, chance.pick(nasty))).join('/')}`
    : route.path.replace(/:\w+/g, () => encoded(chance, word()) || 'x')
  const method = chance.is(0.95) ? route.method : chance.pick(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'])
  const query = chance.is(0.5) ? '' : randomQuery(chance, route, word)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(`http://localhost:4000/api${path}${query}`, {
    method,
    headers: randomHeaders(chance),
    ...(hasBody ? { body: randomBody(chance, route, word) } : {}),
  })
}

/** Mostly as a browser would send it, sometimes cut in the middle. */
function encoded(chance: Chance, text: string): string {
  const whole = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))
  return chance.is(0.02) ? `${whole}%E0%A4%A` : whole
}

function randomHeaders(chance: Chance): Record<string, string> {
  return {
    host: 'localhost:4000',
    'content-type': chance.is(0.93)
      ? 'application/json'
      : chance.pick(['text/plain', 'text/html', 'application/xml', '*']),
    'x-role': chance.pick(roles),
    ...(chance.is(0.03) ? { origin: chance.pick(['null', 'http://evil.example', 'http://localhost:4000']) } : {}),
    ...(chance.is(0.03) ? { 'sec-fetch-site': chance.pick(['cross-site', 'same-origin', 'odd']) } : {}),
  }
}

function randomQuery(chance: Chance, route: Route, word: () => string): string {
  const names = [...fieldsOf(route.query), ...(chance.is(0.1) ? ['unknown', '__proto__'] : [])]
  if (names.length === 0) return chance.is(0.1) ? '?x=1' : ''
  const given = Array.from({ length: 1 + Math.floor(chance.next() * 3) }, () => {
    const value = chance.is(0.4)
      ? chance.pick(['active', 'paused', 'dlq', '5', '1', 'mermaid', 'Order:1', 'open'])
      : word()
    return `${chance.pick(names)}=${encoded(chance, value)}`
  })
  return `?${given.join('&')}`
}

function randomBody(chance: Chance, route: Route, word: () => string): string {
  if (chance.is(0.05))
    return chance.pick(['', '{', '[]', 'null', '"x"', '1', '{"a":1}}', `{"reason":"${'x'.repeat(3000)}"}`])
  const names = [...fieldsOf(route.body), ...(chance.is(0.05) ? ['unknown', '__proto__', 'constructor'] : [])]
  const body = Object.fromEntries(
    names
      .filter(() => chance.is(0.6))
      .map(name => [name, chance.is(0.5) ? likely(chance, name) : randomValue(chance, word, 0)]),
  )
  return JSON.stringify(body)
}

/** What a field would usually hold. */
function likely(chance: Chance, name: string): unknown {
  const values: Record<string, readonly unknown[]> = {
    type: ['greeting', 'failing', 'approved', 'wide', 'stopping'],
    hero: [
      { type: 'Order', id: 1 },
      { type: 'Order', id: '9' },
    ],
    filter: [{}, { state: 'paused' }, { type: 'greeting' }, { at: 'trip' }],
    action: ['pause', 'resume', 'cancel', 'skip', 'reattempt', 'requeue'],
    decision: ['confirmed', 'rejected'],
    data: [{ limit: 1 }, { limit: 'x' }, {}],
    dryRun: [true, false],
    expect: [0, 1, 2],
    olderThanMs: [1e12],
    then: ['cancel', 'skip', 'rollback'],
  }
  return chance.pick(values[name] ?? ['because', { $geneva: 'date', value: '2026-01-01T00:00:00.000Z' }, 'charge', 1])
}

function randomValue(chance: Chance, word: () => string, depth: number): unknown {
  const kind = Math.floor(chance.next() * (depth > 3 ? 5 : 8))
  if (kind === 0) return chance.pick([0, -1, 1e308, 0.1, 2 ** 53, -0])
  if (kind === 1) return chance.is(0.5)
  if (kind === 2) return null
  if (kind < 5) return word()
  if (kind === 5) return Array.from({ length: 3 }, () => randomValue(chance, word, depth + 1))
  const names = chance.is(0.2) ? ['$geneva', 'value'] : [word(), word()]
  return Object.fromEntries(names.map(name => [name, randomValue(chance, word, depth + 1)]))
}

function fieldsOf(schema: unknown): string[] {
  return Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})
}

async function complaintAbout(response: Response, route: Route): Promise<string | null> {
  const type = response.headers.get('content-type') ?? ''
  if (response.headers.get('x-content-type-options') !== 'nosniff') return `${response.status} without nosniff`
  if (type.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return null
  }
  const text = await response.text()
  if (response.status >= 500) return `${response.status} ${text.slice(0, 300)}`
  if (response.status !== 200) {
    if (text !== '' && !problem.safeParse(JSON.parse(text)).success) return `${response.status} is no problem: ${text}`
    return leaks.test(text) ? `${response.status} tells too much: ${text}` : null
  }
  if (text === '') return null
  const checked = route.answer.safeParse(type.startsWith('application/json') ? JSON.parse(text) : text)
  // Another route may have answered, where a parameter has the name of one.
  const others = () => table.some(({ answer }) => answer.safeParse(JSON.parse(text)).success)
  return checked.success || others() ? null : `an answer that no route declares: ${text.slice(0, 300)}`
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { requests: { type: 'string' }, seed: { type: 'string' } } })
  const requests = Number(values.requests ?? 5000)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const folder = mkdtempSync(join(tmpdir(), 'geneva-fuzz-'))
  const errors: unknown[] = []
  const geneva = new Geneva({
    ...everything,
    database: `sqlite:${join(folder, 'fuzz.db')}`,
    onError: (error, context) => (context === null ? errors.push(error) : undefined),
  })
  try {
    const begun = performance.now()
    const { statuses, complaints } = await fuzzRequests(geneva, requests, seed)
    const seconds = (performance.now() - begun) / 1000
    const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
    console.log(`${requests} requests with seed ${seed} in ${seconds.toFixed(1)} s. ${counts.join(', ')}`)
    for (const complaint of complaints.slice(0, 20)) console.log(complaint)
    for (const error of errors.slice(0, 5)) console.log(error)
    console.log(complaints.length === 0 ? 'No complaint.' : `${complaints.length} complaints.`)
    process.exitCode = complaints.length === 0 ? 0 : 1
  } finally {
    await geneva.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1]?.endsWith('fuzz-requests.js')) await main()
