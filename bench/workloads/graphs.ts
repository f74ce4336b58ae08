/**
 * What a node of a graph costs: to build, to store and to run with one worker, for graphs of 100 to 10,000 nodes that do
 * nothing. Each size has 10,000 nodes in all, so that small graphs are not measured by their latency; the cost per node
 * should be the same. And 100,000 nodes in one graph, with the memory that takes.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Geneva } from '../../src/index.ts'
import type { BenchDatabase } from '../databases.ts'
import { fan, idle, type Lap, lap, layers, type Shape } from '../graph-shapes.ts'
import type { Case, Measurement, Size, Workload } from '../workload.ts'

const sizes: Readonly<Record<Size, readonly { readonly nodes: number; readonly workflows: number }[]>> = {
  full: [
    { nodes: 100, workflows: 100 },
    { nodes: 1_000, workflows: 10 },
    { nodes: 10_000, workflows: 1 },
  ],
  tiny: [
    { nodes: 5, workflows: 4 },
    { nodes: 20, workflows: 1 },
  ],
}

function costs(name: string, shape: Shape): Case {
  return {
    name,
    async measure(database, size) {
      const measurements: Measurement[] = []
      const totals: number[] = []
      for (const { nodes, workflows } of sizes[size]) {
        const lapped = await inFreshEngine(database, geneva => lap(geneva, shape, { nodes, workflows }))
        const perNode = (ms: number) => (ms * 1000) / (nodes * workflows)
        measurements.push(...phases(lapped).map(([what, ms]) => cost(`${label(nodes)}, ${what}`, perNode(ms))))
        totals.push(perNode(phases(lapped).reduce((sum, [, ms]) => sum + ms, 0)))
      }
      const ratio = (totals.at(-1) ?? 0) / (totals[0] ?? 1)
      return [...measurements, { what: 'largest against smallest', value: ratio, unit: 'times' }]
    },
  }
}

async function inFreshEngine<T>(database: BenchDatabase, work: (geneva: Geneva) => Promise<T>): Promise<T> {
  const geneva = new Geneva({ database: database.options, jobs: [idle] })
  try {
    return await work(geneva)
  } finally {
    await geneva.close()
  }
}

function phases({ buildMs, startMs, runMs }: Lap): readonly (readonly [string, number])[] {
  return [
    ['build', buildMs],
    ['start', startMs],
    ['run', runMs],
  ]
}

function cost(what: string, value: number): Measurement {
  return { what, value, unit: 'µs/node' }
}

function label(nodes: number): string {
  return `${nodes.toLocaleString('en')} nodes`
}

const program = fileURLToPath(new URL('../large-graph.js', import.meta.url))
/** It must do with this much, whatever the machine has. */
const heapMb = 512

const large: Case = {
  name: 'one large graph',
  async measure(database, size) {
    // For a file this would only take longer: it is one writer, however large the graph.
    if (database.name !== 'postgres') return []
    const nodes = size === 'full' ? 100_000 : 50
    const args = [`--max-old-space-size=${heapMb}`, program, JSON.stringify(database.options), String(nodes)]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const { peakMb, ...lapped } = JSON.parse(stdout) as Lap & { readonly peakMb: number }
    const perNode = (ms: number) => (ms * 1000) / nodes
    return [
      ...phases(lapped).map(([what, ms]) => cost(`${label(nodes)}, ${what}`, perNode(ms))),
      { what: `${label(nodes)}, peak memory`, value: peakMb, unit: 'MB' },
    ]
  },
}

export const workload: Workload = {
  about: 'Microseconds per node to build, store and run a graph, by its shape and size, and the memory of a large one.',
  cases: [costs('fan-out and fan-in', fan), costs('layers, three parents each', layers), large],
}
