/**
 * One step, many behind it, and one behind all of those: how long that takes from start to end, as a graph that is built
 * when it is started and as an `each` of a class. The cost of a node must not grow with how many there are.
 */
import { Geneva, Workflow } from '../../src/index.ts'
import { inFreshPlace } from '../databases.ts'
import { fan, idle } from '../graph-shapes.ts'
import { middleOf } from '../middle-round.ts'
import { peerCases } from '../peer-cases.ts'
import { warmUp, warmUpMs } from '../warm-up.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

class FanOut extends Workflow<null, { readonly width: number }> {
  static {
    this.step('first')
    this.each('middle', { items: wf => Array.from({ length: wf.input.width }, (_, index) => index) })
    this.step('last')
  }
  async first() {}
  async middle(_item: number) {}
  async last() {}
}

type Run = (geneva: Geneva, width: number) => Promise<unknown>

async function runGraph(geneva: Geneva, width: number): Promise<void> {
  const workflow = await geneva.startGraph(fan(geneva, width + 2))
  await workflow.waitUntilFinished({ timeout: '10 min' })
}

async function runClass(geneva: Geneva, width: number): Promise<void> {
  const workflow = await geneva.start(FanOut, { input: { width } })
  await workflow.waitUntilFinished({ timeout: '10 min' })
}

/** As many as there are branches in the usual case, so that none of those has to be looked for. */
const usualPlaces = 1_000

const tiny = 20
/** Of a round of a peer before the clock starts; ours is as wide as the one that is measured. */
const warmUpWidth: Readonly<Record<Size, number>> = { full: 1_000, tiny: 5 }

/** A single one is at the mercy of a collection of garbage, or of somebody else on the machine: the middle one of several counts. */
const fansOf = (nodes: number) => (nodes >= 10_000 ? 3 : 5)

async function medianOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  while (times.length < count) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return middleOf(times)
}

function fanned(name: string, width: number, run: Run, places = usualPlaces): Case {
  return {
    name,
    measure: (database, size) =>
      inFreshPlace(database, async place => {
        const geneva = new Geneva({ database: place.options, jobs: [idle], workflows: [FanOut] })
        try {
          await geneva.migrate()
          await geneva.startWorker({ concurrency: places })
          const nodes = size === 'full' ? width : tiny
          await warmUp(() => run(geneva, nodes), size)
          const ms = await medianOf(fansOf(nodes), () => run(geneva, nodes))
          const both: Measurement[] = [
            { value: ms, unit: 'ms' },
            { what: 'a node', value: (ms * 1000) / nodes, unit: 'µs' },
          ]
          return both
        } finally {
          await geneva.close()
        }
      }),
  }
}

const usual = '1,000 wide'

export const workload: Workload = {
  about: 'Milliseconds from one step to 1,000 and to 10,000 others and back.',
  cases: [
    fanned(usual, 1_000, runGraph),
    fanned('10,000 wide', 10_000, runGraph),
    fanned('10,000 wide, as many places', 10_000, runGraph, 10_000),
    fanned('1,000 wide, each of a class', 1_000, runClass),
  ],
  peers: peerCases('fan', usual, {
    full: { warmUp: warmUpWidth.full, warmUpMs: warmUpMs.full, width: 1_000, fans: fansOf(1_000) },
    tiny: { warmUp: warmUpWidth.tiny, warmUpMs: warmUpMs.tiny, width: tiny, fans: fansOf(tiny) },
  }),
}
