/**
 * The graph as rails see it: stops and where the rails lead from each. Where several boxes all depend on the same
 * several others, a junction stands between the two groups, so that m × n edges become m + n rails.
 */
import type { Box } from './fold.ts'

/** A box, or a junction, which has none. */
export interface Stop {
  readonly box: Box | null
  /** Where rails lead from here, in the order of declaration. */
  readonly targets: readonly Stop[]
  /** Stops on the longest way down from here: the main line is the longest. */
  readonly height: number
}

interface OpenStop extends Stop {
  targets: OpenStop[]
  height: number
}

export interface StopLayer {
  readonly junctions: readonly Stop[]
  readonly boxes: readonly Stop[]
}

/** The stops by layer, from the top. */
export function stopsOf(boxes: readonly Box[]): readonly StopLayer[] {
  const layers: { junctions: OpenStop[]; boxes: OpenStop[] }[] = []
  const stops = new Map<Box, OpenStop>()
  for (const box of boxes) {
    const stop = { box, targets: [], height: 0 }
    stops.set(box, stop)
    for (let count = layers.length; count <= box.layer; count++) layers.push({ junctions: [], boxes: [] })
    layers[box.layer]?.boxes.push(stop)
  }
  const openOf = (box: Box) => stops.get(box) ?? []
  for (const { parents, children } of crossings(boxes)) {
    // Children of the same parents stand in the same layer.
    const targets = children.flatMap(openOf)
    const layer = layers[children[0]?.layer ?? 0]
    const junction = { box: null, targets, height: 0 }
    const ends = parents.length > 1 && targets.length > 1 ? [junction] : targets
    if (ends[0] === junction) layer?.junctions.push(junction)
    for (const parent of parents.flatMap(openOf)) {
      for (const end of ends) parent.targets.push(end)
    }
  }
  setHeights(layers)
  return layers
}

/** All edges, as groups of children with the same parents. */
function crossings(boxes: readonly Box[]): Iterable<{ parents: readonly Box[]; children: Box[] }> {
  const place = new Map(boxes.map((box, index) => [box, index]))
  const groups = new Map<string, { parents: readonly Box[]; children: Box[] }>()
  for (const box of boxes) {
    const places = box.parents.map(parent => place.get(parent) ?? -1)
    const key = places.sort((a, b) => a - b).join()
    const group = groups.get(key)
    if (group) group.children.push(box)
    else groups.set(key, { parents: box.parents, children: [box] })
  }
  return groups.values()
}

function setHeights(layers: readonly { junctions: readonly OpenStop[]; boxes: readonly OpenStop[] }[]): void {
  for (const { junctions, boxes } of layers.toReversed()) {
    for (const stop of [...boxes, ...junctions]) {
      for (const target of stop.targets) stop.height = Math.max(stop.height, target.height + 1)
    }
  }
}
