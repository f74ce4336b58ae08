/**
 * What a worker keeps, in a process of its own: the memory of one that has measured other things before tells nothing. Its
 * arguments are the database, what to do, and with how many workflows of five steps. Prints its memory at each look as JSON; needs
 * `--expose-gc`.
 */
import { Geneva, Workflow } from '../src/index.ts'
import { connectPlainly } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'
import { checkNothingLost, untilFinished } from './five-steps.ts'

export interface Look {
  /** What is still needed: garbage is collected first. */
  readonly heapMb: number
  /** What the process occupies: code and the database's driver, too, and what was free again but not given back. */
  readonly residentMb: number
}

export interface Looks {
  readonly looks: readonly Look[]
  /** The most that the process has occupied at any time. */
  readonly peakMb: number
}

const megabyte = 2 ** 20

function look(): Look {
  if (globalThis.gc === undefined) throw new Error('Memory can only be looked at with --expose-gc.')
  globalThis.gc()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heapMb: (heapUsed + external) / megabyte, residentMb: rss / megabyte }
}

let ran = 0
let onRan: (count: number) => void = () => {}

class WithText extends Workflow<null, { text: string }> {
  static {
    for (const step of ['one', 'two', 'three', 'four', 'five'] as const) this.step(step)
  }
  async one() {
    return { text: this.input.text }
  }
  async two() {}
  async three() {}
  async four() {}
  async five() {
    onRan(++ran)
  }
}

const input = { text: 'x'.repeat(200) }

function startSet(geneva: Geneva, count: number) {
  return geneva.startMany(
    WithText,
    Array.from({ length: count }, () => ({ input })),
  )
}

interface Work {
  readonly geneva: Geneva
  readonly database: BenchDatabase
  readonly workflows: number
}

/** Puts them in line, and leaves them there. */
async function start({ geneva, workflows }: Work): Promise<Look[]> {
  for (let left = workflows; left > 0; left -= 1000) await startSet(geneva, Math.min(left, 1000))
  return []
}

/**
 * Works off what stands in line. Looks before the worker begins, beside nearly all of the line, beside half of it, and when nothing is
 * left to do.
 */
async function workOff({ geneva, database, workflows }: Work): Promise<Look[]> {
  await geneva.openedStore()
  const looks = [look()]
  const moments = [workflows / 100, workflows / 2].map(Math.ceil)
  const allRan = new Promise<void>(resolve => {
    onRan = count => {
      if (moments.includes(count)) looks.push(look())
      if (count === workflows) resolve()
    }
  })
  await geneva.startWorker()
  await allRan
  const plain = await connectPlainly(database.kind, database.options.url)
  await untilFinished({ geneva, plain }, workflows)
  await checkNothingLost({ geneva, plain }, workflows)
  looks.push(look())
  await plain.close()
  return looks
}

/** Starts them as they are worked off, the next portion as soon as the one before has ended: a look after each tenth. */
async function goOn({ geneva, workflows }: Work): Promise<Look[]> {
  await geneva.startWorker()
  const looks: Look[] = []
  for (let each = 0; each < 10; each++) {
    const tenth = workflows / 10
    for (let left = tenth; left > 0; left -= 500) {
      const started = await startSet(geneva, Math.min(left, 500))
      await Promise.all(started.map(workflow => workflow.waitUntilFinished({ timeout: '10 min' })))
    }
    looks.push(look())
    process.stderr.write(`  ${(each + 1) * tenth} workflows: ${looks.at(-1)?.heapMb.toFixed(1)} MB\n`)
  }
  return looks
}

const tasks = { start, workOff, goOn }
export type Task = keyof typeof tasks

const [place = '', task = '', workflows = ''] = process.argv.slice(2)
const database = JSON.parse(place) as BenchDatabase
// So that the tables do not grow while the worker goes on and on.
const retention = task === 'goOn' ? { retention: '1ms' as const } : {}
const geneva = new Geneva({ database: database.options, workflows: [WithText], ...retention })
const looks = await tasks[task as Task]({ geneva, database, workflows: Number(workflows) })
await geneva.close()
// In kilobytes on every platform.
process.stdout.write(JSON.stringify({ looks, peakMb: process.resourceUsage().maxRSS / 1024 } satisfies Looks))
