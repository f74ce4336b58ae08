/** The drawing in the DOT language: quoted, escaped, and complete without a style sheet. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import type { Picture } from '../../../src/drawing/picture.ts'
import { graphs, hostileName, lines, siblings, sketch, step } from './sketch.ts'

const dot = (picture: Picture) => drawGraph(picture, { format: 'dot' })

describe('the shape of a graph', () => {
  it('a diamond from top to bottom, under its title', () => {
    expect(dot({ ...sketch(graphs.diamond), title: 'Order "42"' })).toBe(lines`
      digraph {
        graph [rankdir=TB label="Order \"42\"" labelloc=t]
        node [shape=box style=filled fillcolor="#ffffff" color="#495057" fontcolor="#212529"]
        "a"
        "b"
        "c"
        "d"
        "a" -> "b"
        "a" -> "c"
        "b" -> "d"
        "c" -> "d"
      }
    `)
  })

  it.each([
    [graphs.empty, []],
    [graphs.one, ['"alone"']],
    [graphs.chain, ['"a"', '"b"', '"c"', '"d"', '"e"', '"a" -> "b"', '"b" -> "c"', '"c" -> "d"', '"d" -> "e"']],
    [graphs.twoEntries, ['"a"', '"b"', '"c"', '"a" -> "c"', '"b" -> "c"']],
    [graphs.fanOut, ['"a"', '"b"', '"c"', '"d"', '"a" -> "b"', '"a" -> "c"', '"a" -> "d"']],
    ['a b > c; b > d', ['"a"', '"b"', '"c"', '"d"', '"a" -> "c"', '"b" -> "c"', '"b" -> "d"']],
  ])('"%s" has a line for each node and each edge', (edges, expected) => {
    const body = dot(sketch(edges)).split('\n').slice(3, -1)
    expect(body).toEqual(expected.map(line => `  ${line}`))
  })

  it('diamonds within a diamond, and edges that cross', () => {
    const edges = (picture: Picture) => dot(picture).match(/"\w+" -> "\w+"/g)
    expect(edges(sketch(graphs.nested))).toHaveLength(12)
    expect(edges(sketch(graphs.crossing))).toEqual([
      '"a" -> "d"',
      '"c" -> "d"',
      '"b" -> "e"',
      '"a" -> "f"',
      '"c" -> "f"',
    ])
  })

  it('kinds are shapes, states are colours and words, and a fold has a double outline', () => {
    const items = siblings('load/item', 200, { dependsOn: ['load'], kind: 'item', state: 'completed' })
    const picture = sketch('load > import_rows; import_rows > pay; pay > mail', {
      load: { kind: 'each', state: 'completed' },
      import_rows: { kind: 'resumable', state: 'in_progress', attempt: 2, progress: '3 of 9' },
      pay: { kind: 'child', state: 'not_taken' },
      mail: { state: 'pending' },
    })
    expect(dot({ ...picture, nodes: [...picture.nodes, ...items] })).toBe(lines`
      digraph {
        graph [rankdir=TB]
        node [shape=box style=filled fillcolor="#ffffff" color="#495057" fontcolor="#212529"]
        "load" [label="✓ load\ncompleted" shape="hexagon" fillcolor="#d3f9d8" color="#2b8a3e"]
        "import_rows" [label="● import_rows\nin_progress, attempt 2, 3 of 9" style="rounded,filled" fillcolor="#d0ebff" color="#1864ab"]
        "pay" [label="∅ pay\nnot_taken" shape="folder" fillcolor="#ffffff" color="#868e96" style="dashed,filled"]
        "mail" [fillcolor="#ffffff" color="#adb5bd"]
        "n1" [label="✓ load/item_1 … load/item_200 (200: 200 completed)" shape="ellipse" peripheries="2" fillcolor="#d3f9d8" color="#2b8a3e"]
        "load" -> "import_rows"
        "import_rows" -> "pay"
        "pay" -> "mail"
        "load" -> "n1"
      }
    `)
  })
})

describe('names from anywhere', () => {
  it.each([
    ['say "hi"', String.raw`say \"hi\"`],
    ['back\\slash', String.raw`back\\slash`],
    ['ends with \\', String.raw`ends with \\`],
    ['\\N \\G \\"', String.raw`\\N \\G \\\"`],
    ['two\nlines', 'two lines'],
    ['a -> b', 'a -> b'],
    ['<b>bold</b>', '<b>bold</b>'],
    ['&lt; &#60; & co', '&amp;lt; &amp;#60; & co'],
    ['a]; evil [x=y', 'a]; evil [x=y'],
    ['検証 👍', '検証 👍'],
  ])('%j is a label that shows just that', (name, label) => {
    expect(dot({ title: null, nodes: [step(name)] }).split('\n')[3]).toBe(`  "n1" [label="${label}"]`)
  })

  it('whatever it is called, a node is one statement', () => {
    const statement = /^ {2}"\w+" \[label="(?:[^"\\\n]|\\\\|\\")*"\]$/u
    fc.assert(
      fc.property(hostileName, name => {
        const drawing = dot({ title: null, nodes: [{ ...step(`${name} `), id: 'a b' }] }).split('\n')
        expect(drawing).toHaveLength(5)
        if (!/^ {2}"\w+"$/.test(drawing[3] ?? '')) expect(drawing[3]).toMatch(statement)
      }),
      { numRuns: 300 },
    )
  })
})
