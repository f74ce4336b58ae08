/** The drawing for the terminal. The pictures below are what a person sees; change one only if the new one is better. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import { widthOf } from '../../../src/drawing/printable-text.ts'
import { graphs, hostileName, lines, orderEdges, siblings, sketch, step } from './sketch.ts'

describe('the shape of a graph', () => {
  it('an empty graph says so', () => {
    expect(drawGraph(sketch(graphs.empty))).toBe('(no nodes)')
  })

  it('one node is one line', () => {
    expect(drawGraph(sketch(graphs.one))).toBe('○  alone')
  })

  it('a chain is a vertical list', () => {
    expect(drawGraph(sketch(graphs.chain))).toBe(lines`
      ○  a
      │
      ○  b
      │
      ○  c
      │
      ○  d
      │
      ○  e
    `)
  })

  it('a diamond forks and joins', () => {
    expect(drawGraph(sketch(graphs.diamond))).toBe(lines`
      ○    a
      ├─┐
      ○ │  b
      │ ○  c
      ├─┘
      ○    d
    `)
  })

  it('two entries join', () => {
    expect(drawGraph(sketch(graphs.twoEntries))).toBe(lines`
      ○    a
      │ ○  b
      ├─┘
      ○    c
    `)
  })

  it('a fork into three has three rails', () => {
    expect(drawGraph(sketch(graphs.fanOut))).toBe(lines`
      ○      a
      ├─┬─┐
      ○ │ │  b
        ○ │  c
          ○  d
    `)
  })

  it('diamonds within a diamond stand side by side, without a crossing', () => {
    expect(drawGraph(sketch(graphs.nested))).toBe(lines`
      ○        start
      ├───┐
      ○   │    a
      │   ○    b
      ├─┐ ├─┐
      ○ │ │ │  a1
      │ ○ │ │  a2
      │ │ ○ │  b1
      │ │ │ ○  b2
      ├─┘ ├─┘
      ○   │    a3
      │   ○    b3
      ├───┘
      ○        end_all
    `)
  })

  it('a rail that has no part in a link passes over it', () => {
    expect(drawGraph(sketch(graphs.crossing))).toBe(lines`
      ○      a
      │ ○    b
      │ │ ○  c
      ├─│─┤
      ○ │ │  d
        ○ │  e
          ○  f
    `)
  })

  it('what all of several depend on all of several others is one link', () => {
    expect(drawGraph(sketch('a b c > d e; d e > f'))).toBe(lines`
      ○      a
      │ ○    b
      │ │ ○  c
      ├─┼─┘
      ○ │    d
      │ ○    e
      ├─┘
      ○      f
    `)
  })

  it('two that share one child and have one each of their own', () => {
    expect(drawGraph(sketch('a > c d; b > d e'))).toBe(lines`
      ○        a
      │   ○    b
      ├─┐ ├─┐
      │ ├─┘ │
      ○ │   │  c
        ○   │  d
            ○  e
    `)
  })

  it('branches of different lengths meet at their join, and a shortcut runs beside them', () => {
    expect(drawGraph(sketch('start > a b c; a > a1; a1 > a2; b > b1; start a2 b1 c > join'))).toBe(lines`
      ○        start
      ├─┬─┬─┐
      ○ │ │ │  a
      │ ○ │ │  b
      │ │ ○ │  c
      ○ │ │ │  a1
      │ ○ │ │  b1
      ○ │ │ │  a2
      ├─┴─┴─┘
      ○        join
    `)
  })

  it('the longest branch is the main line, and a dead end stands to the right of it', () => {
    expect(drawGraph(sketch(orderEdges))).toBe(lines`
      ○      validate
      ├─┬─┐
      ○ │ │  check_inventory
      │ ○ │  check_fraud
      │ │ ○  enrich_data
      ├─┘
      ○      ready_to_charge
      │
      ○      charge_card
      ├─┬─┐
      ○ │ │  send_receipt
      │ ○ │  update_analytics
      ├─┴─┘
      ○      complete
    `)
  })

  it('nodes without edges are a plain list, and no line suggests an order', () => {
    expect(drawGraph(sketch('a; b; c > d'))).toBe(lines`
      ○  a
      ○  b
      ○  c
      │
      ○  d
    `)
  })
})

describe('states', () => {
  const live = {
    ...sketch(orderEdges, {
      validate: { state: 'completed' },
      enrich_data: { state: 'skipped' },
      check_inventory: { state: 'in_progress', kind: 'resumable', progress: '1,200 of 5,000 rows' },
      check_fraud: { state: 'failed', attempt: 3 },
      ready_to_charge: { state: 'pending' },
      charge_card: { state: 'pending' },
      send_receipt: { state: 'pending' },
      update_analytics: { state: 'pending' },
      complete: { state: 'pending', note: 'after 2 days' },
    }),
    title: 'OrderWorkflow 42',
  }

  it('have a mark and a word each, and are counted below', () => {
    expect(drawGraph(live)).toBe(lines`
      OrderWorkflow 42

      ✓      validate          completed
      ├─┬─┐
      ● │ │  check_inventory   in_progress · 1,200 of 5,000 rows · resumable
      │ ✗ │  check_fraud       failed · attempt 3
      │ │ ↷  enrich_data       skipped
      ├─┘
      ○      ready_to_charge   pending
      │
      ○      charge_card       pending
      ├─┬─┐
      ○ │ │  send_receipt      pending
      │ ○ │  update_analytics  pending
      ├─┴─┘
      ○      complete          pending · after 2 days

      9 nodes: ✓ 1 completed, ↷ 1 skipped, ✗ 1 failed, ● 1 in_progress, ○ 5 pending
    `)
  })

  it('can be drawn in plain ASCII', () => {
    expect(drawGraph(live, { ascii: true })).toBe(lines`
      OrderWorkflow 42

      v      validate          completed
      +-+-.
      * | |  check_inventory   in_progress, 1,200 of 5,000 rows, resumable
      | x |  check_fraud       failed, attempt 3
      | | >  enrich_data       skipped
      +-'
      o      ready_to_charge   pending
      |
      o      charge_card       pending
      +-+-.
      o | |  send_receipt      pending
      | o |  update_analytics  pending
      +-+-'
      o      complete          pending, after 2 days

      9 nodes: v 1 completed, > 1 skipped, x 1 failed, * 1 in_progress, o 5 pending
    `)
  })

  it('are coloured only on request, and colours change nothing else', () => {
    const colored = drawGraph(live, { color: true })
    expect(colored).toContain('\x1b[31m✗\x1b[0m')
    expect(colored).toContain('\x1b[32mcompleted\x1b[0m')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what is looked for.
    expect(colored.replace(/\x1b\[\d+m/g, '')).toBe(drawGraph(live))
    expect(drawGraph(live)).not.toContain('\x1b')
  })

  it('all have a mark of their own, in both sets of characters', () => {
    const words =
      'pending scheduled in_progress suspended waiting paused completed failed skipped canceled not_taken compensating rolled_back'
    const nodes = words.split(' ').map(word => ({ ...step(word), state: word }))
    for (const ascii of [false, true]) {
      const drawing = drawGraph({ title: null, nodes }, { ascii, legend: false, foldAt: Number.POSITIVE_INFINITY })
      const marks = drawing.split('\n').map(line => [...line][0])
      expect(new Set(marks).size).toBe(13)
    }
    expect(drawGraph({ title: null, nodes: [{ ...step('a'), state: 'dreaming' }] })).toContain('○  a  dreaming')
  })

  it('the counts can be had without states, and left out with them', () => {
    expect(drawGraph(sketch('a'), { legend: true })).toBe('○  a\n\n1 node')
    expect(drawGraph({ title: null, nodes: [{ ...step('a'), state: 'completed' }] }, { legend: false })).toBe(
      '✓  a  completed',
    )
  })

  it('items of an each node stand above what waits for all of them', () => {
    const picture = sketch('load > load/1 load/2 report; report > mail', {
      load: { kind: 'each', state: 'in_progress' },
      'load/1': { kind: 'item', state: 'completed' },
      'load/2': { kind: 'item', state: 'in_progress' },
      report: { state: 'pending' },
      mail: { state: 'pending' },
    })
    expect(drawGraph(picture, { legend: false })).toBe(lines`
      ●      load    in_progress · each
      ├─┬─┐
      │ ✓ │  load/1  completed
      │   ●  load/2  in_progress
      ○      report  pending
      │
      ○      mail    pending
    `)
  })
})

describe('width', () => {
  it('many siblings are one box with counts', () => {
    const mutations = siblings('mutation', 200, { dependsOn: ['validate'], job: 'process', state: 'completed' })
    const nodes = [
      { ...step('validate'), state: 'completed' },
      ...mutations.map((node, index) => ({
        ...node,
        state: index < 150 ? 'completed' : index < 153 ? 'failed' : 'pending',
      })),
      {
        ...step(
          'aggregate',
          mutations.map(node => node.id),
        ),
        state: 'pending',
      },
      { ...step('notify', ['aggregate']), state: 'pending' },
    ]
    expect(drawGraph({ title: null, nodes })).toBe(lines`
      ✓  validate   completed
      │
      ✗  mutation_1 … mutation_200 (200: 150 completed, 3 failed, 47 pending)
      │
      ○  aggregate  pending
      │
      ○  notify     pending

      203 nodes: ✓ 151 completed, ✗ 3 failed, ○ 49 pending
    `)
  })

  it('rails that do not fit make way for a list of layers', () => {
    const picture = { title: null, nodes: [step('a'), ...siblings('task', 40, { dependsOn: ['a'] })] }
    const list = drawGraph(picture, { foldAt: Number.POSITIVE_INFINITY }).split('\n')
    expect(list).toHaveLength(41)
    expect(list.slice(0, 3).join('\n')).toBe(lines`
      1  ○ a
      2  ○ task_1   ← a
         ○ task_2   ← a
    `)
    const wide = drawGraph(picture, { foldAt: Number.POSITIVE_INFINITY, width: 120 }).split('\n')
    expect(wide[1]).toBe(`├${'─┬'.repeat(38)}─┐`)
  })

  it('a tangle becomes a list, in which every node names what it depends on', () => {
    const tangle =
      'a b c; a > d; a b c > e; a b > f; b c > g; d > h; a c e > i; b e f > j; a b d e i > k; c g h j > l; b d i > m'
    expect(drawGraph(sketch(tangle))).toBe(lines`
      1  ○ a
         ○ b
         ○ c
      2  ○ d  ← a
         ○ e  ← a, b, c
         ○ f  ← a, b
         ○ g  ← b, c
      3  ○ h  ← d
         ○ i  ← a, c, e
         ○ j  ← b, e, f
      4  ○ k  ← a, b, d, e, i
         ○ l  ← c, g, h, j
         ○ m  ← b, d, i
    `)
    expect(drawGraph(sketch(tangle), { ascii: true })).toContain('   o e  <- a, b, c\n')
  })

  it('dependencies that do not fit go on below', () => {
    const sources = siblings('source', 30, { state: 'completed' })
    const report = { ...step('report', ['source_1', 'source_2', 'source_3', 'source_4', 'source_5']), state: 'waiting' }
    const all = {
      ...step(
        'all',
        sources.map(node => node.id),
      ),
      state: 'pending',
    }
    const picture = { title: null, nodes: [...sources, all, report, { ...step('mail', ['report']), state: 'pending' }] }
    const options = { foldAt: Number.POSITIVE_INFINITY, legend: false }
    expect(
      drawGraph(picture, { ...options, width: 52 })
        .split('\n')
        .slice(-4)
        .join('\n'),
    ).toBe(lines`
         ◔ report     waiting    ← source_1, source_2,
                                   source_3, source_4,
                                   source_5
      3  ○ mail       pending    ← report
    `)
    expect(
      drawGraph(picture, { ...options, width: 38 })
        .split('\n')
        .slice(-5)
        .join('\n'),
    ).toBe(lines`
         ◔ report     waiting
           ← source_1, source_2, source_3,
             source_4, source_5
      3  ○ mail       pending
           ← report
    `)
  })

  it('words that do not fit are cut, the name last', () => {
    const picture = sketch('import_customers > tidy', {
      import_customers: { state: 'in_progress', progress: 'row 1,200 of 5,000 in the second file' },
      tidy: { state: 'pending' },
    })
    expect(drawGraph(picture, { width: 40, legend: false })).toBe(lines`
      ●  import_customers  in_progress · row…
      │
      ○  tidy              pending
    `)
    expect(drawGraph(picture, { width: 20, legend: true })).toBe(lines`
      ●  import_customers
      │
      ○  tidy

      2 nodes:
      ● 1 in_progress,
      ○ 1 pending
    `)
  })

  it('wide characters, emoji and accents keep the columns straight', () => {
    const nodes = ['検証する', 'a👍b', 'cafe\u0301', 'plain'].map(name => ({ ...step(name), note: 'here' }))
    expect(drawGraph({ title: null, nodes }).normalize()).toBe(lines`
      ○  検証する  here
      ○  a👍b      here
      ○  café      here
      ○  plain     here
    `)
  })
})

describe('names from anywhere', () => {
  it('stay on their line and cannot steer the terminal', () => {
    const names = ['two\nlines', 'tab\there', '\x1b[31mred', 'a\u202eb', '\0', ' ', 'half \ud800']
    const nodes = names.map((name, index) => ({ ...step(name), id: `node ${index}` }))
    expect(drawGraph({ title: 'a\nb', nodes })).toBe(lines`
      a b

      ○  two lines
      ○  tab here
      ○  �[31mred
      ○  a�b
      ○  �
      ○  �
      ○  half �
    `)
  })
  it('whatever it is called, a node is one line within its width', () => {
    fc.assert(
      fc.property(hostileName, fc.integer({ min: 20, max: 40 }), (name, width) => {
        const drawing = drawGraph({ title: null, nodes: [{ ...step(name), note: name }] }, { width })
        expect(drawing).toMatch(/^○ {2}[^\p{Cc}\u202e]+$/u)
        expect(widthOf(drawing)).toBeLessThanOrEqual(width)
      }),
      { numRuns: 300 },
    )
  })
})
