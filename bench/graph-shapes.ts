/** The graphs that are measured: of any size, always the same, with jobs that do nothing. */
import { type BuiltGraph, defineJob, type Geneva } from '../src/index.ts'

export const idle = defineJob('idle', async () => {})

export type Shape = (geneva: Geneva, nodes: number) => BuiltGraph

/** One node, all others but one behind it, and the last behind all of those. */
export const fan: Shape = (geneva, nodes) =>
  geneva.build(w => {
    w.node('root', { job: idle })
    w.fanOut(Array(nodes - 2).fill(null), { name: (_, index) => `middle ${index}`, job: idle })
    w.node('sink', { job: idle })
  })

const parentsPerNode = 3

/** As many layers as each has nodes; every node depends on three of the layer before, chosen at random. */
export const layers: Shape = (geneva, nodes) => {
  const width = Math.ceil(Math.sqrt(nodes))
  const next = randomNumbers()
  return geneva.build(w => {
    for (let index = 0; index < nodes; index++) {
      const before = Math.floor(index / width) * width - width
      const dependsOn = new Set<string>()
      if (before >= 0) while (dependsOn.size < Math.min(parentsPerNode, width)) dependsOn.add(`${before + next(width)}`)
      w.node(`${index}`, { job: idle, dependsOn: before < 0 ? null : [...dependsOn] })
    }
  })
}

/** Park and Miller's generator, from the same seed every time. */
function randomNumbers(): (below: number) => number {
  let state = 20_261_115
  return below => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

export interface Lap {
  readonly buildMs: number
  readonly startMs: number
  /** From the moment at which a worker begins until all have finished. */
  readonly runMs: number
}

/** Builds, stores and runs the graph so many times over, each a workflow of its own, with one worker. */
export async function lap(
  geneva: Geneva,
  shape: Shape,
  { nodes, workflows }: { readonly nodes: number; readonly workflows: number },
): Promise<Lap> {
  await geneva.migrate()
  const begun = performance.now()
  const graphs = Array.from({ length: workflows }, () => shape(geneva, nodes))
  const built = performance.now()
  const started = []
  for (const graph of graphs) started.push(await geneva.startGraph(graph))
  const stored = performance.now()
  const worker = await geneva.startWorker()
  await Promise.all(started.map(workflow => workflow.waitUntilFinished({ timeout: '1 hour' })))
  const finished = performance.now()
  await worker.stop()
  return { buildMs: built - begun, startMs: stored - built, runMs: finished - stored }
}
