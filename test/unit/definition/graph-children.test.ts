/** Child nodes of graphs: only the stored name of the class is kept, and mistakes are found when the graph is built or read. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { graphOfFrozen } from '../../../src/definition/frozen-graph.ts'
import type { GraphBuilder } from '../../../src/definition/graph-builder.ts'
import { differenceBetween } from '../../../src/definition/graph-difference.ts'
import { defineHero } from '../../../src/definition/hero.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { add, defaults, edited, exported, nodeNamed, sweep, thrownBy } from './sample-graphs.ts'

const Orders = defineHero('Order', { id: (order: { id: bigint }) => order.id, load: id => ({ id }) })
const Users = defineHero('User', { id: (user: { id: number }) => user.id, load: id => ({ id }) })
const Bill = z.object({ amount: z.number() })

class Invoice extends Workflow<{ id: bigint }, typeof Bill> {
  static {
    this.named('stored-invoice')
    this.heroes(Orders)
    this.input(Bill)
    this.step('render')
  }
  render() {}
}

class Broken extends Workflow {
  static {
    this.step('work')
    this.renamed({ gone: 'missing' } as never)
  }
  work() {}
}

const hero = Orders.ref(5n)

describe('a child node', () => {
  it('is stored with the name of its class, and what it is started with', () => {
    const graph = buildGraph(w => {
      const sum = w.node('sum', { job: add, args: { a: 1 } })
      w.child('invoice', { workflow: Invoice, hero, input: { amount: sum.output }, timeout: '1 day', retry: 2 })
    })
    const [sumId] = Object.keys(graph.nodes)
    expect(nodeNamed(graph, 'invoice')).toEqual({
      name: 'invoice',
      kind: 'child',
      workflow: 'stored-invoice',
      args: {
        hero: { heroType: 'Order', id: { $geneva: 'bigint', value: '5' } },
        input: { amount: { $geneva: 'output', value: sumId } },
      },
      depends_on: [sumId],
      wait_timeout_ms: 86_400_000,
      retry: { attempts: 2 },
    })
    expect(graphOfFrozen(graph, defaults).nodes[1]).toMatchObject({ kind: 'child', workflow: 'stored-invoice' })
  })

  it('comes back as it was', () => {
    const text = exported(w => {
      const id = w.node('id', { job: sweep })
      w.child('one', { workflow: Invoice, hero, input: { amount: 5 }, if: 'args.input.amount > 3' })
      w.child('two', { workflow: 'elsewhere' })
      w.child('three', { workflow: 'elsewhere', workflowId: id.output, compensate: sweep })
    })
    expect(parseFrozenGraph(text)).toEqual(JSON.parse(text))
    expect(parseFrozenGraph(text, { knowsWorkflow: () => true })).toEqual(JSON.parse(text))
  })

  it('is told apart by the class that it starts, not by what it is started with', () => {
    const [one, other, same] = [
      (w: GraphBuilder) => void w.child('a', { workflow: 'one' }),
      (w: GraphBuilder) => void w.child('a', { workflow: 'two' }),
      (w: GraphBuilder) => void w.child('a', { workflow: 'one', input: { amount: 5 } }),
    ].map(describe => buildGraph(describe))
    expect(one?.signature).not.toBe(other?.signature)
    expect(one?.signature).toBe(same?.signature)
    const graphs = ['one', 'two'].map(workflow =>
      graphOfFrozen({ nodes: { a: { name: 'a', kind: 'child', workflow, depends_on: [] } } }, defaults),
    )
    expect(differenceBetween(...(graphs as [any, any])).changed).toEqual(['a'])
  })

  it.each<[string, (w: any) => unknown, RegExp | string]>([
    ['no class', w => w.child('a', {}), /^Node "a": `workflow` must be a workflow class, or the name/],
    ['a class that is none', w => w.child('a', { workflow: class {} }), 'is not a workflow class'],
    ['a class that cannot run', w => w.child('a', { workflow: Broken }), 'Broken'],
    ['an unknown option', w => w.child('a', { workflow: 'x', start: () => ({}) }), 'no option start'],
    ['a record as its hero', w => w.child('a', { workflow: 'x', hero: { id: 5 } }), 'takes its hero as a reference'],
    ['no hero where one is needed', w => w.child('a', { workflow: Invoice }), 'Node "a": stored-invoice needs a hero'],
    [
      'a hero of another type',
      w => w.child('a', { workflow: Invoice, hero: Users.ref(5), input: { amount: 5 } }),
      'does not accept heroes of type User',
    ],
    [
      'an input that the class does not take',
      w => w.child('a', { workflow: Invoice, hero, input: { amount: 'x' } }),
      /its input is not what stored-invoice takes: amount: /,
    ],
    [
      'an id and an input',
      w => w.child('a', { workflow: 'x', workflowId: '5', input: {} }),
      'has no `hero` or `input`',
    ],
    ['an id that is none', w => w.child('a', { workflow: 'x', workflowId: 5 }), '`workflowId` must be a text'],
    ['an input that cannot be stored', w => w.child('a', { workflow: 'x', input: { f: () => 1 } }), 'its args'],
    ['a time to wait of 0', w => w.child('a', { workflow: 'x', timeout: 0 }), 'timeout'],
    [
      'an output of a later node',
      w => [
        w.child('a', {
          workflow: 'x',
          input: { of: w.node('b', { job: sweep, dependsOn: null }).output },
          dependsOn: null,
        }),
      ],
      'it does not come after that node',
    ],
  ])('with %s is refused, naming it', (_what, describe, message) => {
    const error = thrownBy(() => buildGraph(w => void describe(w)))
    expect(error.code).toBe('INVALID_GRAPH')
    expect(error.message).toMatch(message)
  })

  const child = (more: object) => (node: any) =>
    Object.assign(node, { kind: 'child', job: undefined, workflow: 'x', args: undefined, ...more })
  it.each<[string, (node: any) => void, string]>([
    ['neither class nor method', child({ workflow: undefined }), 'names the workflow that it starts, or has a method'],
    [
      'a job instead',
      child({ workflow: undefined, job: 'sweep' }),
      'names the workflow that it starts, or has a method',
    ],
    ['a class and a job', child({ job: 'sweep' }), 'has no job or method'],
    ['a class and a method', child({ method: 'x' }), 'has no job or method'],
    ['a class that is no name', child({ workflow: 5 }), 'its workflow is a number'],
    ['a class and another kind', child({ kind: 'human' }), 'workflow belongs to nodes of the kind child'],
    ['other args', child({ args: { amount: 5 } }), 'no option amount'],
    ['an output for all of its args', child({ args: { $geneva: 'output', value: 'x' } }), 'is started with { hero'],
    ['a damaged hero', child({ args: { hero: 5 } }), 'takes its hero as a reference'],
    ['an id that is none', child({ args: { workflowId: 5 } }), '`workflowId` must be a text'],
  ])('from outside with %s is refused, naming it', (_what, edit, message) => {
    const error = thrownBy(() => parseFrozenGraph(edited((_graph, _first, second) => edit(second))))
    expect(error.code).toBe('INVALID_GRAPH')
    expect(error.message).toContain(message)
    expect(error.message).toContain('"second"')
  })

  it('from outside is refused where its class is not known', () => {
    const json = edited((_graph, _first, second) => child({})(second))
    const error = thrownBy(() => parseFrozenGraph(json, { knowsWorkflow: () => false }))
    expect(error.message).toContain('its workflow "x" is not known here. Register it')
  })
})
