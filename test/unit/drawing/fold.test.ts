/** What is drawn as one box: siblings that only differ in their names, if there are enough of them. */
import { describe, expect, it } from 'vitest'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import { foldPicture } from '../../../src/drawing/fold.ts'
import { siblings, sketch, step } from './sketch.ts'

const sizes = (nodes: Parameters<typeof foldPicture>[0]['nodes'], foldAt = 8) =>
  foldPicture({ title: null, nodes }, foldAt).map(box => box.nodes.length)

describe('folding', () => {
  it('begins at eight siblings, or where it is told to', () => {
    const fan = (count: number) => [step('a'), ...siblings('b', count, { dependsOn: ['a'] })]
    expect(sizes(fan(7))).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(sizes(fan(8))).toEqual([1, 8])
    expect(sizes(fan(3), 3)).toEqual([1, 3])
    expect(sizes(fan(100), Number.POSITIVE_INFINITY)).toHaveLength(101)
  })

  it('keeps apart what has other parents, other children, another kind or another job', () => {
    const four = (prefix: string, more: object = {}) => siblings(prefix, 4, { dependsOn: ['a'], ...more })
    const apart = [
      step('a'),
      ...four('plain'),
      ...four('second', { dependsOn: ['a', 'plain_1'] }),
      ...four('resumable', { kind: 'resumable' }),
      ...four('job', { job: 'send' }),
      ...four('parent'),
      step('z', ['parent_1', 'parent_2', 'parent_3', 'parent_4']),
    ]
    const names = foldPicture({ title: null, nodes: apart }, 3).map(box => `${box.first.name} ${box.nodes.length}`)
    expect(names).toEqual([
      'a 1',
      'plain_1 1',
      'plain_2 3',
      'second_1 4',
      'resumable_1 4',
      'job_1 4',
      'parent_1 4',
      'z 1',
    ])
  })

  it('takes the same parents in another order for the same, and siblings that are not neighbours for siblings', () => {
    const nodes = [step('a'), step('x', ['a', 'b']), step('b'), step('y', ['b', 'a'])]
    expect(sizes(nodes, 2)).toEqual([2, 2])
  })

  it('joins two folds with one edge', () => {
    const first = siblings('first', 10, { dependsOn: ['a'] })
    const second = siblings('second', 20, { dependsOn: first.map(node => node.id) })
    const nodes = [
      step('a'),
      ...first,
      ...second,
      step(
        'z',
        second.map(node => node.id),
      ),
    ]
    expect(drawGraph({ title: null, nodes })).toBe(
      ['○  a', '│', '○  first_1 … first_10 (10)', '│', '○  second_1 … second_20 (20)', '│', '○  z'].join('\n'),
    )
  })

  it('shows the state that needs an eye first, and counts them all', () => {
    const states = ['completed', 'pending', 'in_progress', 'failed', 'skipped', 'completed', 'odd', 'completed']
    const nodes = states.map((state, index) => ({ ...step(`n${index}`), state }))
    expect(drawGraph({ title: null, nodes }, { legend: false, width: 90 })).toBe(
      '✗  n0 … n7 (8: 3 completed, 1 skipped, 1 failed, 1 in_progress, 1 pending, 1 odd)',
    )
    const fine = nodes.filter(({ state }) => state === 'completed' || state === 'pending')
    expect(drawGraph({ title: null, nodes: fine }, { legend: false, foldAt: 4 })).toBe(
      '○  n0 … n7 (4: 3 completed, 1 pending)',
    )
  })

  it('takes in a hundred thousand siblings without comparing each with each', () => {
    // Quadratic work would not end within the time that a test has.
    const tasks = siblings('mutation', 100_000, { dependsOn: ['a'], state: 'completed' })
    const nodes = [
      step('a'),
      ...tasks,
      step(
        'z',
        tasks.map(node => node.id),
      ),
    ]
    expect(drawGraph({ title: null, nodes }, { legend: false }).split('\n')[2]).toBe(
      '✓  mutation_1 … mutation_100000 (100,000: 100,000 completed)',
    )
  })
})

describe('what is no graph is refused', () => {
  it('a cycle, an unknown dependency, an id that stands twice', () => {
    expect(() => drawGraph(sketch('a > b; b > c; c > b'))).toThrow(
      'has a cycle, so nothing can be drawn above the rest: look at b, c',
    )
    expect(() => drawGraph({ title: null, nodes: [step('a', ['b'])] })).toThrow(
      'a depends on b, which the picture lacks',
    )
    expect(() => drawGraph({ title: null, nodes: [step('a'), step('a')] })).toThrow('two nodes with the id a')
  })

  it('an option that cannot be right', () => {
    expect(() => drawGraph(sketch('a'), { foldAt: 1 })).toThrow('foldAt is 1')
    expect(() => drawGraph(sketch('a'), { foldAt: Number.NaN })).toThrow('foldAt is NaN')
    expect(() => drawGraph(sketch('a'), { width: 10 })).toThrow('width is 10')
    expect(() => drawGraph(sketch('a'), { format: 'png' as 'dot' })).toThrow('no format png')
  })
})
