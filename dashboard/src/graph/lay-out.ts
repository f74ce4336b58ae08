/**
 * Where the boxes of a graph stand. Small graphs are laid out by dagre; above a limit a layered grid takes its place,
 * which takes time in proportion to nodes and edges and never lets a page hang.
 */
import dagre from '@dagrejs/dagre'

export interface Shape {
  readonly id: string
  readonly width: number
  readonly height: number
}

export interface Line {
  readonly from: string
  readonly to: string
}

export interface Place {
  readonly x: number
  readonly y: number
}

export type Direction = 'LR' | 'TB'

/** More boxes than this, and dagre would take seconds. */
const dagreLimit = 400
const gap = { layer: 44, row: 22 }
const gridRows = 25

export function layOut(
  shapes: readonly Shape[],
  lines: readonly Line[],
  direction: Direction,
): ReadonlyMap<string, Place> {
  if (shapes.length > dagreLimit || lines.length > dagreLimit * 4) return layeredGrid(shapes, lines, direction)
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: direction, ranksep: gap.layer, nodesep: gap.row, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id, width, height } of shapes) graph.setNode(id, { width, height })
  for (const [index, { from, to }] of lines.entries()) graph.setEdge(from, to, {}, String(index))
  dagre.layout(graph)
  return new Map(
    shapes.map(({ id, width, height }) => {
      const { x = 0, y = 0 } = graph.node(id) as Partial<Place>
      return [id, { x: x - width / 2, y: y - height / 2 }]
    }),
  )
}

/** Each layer is a block of columns; a layer that is too long for one goes on in the next. */
export function layeredGrid(
  shapes: readonly Shape[],
  lines: readonly Line[],
  direction: Direction,
): ReadonlyMap<string, Place> {
  const layers = layersOf(shapes, lines)
  const size = shapes[0] ?? { width: 180, height: 60 }
  const [along, across] = direction === 'LR' ? [size.width, size.height] : [size.height, size.width]
  const places = new Map<string, Place>()
  let start = 0
  for (const layer of layers) {
    for (const [index, { id }] of layer.entries()) {
      const column = Math.floor(index / gridRows)
      const main = start + column * (along + gap.row)
      const cross = (index % gridRows) * (across + gap.row)
      places.set(id, direction === 'LR' ? { x: main, y: cross } : { x: cross, y: main })
    }
    start += Math.ceil(layer.length / gridRows) * (along + gap.row) + gap.layer
  }
  return places
}

/** By the longest way that leads to each. What stands in a circle, which no graph of ours has, lands in the last layer. */
function layersOf(shapes: readonly Shape[], lines: readonly Line[]): Shape[][] {
  const depth = new Map(shapes.map(({ id }) => [id, 0]))
  const open = new Map(shapes.map(({ id }) => [id, 0]))
  const next = new Map<string, string[]>()
  for (const { from, to } of lines) {
    if (!depth.has(from) || !depth.has(to)) continue
    open.set(to, (open.get(to) ?? 0) + 1)
    const known = next.get(from)
    if (known) known.push(to)
    else next.set(from, [to])
  }
  const order = shapes.filter(({ id }) => open.get(id) === 0).map(({ id }) => id)
  for (const id of order) {
    for (const child of next.get(id) ?? []) {
      depth.set(child, Math.max(depth.get(child) ?? 0, (depth.get(id) ?? 0) + 1))
      const left = (open.get(child) ?? 0) - 1
      open.set(child, left)
      if (left === 0) order.push(child)
    }
  }
  const layers: Shape[][] = []
  for (const shape of shapes) {
    const layer = depth.get(shape.id) ?? 0
    const known = layers[layer]
    if (known) known.push(shape)
    else layers[layer] = [shape]
  }
  return layers.filter(layer => layer !== undefined)
}
