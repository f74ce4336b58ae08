/** Where the boxes of a drawn graph stand: above and beside each other as they depend on each other, however many there are. */
import { describe, expect, it } from 'vitest'
import { arrange } from '../../dashboard/src/graph/arrange.ts'
import { layOut } from '../../dashboard/src/graph/lay-out.ts'

const boxSize = { width: 188, height: 58 }

function chain(length: number) {
  const shapes = Array.from({ length }, (_, at) => ({ id: `n${at}`, ...boxSize }))
  const lines = shapes.slice(1).map(({ id }, at) => ({ from: `n${at}`, to: id }))
  return { shapes, lines }
}

function viewOf({ shapes, lines }: ReturnType<typeof chain>) {
  const node = { kind: 'step', state: null, outcome: null, attempt: 0, startedAt: null, endedAt: null, error: null }
  const rest = { fold: null, branchOf: null, compensates: null, progress: null, note: null, actions: [] }
  return {
    nodes: shapes.map(({ id }) => ({ id, name: id, ...node, ...rest })),
    edges: lines.map(line => ({ ...line, kind: 'dependency' as const, label: null })),
    folded: false,
    size: shapes.length,
  }
}

describe('boxes', () => {
  it('stand in the order of their dependencies, in a small graph and in a large one', () => {
    for (const length of [5, 1000]) {
      const { shapes, lines } = chain(length)
      const places = layOut(shapes, lines, 'LR')
      const xs = shapes.map(({ id }) => places.get(id)?.x ?? Number.NaN)
      expect(xs).toEqual(xs.toSorted((a, b) => a - b))
      expect(new Set(xs).size).toBe(length)
    }
  })

  it('never overlap, not even the thousand siblings of one layer', () => {
    const shapes = Array.from({ length: 1001 }, (_, at) => ({ id: `n${at}`, ...boxSize }))
    const lines = shapes.slice(1).map(({ id }) => ({ from: 'n0', to: id }))
    const taken = new Set([...layOut(shapes, lines, 'TB').values()].map(({ x, y }) => `${x},${y}`))
    expect(taken.size).toBe(1001)
  })

  it('go from left to right where that can be read, and down where it cannot', () => {
    expect(arrange(viewOf(chain(4)), 1100)).toMatchObject({ direction: 'LR', viewport: { zoom: 1 } })
    expect(arrange(viewOf(chain(9)), 1100).direction).toBe('TB')
    expect(arrange(viewOf(chain(2)), 360).direction).toBe('TB')
    expect(arrange(viewOf(chain(60)), 1100).viewport.zoom, 'never too small to read').toBeGreaterThanOrEqual(0.75)
  })

  it('have a map only where they do not fit, in their own proportions', () => {
    expect(arrange(viewOf(chain(4)), 1100).map).toBeNull()
    expect(arrange(viewOf(chain(3)), 343).map).toBeNull()
    const { map } = arrange(viewOf(chain(200)), 1100)
    expect(map?.width).toBeGreaterThan(1000)
    expect(map?.height).toBeLessThan(100)
  })

  it('fit the width of a phone, three beside each other', () => {
    const beside = (many: number) => {
      const { shapes } = chain(many + 1)
      return viewOf({ shapes, lines: shapes.slice(1).map(({ id }) => ({ from: 'n0', to: id })) })
    }
    const { viewport, places, box, map } = arrange(beside(3), 343)
    const [left, right] = [Math.min, Math.max].map(pick => pick(...[...places.values()].map(({ x }) => x)))
    expect((left ?? 0) * viewport.zoom + viewport.x).toBeGreaterThanOrEqual(0)
    expect(((right ?? 0) + box.width) * viewport.zoom + viewport.x).toBeLessThanOrEqual(343)
    expect(map).toBeNull()
    expect(arrange(beside(7), 343).map).not.toBeNull()
  })

  it('leave no room empty on one side while they are cut off on the other', () => {
    const columns = Array.from({ length: 7 }, (_, column) =>
      chain(8).shapes.map(({ id }) => ({ id: `${column} ${id}`, ...boxSize })),
    )
    const lines = columns.flatMap(column =>
      column.slice(1).map(({ id }, at) => ({ from: column[at]?.id ?? '', to: id })),
    )
    const { viewport, places } = arrange(viewOf({ shapes: columns.flat(), lines }), 1014)
    const left = Math.min(...[...places.values()].map(({ x }) => x))
    expect(left * viewport.zoom + viewport.x).toBeLessThanOrEqual(28)
  })
})
