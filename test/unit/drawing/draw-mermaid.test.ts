/** The drawing as Mermaid: the source is exact, and no name can be anything but a name in it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import type { Picture, PictureNode } from '../../../src/drawing/picture.ts'
import { graphs, hostileName, lines, orderEdges, siblings, sketch, step } from './sketch.ts'

const mermaid = (picture: Picture) => drawGraph(picture, { format: 'mermaid' })

describe('the drawings of the design', () => {
  it('the order workflow', () => {
    expect(mermaid({ ...sketch(orderEdges), title: 'OrderWorkflow' })).toBe(lines`
      graph TD
          validate --> enrich_data
          validate --> check_inventory
          validate --> check_fraud
          check_inventory --> ready_to_charge
          check_fraud --> ready_to_charge
          ready_to_charge --> charge_card
          charge_card --> send_receipt
          charge_card --> update_analytics
          charge_card --> complete
          send_receipt --> complete
          update_analytics --> complete
    `)
  })

  it('many mutations, one of which stands for the rest', () => {
    const picture = sketch(
      'validate > mutation_1 mutation_2 mutation_3 mutation_N; ' +
        'mutation_1 mutation_2 mutation_3 mutation_N > aggregate; aggregate > notify',
      { mutation_N: { name: 'mutation_...' } },
    )
    expect(mermaid(picture)).toBe(lines`
      graph TD
          validate --> mutation_1
          validate --> mutation_2
          validate --> mutation_3
          validate --> mutation_N["mutation_..."]
          mutation_1 --> aggregate
          mutation_2 --> aggregate
          mutation_3 --> aggregate
          mutation_N --> aggregate
          aggregate --> notify
    `)
  })

  it('the diamond, and the one with letters', () => {
    expect(
      mermaid(
        sketch(
          'validate > check_inventory check_fraud; check_inventory check_fraud > charge; charge > ship; ship > complete',
        ),
      ),
    ).toBe(lines`
      graph TD
          validate --> check_inventory
          validate --> check_fraud
          check_inventory --> charge
          check_fraud --> charge
          charge --> ship
          ship --> complete
    `)
    const letters = sketch('A > B C; B C > D', {
      A: { name: 'A: validate' },
      B: { name: 'B: check_inventory' },
      C: { name: 'C: check_fraud' },
      D: { name: 'D: charge' },
    })
    expect(mermaid(letters)).toBe(lines`
      graph TD
          A[A: validate] --> B[B: check_inventory]
          A --> C[C: check_fraud]
          B --> D[D: charge]
          C --> D
    `)
  })
})

describe('the shape of a graph', () => {
  it.each([
    [graphs.empty, []],
    [graphs.one, ['alone']],
    [graphs.chain, ['a --> b', 'b --> c', 'c --> d', 'd --> e']],
    [graphs.diamond, ['a --> b', 'a --> c', 'b --> d', 'c --> d']],
    [graphs.twoEntries, ['a --> c', 'b --> c']],
    [graphs.fanOut, ['a --> b', 'a --> c', 'a --> d']],
    [graphs.crossing, ['a --> d', 'c --> d', 'b --> e', 'a --> f', 'c --> f']],
    ['a; b > c', ['a', 'b --> c']],
  ])('"%s" has an edge or a lonely node per line', (edges, expected) => {
    expect(mermaid(sketch(edges)).split('\n')).toEqual(['graph TD', ...expected.map(line => `    ${line}`)])
  })

  it('diamonds within a diamond', () => {
    expect(mermaid(sketch(graphs.nested))).toBe(lines`
      graph TD
          start --> a
          start --> b
          a --> a1
          a --> a2
          b --> b1
          b --> b2
          a1 --> a3
          a2 --> a3
          b1 --> b3
          b2 --> b3
          a3 --> end_all
          b3 --> end_all
    `)
  })

  it('the kind of a node is its shape', () => {
    const picture = sketch('a > b; b > c; c > c/1; c > d', {
      b: { kind: 'resumable' },
      c: { kind: 'each' },
      'c/1': { kind: 'item' },
      d: { kind: 'child' },
    })
    expect(mermaid(picture)).toBe(lines`
      graph TD
          a --> b(["b"])
          b --> c{{"c"}}
          c --> n1("c/1")
          c --> d[["d"]]
    `)
  })

  it('states are colours, and words for what has begun', () => {
    const picture = sketch('a > b c; b c > d', {
      a: { state: 'completed' },
      b: { state: 'failed', attempt: 3 },
      c: { state: 'not_taken' },
      d: { state: 'pending' },
    })
    expect(mermaid(picture)).toBe(lines`
      graph TD
          a["✓ a · completed"] --> b["✗ b · failed · attempt 3"]
          a --> c["∅ c · not_taken"]
          b --> d
          c --> d
          classDef completed fill:#d3f9d8,stroke:#2b8a3e,color:#212529
          class a completed
          classDef failed fill:#ffe3e3,stroke:#c92a2a,color:#212529
          class b failed
          classDef not_taken fill:#ffffff,stroke:#868e96,color:#212529,stroke-dasharray:4 3
          class c not_taken
          classDef pending fill:#ffffff,stroke:#adb5bd,color:#212529
          class d pending
    `)
  })

  it('many siblings are one box with counts', () => {
    const tasks = siblings('task', 200, { dependsOn: ['a'] })
    expect(
      mermaid({
        title: null,
        nodes: [
          step('a'),
          ...tasks,
          step(
            'z',
            tasks.map(node => node.id),
          ),
        ],
      }),
    ).toBe(lines`
      graph TD
          a --> n1["task_1 … task_200 (200)"]
          n1 --> z
    `)
    const live = tasks.map((node, index) => ({ ...node, state: index < 9 ? 'failed' : 'pending' }))
    expect(mermaid({ title: null, nodes: [step('a'), ...live] }).split('\n')[1]).toBe(
      '    a --> n1["✗ task_1 … task_200 (200: 9 failed, 191 pending)"]',
    )
  })
})

describe('names from anywhere', () => {
  const one = (name: string, more: Partial<PictureNode> = {}) =>
    mermaid({ title: null, nodes: [{ ...step(name), ...more }] }).split('\n')[1]

  it.each([
    ['say "hi"', 'say #34;hi#34;'],
    ['two\nlines', 'two lines'],
    ['a --> b', 'a #45;#45;#62; b'],
    ['%%{init: {}}%%', '#37;#37;#123;init: #123;#125;#125;#37;#37;'],
    ['<script>alert(1)</script>', '#60;script#62;alert(1)#60;/script#62;'],
    ['<b>bold</b> & co', '#60;b#62;bold#60;/b#62; #38; co'],
    ['back\\slash', 'back#92;slash'],
    ['#34; already', '#35;34#59; already'],
    ['`markdown`', '#96;markdown#96;'],
    ['_emphasis_ __strong__', '#95;emphasis_ #95;_strong__'],
    ['1. list', '1#46; list'],
    ['- list', '#45; list'],
    ['http://www.example.com', 'http#58;//www#46;example.com'],
    ['style:"a"', 'style#58;#34;a#34;'],
    ['go direction TB', 'go direction#32;TB'],
    ['check-fraud', 'check-fraud'],
    ['größe ändern', 'größe ändern'],
    ['検証', '検証'],
    ['a👍', 'a#128077;'],
    ['', '�'.replace('�', '#65533;')],
  ])('%j is quoted, and stays what it is', (name, label) => {
    expect(one(name)).toBe(`    n1["${label}"]`)
  })

  it.each([
    'end',
    'graph',
    'Class',
    'style',
    'click',
    'subgraph',
    'set_direction',
    'constructor',
    '_self',
    '9lives',
    'v',
  ])('%s is a word of the language or no identifier, so it gets an alias', name => {
    expect(one(name)).toMatch(/^ {4}n1\["/)
  })

  it('an odd name stands behind its id, if that is plain', () => {
    expect(one('check inventory', { id: 'n_8f3a2b' })).toBe('    n_8f3a2b["check inventory"]')
    expect(one('end: of day', { id: 'x' })).toBe('    x["end: of day"]')
  })

  it('aliases never collide with names or ids', () => {
    const nodes = [
      { ...step('n1'), id: 'first' },
      { ...step('odd name'), id: 'n1', dependsOn: ['first'] },
      { ...step('other name'), id: 'n 2', dependsOn: ['n1'] },
      { ...step('n2'), id: 'fourth', dependsOn: ['n 2'] },
    ]
    expect(mermaid({ title: null, nodes })).toBe(lines`
      graph TD
          n1 --> n3["odd name"]
          n3 --> n4["other name"]
          n4 --> n2
    `)
  })

  it('whatever it is called, a node is one plain alias and one harmless label', () => {
    const label = /^(?:[\p{L}\p{N}\p{M} _,.:()/…·✗-]|#\d+;)+$/u
    fc.assert(
      fc.property(hostileName, hostileName, (name, note) => {
        const picture = { title: name, nodes: [{ ...step(name), id: 'a b', state: 'failed', note }] }
        const [head, node = '', ...classes] = mermaid(picture).split('\n')
        expect(head).toBe('graph TD')
        const found = /^ {4}\w+\["(.*)"\]$/.exec(node)?.[1]
        expect(found).toMatch(label)
        expect(classes).toHaveLength(2)
      }),
      { numRuns: 300 },
    )
  })
})
