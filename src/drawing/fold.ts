/**
 * Turns a picture into boxes: a box is one node, or many siblings that only differ in their names. Boxes know their
 * layer, so that parents can be drawn above children. Takes time in proportion to nodes and edges.
 */
import { InvalidArgumentError } from '../errors.ts'
import type { Picture, PictureNode } from './picture.ts'
import { countStates, tellingState } from './state-look.ts'

/** What is drawn as one thing. */
export interface Box {
  /** In the order of declaration; more than one if they were folded. */
  readonly nodes: readonly PictureNode[]
  readonly first: PictureNode
  readonly last: PictureNode
  /** Boxes it depends on, in the order in which the first node names them. */
  readonly parents: readonly Box[]
  /** In the order of declaration. */
  readonly children: readonly Box[]
  /** Boxes on the longest way that leads to it. */
  readonly layer: number
  /** How many of its nodes are in which state. */
  readonly counts: ReadonlyMap<string, number>
  /** The state it is drawn in; `null` when nothing is known of states. */
  readonly state: string | null
}

interface OpenBox extends Box {
  parents: OpenBox[]
  children: OpenBox[]
  layer: number
}

/** A node with its edges, before anything is folded. */
interface Place {
  readonly index: number
  readonly node: PictureNode
  readonly parents: Place[]
  readonly children: Place[]
  box: OpenBox | null
}

/**
 * The boxes in the order of declaration. Siblings with the same parents, the same children, the same kind, the same
 * job and the same answer to wait for become one box if there are at least `foldAt` of them. Throws `InvalidArgumentError` when the picture is no graph.
 */
export function foldPicture(picture: Picture, foldAt: number): readonly Box[] {
  const places = placesOf(picture.nodes)
  for (const siblings of siblingsIn(places)) {
    if (siblings.length >= foldAt) openBox(siblings)
  }
  for (const place of places) if (!place.box) openBox([place])
  const boxes = [...new Set(places.flatMap(({ box }) => box ?? []))]
  for (const { box, parents } of places) {
    // All nodes of a box have the same parents, so the first speaks for all.
    if (!box || box.parents.length > 0) continue
    box.parents = distinct(parents.flatMap(parent => parent.box ?? []))
    for (const parent of box.parents) parent.children.push(box)
  }
  setLayers(boxes)
  return boxes
}

function placesOf(nodes: readonly PictureNode[]): Place[] {
  const byId = new Map<string, Place>()
  for (const [index, node] of nodes.entries()) {
    if (byId.has(node.id)) throw new InvalidArgumentError(`The picture has two nodes with the id ${node.id}.`)
    byId.set(node.id, { index, node, parents: [], children: [], box: null })
  }
  const places = [...byId.values()]
  for (const place of places) {
    for (const id of distinct(place.node.dependsOn)) {
      const parent = byId.get(id)
      if (!parent) {
        const edge = `${place.node.id} depends on ${id}`
        throw new InvalidArgumentError(`${edge}, which the picture lacks: add that node, or drop the dependency.`)
      }
      place.parents.push(parent)
      parent.children.push(place)
    }
  }
  return places
}

/** Groups that could be folded, by their parents first, because most nodes part there. */
function siblingsIn(places: readonly Place[]): Place[][] {
  const byParents = groupBy(
    places,
    ({ node, parents }) => `${keyOf(parents)} ${node.kind} ${node.guard?.when ?? ''} ${node.job ?? ''}`,
  )
  return byParents.flatMap(group => (group.length > 1 ? groupBy(group, ({ children }) => keyOf(children)) : []))
}

function groupBy(places: readonly Place[], keyOfPlace: (place: Place) => string): Place[][] {
  const groups = new Map<string, Place[]>()
  for (const place of places) {
    const key = keyOfPlace(place)
    const group = groups.get(key)
    if (group) group.push(place)
    else groups.set(key, [place])
  }
  return [...groups.values()]
}

/** The same for the same places in any order. */
function keyOf(places: readonly Place[]): string {
  const [only, other] = places
  if (only && !other) return String(only.index)
  return places
    .map(place => place.index)
    .sort((a, b) => a - b)
    .join()
}

function distinct<T>(values: readonly T[]): T[] {
  return values.length < 2 ? [...values] : [...new Set(values)]
}

function openBox(places: readonly Place[]): void {
  const nodes = places.map(place => place.node)
  const [first] = nodes
  const last = nodes.at(-1)
  if (!first || !last) return
  const counts = countStates(nodes)
  const state = tellingState(counts)
  const box: OpenBox = { nodes, first, last, parents: [], children: [], layer: 0, counts, state }
  for (const place of places) place.box = box
}

function setLayers(boxes: readonly OpenBox[]): void {
  const waitsFor = new Map(boxes.map(box => [box, box.parents.length]))
  const order = boxes.filter(box => box.parents.length === 0)
  for (const box of order) {
    for (const child of box.children) {
      child.layer = Math.max(child.layer, box.layer + 1)
      const open = (waitsFor.get(child) ?? 0) - 1
      waitsFor.set(child, open)
      if (open === 0) order.push(child)
    }
  }
  if (order.length === boxes.length) return
  const stuck = boxes.filter(box => (waitsFor.get(box) ?? 0) > 0).map(box => box.first.name)
  const names = `${stuck.slice(0, 5).join(', ')}${stuck.length > 5 ? ', ...' : ''}`
  throw new InvalidArgumentError(`The picture has a cycle, so nothing can be drawn above the rest: look at ${names}.`)
}
