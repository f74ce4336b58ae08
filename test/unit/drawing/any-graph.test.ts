/** What holds for the drawing of every graph, with graphs at random: nothing is lost, doubled or made up. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import { foldPicture } from '../../../src/drawing/fold.ts'
import type { Picture } from '../../../src/drawing/picture.ts'
import { layRails } from '../../../src/drawing/rail-layout.ts'
import { railRows } from '../../../src/drawing/rail-rows.ts'
import { type Read, readRails, readText } from './read-drawing.ts'
import { step } from './sketch.ts'

/** Declared in any order: an edge leads from the lower to the higher rank, and ranks are shuffled. */
const anyPicture: fc.Arbitrary<Picture> = fc
  .record({ size: fc.integer({ min: 1, max: 12 }), density: fc.integer({ min: 1, max: 9 }) })
  .chain(({ size, density }) =>
    fc.record({
      order: fc.shuffledSubarray([...Array(size).keys()], { minLength: size }),
      chosen: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: size * size, maxLength: size * size }),
      density: fc.constant(density),
    }),
  )
  .map(({ order, chosen, density }) => {
    const parentsOf = (node: number) => {
      const rank = order.indexOf(node)
      return order.slice(0, rank).filter((_, other) => (chosen[rank * order.length + other] ?? 9) < density)
    }
    const names = [...order.keys()]
    return {
      title: null,
      nodes: names.map(node =>
        step(
          `n${node}`,
          parentsOf(node).map(parent => `n${parent}`),
        ),
      ),
    }
  })

const unfolded = { foldAt: Number.POSITIVE_INFINITY }

it('rails show each node and each edge exactly once, and parents above children', () => {
  fc.assert(
    fc.property(anyPicture, picture => {
      const layout = layRails(foldPicture(picture, Number.POSITIVE_INFINITY), 1000)
      if (!layout) throw new Error('There is room for 1000 lanes.')
      const rows = railRows(layout, { ascii: false }).rows.map(({ line, station }) =>
        station
          ? `${line.slice(0, station.column)}○${line.slice(station.column + 1)}  ${station.box.first.name}`
          : line,
      )
      expectSame(readRails(rows), picture)
    }),
    { numRuns: 150 },
  )
})

it('text shows each node and each edge exactly once, and parents above children, however narrow the terminal', () => {
  fc.assert(
    fc.property(anyPicture, fc.integer({ min: 20, max: 80 }), (picture, width) => {
      const drawing = drawGraph(picture, { ...unfolded, width })
      expectSame(readText(drawing), picture)
      for (const line of drawing.split('\n')) expect(line.length).toBeLessThanOrEqual(width)
    }),
    { numRuns: 150 },
  )
})

it('Mermaid and DOT have a line for each edge, in the order of declaration', () => {
  fc.assert(
    fc.property(anyPicture, picture => {
      const edges = edgesOf(picture)
      const mermaid = drawGraph(picture, { ...unfolded, format: 'mermaid' }).matchAll(/^ {4}(\w+) --> (\w+)$/gm)
      expect(Array.from(mermaid, ([, parent, child]) => `${parent} > ${child}`)).toEqual(edges)
      const dot = drawGraph(picture, { ...unfolded, format: 'dot' }).matchAll(/^ {2}"(\w+)" -> "(\w+)"$/gm)
      expect(Array.from(dot, ([, parent, child]) => `${parent} > ${child}`)).toEqual(edges)
    }),
    { numRuns: 50 },
  )
})

function expectSame(read: Read, picture: Picture): void {
  expect(read.nodes.toSorted().join()).toBe(
    picture.nodes
      .map(node => node.name)
      .toSorted()
      .join(),
  )
  expect(read.edges.toSorted().join()).toBe(edgesOf(picture).toSorted().join())
  const upwards = edgesOf(picture).filter(edge => {
    const [above = -1, below = -1] = edge.split(' > ').map(name => read.nodes.indexOf(name))
    return above >= below
  })
  expect(upwards).toEqual([])
}

function edgesOf(picture: Picture): string[] {
  return picture.nodes.flatMap(node => node.dependsOn.map(parent => `${parent} > ${node.name}`))
}
