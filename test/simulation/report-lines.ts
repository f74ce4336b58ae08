/** What people need to see of a seed that failed: the graph as it stood, what was done, and what was wrong. */
import { Graph } from '../../src/definition/graph.ts'
import { drawGraph } from '../../src/drawing/draw-graph.ts'
import { type DrawnState, pictureOf } from '../../src/drawing/picture.ts'
import type { Model } from './model.ts'
import type { SimulatedGraph, SimulatedNode } from './random-graph.ts'
import type { SimulationReport } from './simulate.ts'

export function reportLines({ seed, play, findings }: SimulationReport): string[] {
  const wrong = ['what was wrong:', ...findings.map(line => `  ${line}`)]
  if (play === null) return [`seed ${seed} did not begin`, ...wrong]
  const { graph, model, log } = play
  return [
    `seed ${seed}: ${graph.form === 'class' ? 'a class' : 'a graph built at run time'}`,
    ...drawing(graph, model).split('\n'),
    ...graph.nodes.flatMap(node => describe(node)),
    'what was done:',
    ...log.map(line => `  ${line}`),
    ...wrong,
  ]
}

/** As the model has it. */
function drawing({ nodes }: SimulatedGraph, model: Model): string {
  const drawn = nodes.map(({ name, kind, parents }) => ({
    ...{ id: name, name, kind, waitMs: 0, queue: 'default', priority: 0 },
    dependsOn: parents,
  }))
  const states = new Map(
    model.all().map(({ name, state, attempt }): [string, DrawnState] => {
      return [name, { state: state === 'idle' ? 'pending' : state, attempt }]
    }),
  )
  return drawGraph(pictureOf(new Graph({ type: null, queue: 'default', priority: 0, nodes: drawn }), states), {
    foldAt: Number.POSITIVE_INFINITY,
    width: 120,
  })
}

/** What cannot be seen in the drawing, of nodes that have something of the kind. */
function describe(node: SimulatedNode): string[] {
  const { name, script, items, concurrency, waits, retry, policy, conditional } = node
  const acts = [...script, ...items.flat()]
  const facts = [
    script.length > 0 ? `does ${script.join(', ')}` : '',
    items.length > 0 ? `items do ${items.map(item => item.join(' ') || 'succeed').join('; ')}` : '',
    concurrency === null ? '' : `${concurrency} at once`,
    waits ? 'waits' : '',
    retry === null || !acts.includes('throw') ? '' : `${retry.attempts} attempts${retry.later ? ' an hour apart' : ''}`,
    acts.includes('throw') ? sayPolicy(policy) : '',
    conditional && acts.includes('skip') ? 'by its condition' : '',
  ].filter(fact => fact !== '')
  return facts.length === 0 ? [] : [`  ${name} ${facts.join('; ')}`]
}

function sayPolicy({ action, limit, then }: SimulatedNode['policy']): string {
  return action === 'reattempt' ? `on exception ${limit} more, then ${then}` : `on exception ${action}`
}
