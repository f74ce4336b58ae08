/** The picture of a graph, alone and with the states of a workflow that runs on it. */
import { expect, it } from 'vitest'
import { Graph, type GraphNode } from '../../../src/definition/graph.ts'
import { drawGraph } from '../../../src/drawing/draw-graph.ts'
import { type DrawnState, pictureOf } from '../../../src/drawing/picture.ts'
import { lines } from './sketch.ts'

function node(name: string, dependsOn: string[] = [], more: Partial<GraphNode> = {}): GraphNode {
  return { id: name, name, kind: 'step', waitMs: 0, queue: 'default', priority: 0, dependsOn, ...more }
}

const graph = new Graph({
  type: 'ImportWorkflow',
  queue: 'default',
  priority: 0,
  nodes: [node('open'), node('load', ['open'], { kind: 'each', job: 'loadFile' }), node('report', ['load'])],
})

it('of a graph alone says nothing of states', () => {
  expect(pictureOf(graph)).toEqual({
    title: 'ImportWorkflow',
    nodes: [
      { id: 'open', name: 'open', kind: 'step', dependsOn: [], state: null },
      { id: 'load', name: 'load', kind: 'each', dependsOn: ['open'], job: 'loadFile', state: null },
      { id: 'report', name: 'report', kind: 'step', dependsOn: ['load'], state: null },
    ],
  })
})

it('of a workflow has every node in its state, and the items of an each node in their order', () => {
  const states = new Map<string, DrawnState>([
    ['load/10', { state: 'scheduled' }],
    ['load/2', { state: 'in_progress', attempt: 2, progress: '80 %' }],
    ['open', { state: 'completed' }],
    ['load', { state: 'waiting' }],
    ['gone', { state: 'failed' }],
    ['open/1', { state: 'failed' }],
  ])
  expect(drawGraph(pictureOf(graph, states))).toBe(lines`
    ImportWorkflow

    ✓      open     completed
    │
    ◔      load     waiting · each
    ├─┬─┐
    │ ● │  load/2   in_progress · attempt 2 · 80 %
    │   ◌  load/10  scheduled
    ○      report   pending

    5 nodes: ✓ 1 completed, ● 1 in_progress, ◔ 1 waiting, ◌ 1 scheduled, ○ 1 pending
  `)
})

it('of many items is one box', () => {
  const states = new Map<string, DrawnState>([
    ['open', { state: 'completed' }],
    ['load', { state: 'in_progress' }],
  ])
  for (let item = 0; item < 120; item++) states.set(`load/${item}`, { state: item < 100 ? 'completed' : 'scheduled' })
  expect(drawGraph(pictureOf(graph, states), { legend: false })).toBe(lines`
    ImportWorkflow

    ✓    open    completed
    │
    ●    load    in_progress · each
    ├─┐
    │ ◌  load/0 … load/119 (120: 100 completed, 20 scheduled)
    ○    report  pending
  `)
})
