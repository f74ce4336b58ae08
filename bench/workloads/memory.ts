/**
 * What a worker keeps of the steps that it has run: its memory over a million of them, with garbage collected, from after the
 * first tenth on. Workflows are started as they are worked off, so the tables hold little that is due.
 */
import { Geneva, Workflow } from '../../src/index.ts'
import type { BenchDatabase } from '../databases.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

class FiveSteps extends Workflow<null, { text: string }> {
  static {
    this.step('one')
    this.step('two')
    this.step('three')
    this.step('four')
    this.step('five')
  }
  async one() {
    return { text: this.input.text }
  }
  async two() {}
  async three() {}
  async four() {}
  async five() {}
}

const stepsEach = 5
const input = { text: 'x'.repeat(200) }
const megabyte = 2 ** 20

interface Memory {
  readonly heap: number
  readonly process: number
}

/** What is still needed; garbage is collected first, for which Node needs `--expose-gc`. */
function memory(): Memory {
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: (heapUsed + external) / megabyte, process: rss / megabyte }
}

/** Workflows in portions, the next as soon as the one before has ended. */
async function workOff(geneva: Geneva, count: number, portion: number): Promise<void> {
  for (let begun = 0; begun < count; begun += portion) {
    const whats = Array.from({ length: Math.min(portion, count - begun) }, () => ({ input }))
    const started = await geneva.startMany(FiveSteps, whats)
    await Promise.all(started.map(workflow => workflow.waitUntilFinished({ timeout: '10 min' })))
  }
}

async function watch(database: BenchDatabase, steps: number): Promise<Memory[]> {
  const geneva = new Geneva({ database: database.options, workflows: [FiveSteps], retention: '1ms' })
  try {
    await geneva.startWorker()
    const looks: Memory[] = []
    const tenth = steps / stepsEach / 10
    for (let each = 0; each < 10; each++) {
      await workOff(geneva, tenth, 500)
      looks.push(memory())
      process.stderr.write(`  ${Math.round(((each + 1) * steps) / 10)} steps: ${looks.at(-1)?.heap.toFixed(1)} MB\n`)
    }
    return looks
  } finally {
    await geneva.close()
  }
}

const million: Case = {
  name: 'a million steps',
  async measure(database: BenchDatabase, size: Size): Promise<Measurement[]> {
    const looks = await watch(database, size === 'full' ? 1_000_000 : 1_000)
    const [first, ...rest] = looks
    const growth = (of: keyof Memory) => Math.max(...rest.map(look => look[of])) - (first?.[of] ?? 0)
    return [
      { what: 'heap after a tenth', value: first?.heap ?? 0, unit: 'MB' },
      { what: 'highest growth of the heap since', value: growth('heap'), unit: 'MB' },
      { what: 'highest growth of the process since', value: growth('process'), unit: 'MB' },
    ]
  },
}

export const workload: Workload = {
  about: 'Memory of a worker over a million steps, with garbage collected.',
  cases: [million],
}
