/** The reader of drawings must see what is there, or the tests that trust it prove nothing. */
import { expect, it } from 'vitest'
import { readText } from './read-drawing.ts'
import { lines } from './sketch.ts'

it('follows forks, joins and crossings, and takes no crossing for a connection', () => {
  const drawing = lines`
    ○      a
    │ ○    b
    │ │ ○  c
    ├─│─┤
    ○ │ │  d
      ○ │  e
        ○  f
  `
  const { nodes, edges } = readText(drawing)
  expect(nodes).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  expect(edges.toSorted()).toEqual(['a > d', 'a > f', 'b > e', 'c > d', 'c > f'])
  expect(readText(drawing.replace('─│─', '─┼─')).edges).toContain('b > d')
  expect(readText(drawing.replace('○ │ │', '○   │')).edges).not.toContain('b > e')
})

it('reads a list, dependencies on further lines included', () => {
  const list = lines`
    1  ○ a
       ○ b
    2  ○ c  ← a,
              b
    3  ○ d
         ← c
  `
  expect(readText(list)).toEqual({ nodes: ['a', 'b', 'c', 'd'], edges: ['a > c', 'b > c', 'c > d'] })
})
