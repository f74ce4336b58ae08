/**
 * Measures what open dashboards cost the workers: the same load by turns with nobody looking and with many who do, in the same
 * process, as the dashboard asks: a stream each, and after each hint, at most every two seconds, the overview or a list.
 * `npm run measure:viewers -- --url postgres://... --viewers 20`.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type FetchHandler, Geneva, Workflow } from '../../src/index.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    viewers: { type: 'string' },
    workflows: { type: 'string' },
    rounds: { type: 'string' },
  },
})
const viewers = Number(values.viewers ?? 20)
const workflows = Number(values.workflows ?? 5000)
const rounds = Number(values.rounds ?? 3)
const leastPercent = 90

class Chain extends Workflow {
  static {
    this.named('viewed-chain')
    for (const name of ['one', 'two', 'three', 'four', 'five'] as const) this.step(name)
  }
  async one() {}
  async two() {}
  async three() {}
  async four() {}
  async five() {}
}

const pages = [
  '/overview',
  '/workflows?limit=50',
  '/overview',
  '/workflows?state=active',
  '/approvals',
  '/dead-letters',
]

/** Looks again after a hint, until it is told to stop. Returns how often it did. */
async function look(handle: FetchHandler, index: number, signal: AbortSignal): Promise<number> {
  const ask = async (path: string) => (await handle(new Request(`http://localhost/api${path}`, { signal }))).text()
  const stream = await handle(new Request('http://localhost/api/stream', { signal }))
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  let asked = 0
  while (!signal.aborted) {
    const { done } = await reader.read()
    if (done) break
    await ask(pages[(asked + index) % pages.length] ?? '/overview')
    asked++
    await pause(2000, undefined, { signal }).catch(() => {})
  }
  return asked
}

async function stepsPerSecond(geneva: Geneva): Promise<number> {
  const begun = performance.now()
  const handles = await geneva.startMany(
    Chain,
    Array.from({ length: workflows }, () => ({})),
  )
  await Promise.all(handles.map(handle => handle.waitUntilFinished()))
  return (workflows * 5) / ((performance.now() - begun) / 1000)
}

const geneva = new Geneva({ database: values.url ?? 'sqlite::memory:', workflows: [Chain] })
await geneva.startWorker({ concurrency: 100 })
await stepsPerSecond(geneva)
const alone: number[] = []
const watched: number[] = []
let asked = 0
for (let i = 0; i < rounds; i++) {
  alone.push(await stepsPerSecond(geneva))
  const stop = new AbortController()
  const handle = geneva.handler({ authorize: () => ({ role: 'admin', by: 'measure' }) })
  const looking = Array.from({ length: viewers }, (_, index) => look(handle, index, stop.signal))
  watched.push(await stepsPerSecond(geneva))
  stop.abort()
  asked += (await Promise.all(looking)).reduce((sum, each) => sum + each, 0)
}
await geneva.close()
const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
const percent = (median(watched) / median(alone)) * 100
const shown = (numbers: readonly number[]) => numbers.map(number => Math.round(number)).join(', ')
console.log(`alone:   ${shown(alone)} steps a second`)
console.log(`watched: ${shown(watched)} steps a second, ${viewers} viewers, ${asked} pages`)
console.log(`${percent.toFixed(1)} % (at least ${leastPercent} are wanted)`)
process.exitCode = percent >= leastPercent ? 0 : 1
