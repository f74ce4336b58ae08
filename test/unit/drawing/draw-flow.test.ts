/** Forks, conditions and joins in every format: shapes, the answers of conditions, and the rules of joins. */
import { describe, expect, test } from 'vitest'
import { Graph } from '../../../src/definition/graph.ts'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import { pictureOf } from '../../../src/drawing/picture.ts'

const common = { waitMs: 0, queue: 'default', priority: 0 }
const graph = new Graph({
  type: 'Orders',
  queue: 'default',
  priority: 0,
  nodes: [
    { id: 'paid', name: 'paid', kind: 'savePoint', dependsOn: [], ...common },
    { id: 'isDigital', name: 'isDigital', kind: 'condition', dependsOn: ['paid'], ...common },
    { ...step('deliver', ['isDigital']), guard: { condition: 'isDigital', when: true } },
    { ...step('both', ['isDigital']), kind: 'fork', guard: { condition: 'isDigital', when: false } },
    step('pack', ['both']),
    step('label', ['both']),
    {
      ...step('both#join', ['pack', 'label']),
      kind: 'join',
      join: { rule: { atLeast: 1 }, branches: [['pack'], ['label']] },
    },
    { ...step('ask', ['isDigital', 'deliver', 'both#join']), kind: 'human' },
    { ...step('come', ['ask']), kind: 'signal' },
  ],
})

function step(name: string, dependsOn: string[]) {
  return { id: name, name, kind: 'step' as const, dependsOn, ...common }
}

const drawn = (format: 'text' | 'mermaid' | 'dot') => drawGraph(pictureOf(graph), { format })

describe('control flow', () => {
  test('in Mermaid has shapes, and the answers of a condition on its ways', () => {
    expect(drawn('mermaid').split('\n')).toEqual([
      'graph TD',
      '    paid[("paid")] --> isDigital{"isDigital"}',
      '    isDigital -->|yes| deliver',
      '    isDigital -->|no| both[/"both"\\]',
      '    both --> pack',
      '    both --> label',
      '    pack --> n1[\\"both#35;join · 1 of 2"/]',
      '    label --> n1',
      '    isDigital --> ask[/"ask"/]',
      '    deliver --> ask',
      '    n1 --> ask',
      '    ask --> come>"come"]',
    ])
  })

  test('in DOT has the answers as labels', () => {
    const text = drawn('dot')
    expect(text).toContain('"isDigital" -> "deliver" [label="yes"]')
    expect(text).toContain('"isDigital" -> "both" [label="no"]')
    expect(text).toContain('"isDigital" -> "ask"\n')
    expect(text).toContain('"n1" [label="both#join\\n1 of 2" shape="invtriangle"]')
  })

  test('in text says it beside the names', () => {
    expect(
      drawn('text')
        .split('\n')
        .slice(2)
        .map(line => line.trimEnd()),
    ).toEqual([
      '○        paid       save point',
      '│',
      '○        isDigital  condition',
      '├───┬─┐',
      '○   │ │  both       fork · if not isDigital',
      '│   ○ │  deliver    if isDigital',
      '├─┐ │ │',
      '○ │ │ │  pack',
      '│ ○ │ │  label',
      '├─┘ │ │',
      '○   │ │  both#join  1 of 2 · join',
      '├───┴─┘',
      '○        ask        human',
      '│',
      '○        come       signal',
    ])
  })

  test('says in words when a join waits until all have ended', () => {
    const settled = new Graph({
      ...graph.data,
      nodes: graph.nodes.map(node => (node.join ? { ...node, join: { ...node.join, rule: 'settled' } } : node)),
    })
    expect(drawGraph(pictureOf(settled))).toContain('both#join  all ended · join')
  })

  test('folds no siblings that wait for different answers', () => {
    const many = Array.from({ length: 8 }, (_, index) => ({
      ...step(`n${index}`, ['isDigital']),
      guard: { condition: 'isDigital', when: index % 2 === 0 },
    }))
    const wide = new Graph({ ...graph.data, nodes: [...graph.nodes.slice(0, 2), ...many] })
    expect(drawGraph(pictureOf(wide))).toContain('n7')
    expect(drawGraph(pictureOf(wide))).not.toContain('n0 … n7')
    expect(drawGraph(pictureOf(wide), { foldAt: 4 })).toContain('n0 … n6 (4)')
  })
})
