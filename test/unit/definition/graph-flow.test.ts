/** Control flow in graphs that are built at run time: what it comes to, that it survives storing, and the mistakes. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { definitionOf } from '../../../src/definition/compile.ts'
import { defineForm } from '../../../src/definition/define-form.ts'
import { freezeClassGraph, graphOfFrozen } from '../../../src/definition/frozen-graph.ts'
import { orderOf } from '../../../src/definition/graph.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { GraphTooLargeError, InvalidGraphError } from '../../../src/errors.ts'
import { add, defaults, edgesOf, exported, frozenAt, idOf, nodeNamed, sweep, thrownBy } from './sample-graphs.ts'

const job = sweep
const undo = defineJob('undo', async () => {})
const settle = defineJob('settle', async () => ({ happened: false }))
const form = defineForm('approval', z.object({ limit: z.number() }))
const large = '{{ gt .total 100 }}'

/** Also what the types refuse, to see what is said of it. */
const built = (describe: (w: any) => void) => buildGraph(describe as any)
const graphOf = (describe: (w: any) => void) => graphOfFrozen(built(describe), defaults)
const mistakeIn = (describe: (w: any) => void) => {
  const error = thrownBy(() => built(describe))
  expect(error).toBeInstanceOf(InvalidGraphError)
  return error.message as string
}

/** Everything there is, nested. */
function everything(w: any) {
  w.node('sum', { job: add, args: { a: 1 }, compensate: undo })
  w.savePoint('paid')
  w.condition('large', large, {
    then: (b: any) => {
      b.human('approve', {
        prompt: 'Fine?',
        form,
        assignTo: 'ann',
        quorum: 2,
        deadline: '1 day',
        escalate: { after: '1 hour', to: ['bob'] },
        onReject: { backTo: 'sum' },
        compensate: { job: undo, retry: { attempts: 2, delay: '1s' }, timeout: '5s', afterFailure: false },
      })
    },
    args: { total: 5 },
    queue: 'q',
  })
  w.fork(
    'both',
    {
      left: (b: any) => {
        b.node('a', { job })
        b.node('once', { job, idempotent: false, reconcile: settle })
      },
      right: (b: any) => b.condition('small', '{{ lt .total 5 }}', { else: (b: any) => b.node('c', { job }) }),
    },
    { join: { atLeast: 1 } },
  )
  w.parallel(
    'some',
    (b: any) => [b.node('d', { job }), b.waitFor('come', { payload: form, timeout: '1s', onTimeout: 'skip' })],
    { join: 'settled' },
  )
  w.join('end', { dependsOn: ['some', 'both'], rule: 'any' })
  w.node('last', { job })
}

describe('control flow in a graph', () => {
  test('comes to the same edges as in a class', () => {
    const graph = built(everything)
    expect(edgesOf(graph)).toEqual({
      sum: [],
      paid: ['sum'],
      large: ['paid'],
      approve: ['large'],
      both: ['large', 'approve'],
      a: ['both'],
      once: ['a'],
      small: ['both'],
      c: ['small'],
      'both#join': ['once', 'small', 'c'],
      some: ['both#join'],
      d: ['some'],
      come: ['some'],
      'some#join': ['d', 'come'],
      end: ['some#join', 'both#join'],
      last: ['end'],
    })
    const id = (name: string) => idOf(graph, name)
    expect(nodeNamed(graph, 'approve').guard).toEqual({ condition: id('large'), when: true })
    expect(nodeNamed(graph, 'c').guard).toEqual({ condition: id('small'), when: false })
    expect(nodeNamed(graph, 'both#join').join).toEqual({
      rule: { atLeast: 1 },
      branches: [[id('once')], [id('small'), id('c')]],
    })
    expect(id('both#join')).toBe(`${id('both')}#join`)
    expect(nodeNamed(graph, 'end').join).toEqual({
      rule: { atLeast: 1 },
      branches: [[id('some#join')], [id('both#join')]],
    })
  })

  test('is stored by names, expressions and milliseconds', () => {
    const graph = built(everything)
    expect(nodeNamed(graph, 'sum').compensation).toEqual({ name: 'undo' })
    expect(nodeNamed(graph, 'large')).toMatchObject({ kind: 'condition', test: large, args: { total: 5 }, queue: 'q' })
    expect(nodeNamed(graph, 'approve')).toMatchObject({
      kind: 'human',
      human: {
        prompt: 'Fine?',
        form: 'approval',
        assign_to: ['ann'],
        quorum: 2,
        on_reject: { back_to: idOf(graph, 'sum') },
        escalations: [{ after_ms: 3_600_000, to: ['bob'] }],
      },
      wait_timeout_ms: 86_400_000,
      compensation: { name: 'undo', after_failure: false, retry: { attempts: 2, delay: 1000 }, timeout_ms: 5000 },
    })
    expect(nodeNamed(graph, 'come')).toMatchObject({
      kind: 'signal',
      payload: 'approval',
      wait_timeout_ms: 1000,
      on_timeout: 'skip',
    })
    expect(nodeNamed(graph, 'once').once).toEqual({ reconciles: true, job: 'settle' })
    expect([...graph.jobs.keys()].toSorted()).toEqual(['add', 'settle', 'sweep', 'undo'])
    expect([...graph.forms.keys()]).toEqual(['approval'])
  })

  test('is the same after it was exported and imported', () => {
    const graph = built(everything)
    const text = JSON.stringify(graph.freeze(frozenAt))
    const parsed = parseFrozenGraph(text)
    expect(parsed).toEqual(JSON.parse(text))
    expect(parsed.signature).toBe(graph.signature)
    expect(graphOfFrozen(parsed, defaults).data).toEqual(graphOfFrozen(graph, defaults).data)
  })

  test('of a class is the same after it was frozen and imported', () => {
    class Saga extends Workflow<any, any> {
      static {
        const w = this as any
        w.step('first', { compensate: { step: 'undo', afterFailure: false } })
        w.savePoint('paid')
        w.condition('yes', { then: (b: any) => b.human('ask', { quorum: 2, onReject: { backTo: 'first' } }) })
        w.parallel('both', (b: any) => [
          b.waitFor('come', { timeout: 5 }),
          b.inline('note', { idempotent: false }, () => {}),
        ])
        w.renamed({ couple: 'both' })
      }
      first() {}
      undo() {}
      yes() {
        return true
      }
      ask() {}
      come() {}
    }
    const { graph } = definitionOf(Saga)
    const frozen = parseFrozenGraph(JSON.stringify(freezeClassGraph(graph, frozenAt)))
    expect(graphOfFrozen(frozen, { ...defaults, type: 'Saga' }).data).toEqual(graph.data)
    expect(frozen.nodes.both).not.toHaveProperty('method')
    expect(frozen.nodes.yes?.method).toBe('yes')
  })

  test('has a signature of its own, which does not depend on ids', () => {
    const shapes: ((w: any) => void)[] = [
      w => w.node('a', { job }),
      w => w.node('a', { job, compensate: undo }),
      w => w.node('a', { job, idempotent: false }),
      w => w.node('a', { job, idempotent: false, reconcile: settle }),
      w => w.human('a'),
      w => w.human('a', { form }),
      w => w.waitFor('a'),
      w => w.savePoint('a'),
      w => w.condition('c', large, { then: (b: any) => b.node('a', { job }) }),
      w => w.condition('c', large, { else: (b: any) => b.node('a', { job }) }),
      w => w.condition('c', '{{ .x }}', { then: (b: any) => b.node('a', { job }) }),
      w => w.parallel('p', (b: any) => [b.node('a', { job }), b.node('b', { job })]),
      w => w.parallel('p', (b: any) => [b.node('a', { job }), b.node('b', { job })], { join: 'any' }),
      w => [w.node('a', { job }), w.human('h', { onReject: { backTo: 'a' } })],
    ]
    expect(new Set(shapes.map(shape => built(shape).signature)).size).toBe(shapes.length)
    for (const shape of [...shapes, everything]) expect(built(shape).signature).toBe(built(shape).signature)
  })

  test('makes a branch of each node of a fan-out, in a parallel and in a join', () => {
    const items = [1, 2, 3]
    const fan = { name: (n: number) => `n${n}`, job }
    const inParallel = built(w => w.parallel('p', (b: any) => b.fanOut(items, fan), { join: { atLeast: 2 } }))
    expect(nodeNamed(inParallel, 'p#join').join?.branches.length).toBe(3)
    const joined = built(w => w.join('j', { dependsOn: w.fanOut(items, fan), rule: { atLeast: 3 } }))
    expect(nodeNamed(joined, 'j').join).toMatchObject({
      rule: { atLeast: 3 },
      branches: [[expect.any(String)], [expect.any(String)], [expect.any(String)]],
    })
  })

  test('may be depended on before it is declared', () => {
    const edges = edgesOf(
      built(w => {
        w.node('late', { job, dependsOn: 'both' })
        w.parallel('both', (b: any) => [b.node('a', { job }), b.node('b', { job })], { dependsOn: null })
      }),
    )
    expect(edges.late).toEqual(['both#join'])
  })

  test('hands over what people and messages bring, as any output', () => {
    const graph = built(w => {
      const asked = w.human('ask', { form })
      w.node('add', { job: add, args: { a: asked.output } })
    })
    expect(nodeNamed(graph, 'add').args).toMatchObject({ a: expect.anything() })
  })

  test('counts the edges that branches add', () => {
    const wide = (w: any) => {
      w.condition('c', large, { then: (b: any) => b.fanOut(Array(60).keys(), { name: (n: number) => `n${n}`, job }) })
      for (let n = 0; n < 60; n++) w.node(`m${n}`, { job, dependsOn: 'c' })
    }
    expect(() => buildGraph(wide, { nodes: 1000, edges: 500, bytes: 1e6 })).toThrow(GraphTooLargeError)
    expect(() => buildGraph(wide, { nodes: 1000, edges: 5000, bytes: 1e6 })).not.toThrow()
  })

  test('of a hundred thousand nodes in branches is built in time', () => {
    const begun = process.cpuUsage()
    const count = 20_000
    const graph = graphOf(w => {
      w.condition('c', large, {
        then: (b: any) => b.fanOut(Array(count).keys(), { name: (n: number) => `n${n}`, job }),
      })
      w.fork('f', {
        x: (b: any) => [b.fanOut(Array(count).keys(), { name: (n: number) => `x${n}`, job }), b.node('x', { job })],
        y: (b: any) => b.node('y', { job }),
      })
    })
    expect(graph.size).toBe(2 * count + 5)
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(20)
  })
})

describe('any graph with branches', () => {
  type Plan = { kind: 'node' } | { kind: 'fork' | 'parallel' | 'condition'; of: Plan[][] }
  const plans = fc.letrec<{ chain: Plan[]; node: Plan }>(tie => ({
    chain: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
    node: fc.oneof(
      { maxDepth: 3 },
      fc.constant({ kind: 'node' as const }),
      fc.record({
        kind: fc.constantFrom('fork' as const, 'parallel' as const, 'condition' as const),
        of: fc.array(tie('chain'), { minLength: 2, maxLength: 2 }),
      }),
    ) as fc.Arbitrary<Plan>,
  })).chain

  test('survives being stored, and is sound', () => {
    fc.assert(
      fc.property(plans, chain => {
        let count = 0
        const describeAll = (w: any, nodes: readonly Plan[]) => {
          for (const node of nodes) {
            const name = `n${count++}`
            if (node.kind === 'node') w.node(name, { job })
            else {
              const [x = [], y = []] = node.of
              if (node.kind === 'fork')
                w.fork(name, { x: (b: any) => describeAll(b, x), y: (b: any) => describeAll(b, y) })
              else if (node.kind === 'parallel') w.parallel(name, (b: any) => [describeAll(b, x), describeAll(b, y)])
              else
                w.condition(name, large, { then: (b: any) => describeAll(b, x), else: (b: any) => describeAll(b, y) })
            }
          }
        }
        const graph = built(w => describeAll(w, chain))
        const parsed = parseFrozenGraph(JSON.stringify(graph.freeze(frozenAt)))
        expect(parsed.signature).toBe(graph.signature)
        const { nodes } = graphOfFrozen(parsed, defaults)
        expect(orderOf(nodes).left).toEqual([])
        for (const { join, dependsOn } of nodes)
          if (join) expect(join.branches.flat().toSorted()).toEqual(dependsOn.toSorted())
      }),
    )
  })
})

describe('refused when built', () => {
  const one = (b: any) => b.node('a', { job })
  test.each<[string, (w: any) => void, string]>([
    ['a fork with one branch', w => w.fork('f', { x: one }), 'Node "f": it has one branch. A fork needs at least two.'],
    ['a parallel with one member', w => w.parallel('p', one), 'Node "p": it has one branch.'],
    ['an empty branch', w => w.fork('f', { x: one, y: () => {} }), 'Branch y of node "f" is empty.'],
    ['a condition without a branch', w => w.condition('c', large, {}), 'Node "c": it has no branch.'],
    ['a condition that is a function', w => w.condition('c', () => true, { then: one }), 'A condition is a text'],
    [
      'a condition that is not understood',
      w => w.condition('c', '{{ add .a 1 }}', { then: one }),
      'there is no function add',
    ],
    [
      'a save point in a branch',
      w => w.condition('c', large, { then: (b: any) => b.savePoint('s') }),
      'Node "s": a save point cannot stand in a branch.',
    ],
    ['a reserved name', w => w.fork('cond#x', { x: one, y: one }), 'contains # or /'],
    [
      'too many wanted',
      w => w.parallel('p', (b: any) => [one(b), b.node('b', { job })], { join: { atLeast: 3 } }),
      '`atLeast` is 3, but there are only 2 branches',
    ],
    ['a join of nothing', w => w.join('j', {}), 'Node "j": a join must say what comes together'],
    [
      'a form without a name',
      w => w.human('h', { form: z.object({}) }),
      'Node "h": its form is stored by name, so it must be what defineForm returned.',
    ],
    [
      'two forms of one name',
      w => [w.human('h', { form }), w.human('i', { form: defineForm('approval', z.object({})) })],
      'there are two forms named "approval"',
    ],
    ['a quorum of none', w => w.human('h', { quorum: 0 }), '`quorum` must be a whole number of at least 1'],
    [
      'a way back to nowhere',
      w => w.human('h', { onReject: { backTo: 'x' } }),
      'Node "h" goes back to "x", but the graph has no node of that name.',
    ],
    [
      'a way back past others',
      w => [
        w.node('a', { job }),
        w.node('b', { job, dependsOn: 'a' }),
        w.human('h', { dependsOn: 'a', onReject: { backTo: 'a' } }),
      ],
      'The graph, human h: it goes back to ',
    ],
    [
      'a compensation that is no job',
      w => w.node('a', { job, compensate: 'undo' }),
      'Node "a", compensate: it takes a job',
    ],
    [
      'a compensation without a job',
      w => w.node('a', { job, compensate: {} }),
      'Node "a": what undoes it is not what defineJob returned',
    ],
    ['a retry of what is called once', w => w.node('a', { job, idempotent: false, retry: 2 }), 'cannot have a `retry`'],
    [
      'a reattempt of what is called once',
      w => w.node('a', { job, idempotent: false, onException: 'reattempt' }),
      'cannot be reattempt',
    ],
    ['a reconcile for nothing', w => w.node('a', { job, reconcile: settle }), 'Say `idempotent: false`'],
    ['a policy for no timeout', w => w.waitFor('s', { onTimeout: 'skip' }), 'and there is none'],
    [
      'a node added to a branch too late',
      w => {
        let kept: any
        w.condition('c', large, {
          then: (b: any) => {
            one(b)
            kept = b
          },
        })
        kept.node('b', { job })
      },
      'Branch then of node "c": it has been described',
    ],
    [
      'a branch described later',
      w => w.condition('c', large, { then: async (b: any) => one(b) }),
      'its function returned a promise',
    ],
    ['a late escalation', w => w.human('h', { deadline: 5, escalate: { after: 9, to: 'bob' } }), 'comes too late'],
    ['an option that forks do not have', w => w.fork('f', { x: one, y: one }, { wait: 5 }), 'there is no option wait'],
  ])('%s', (_, describe, message) => {
    expect(mistakeIn(describe)).toContain(message)
  })
})

describe('refused when imported', () => {
  const graph = () => JSON.parse(exported(everything as any)) as any
  const named = (g: any, name: string) => nodeNamed(g, name) as any
  test.each<[string, (g: any) => void, string]>([
    [
      'a guard on a node that is no condition',
      g => {
        named(g, 'last').guard = { condition: named(g, 'last').depends_on[0], when: true }
      },
      'its guard names a node that is no condition',
    ],
    [
      'a guard on another condition',
      g => {
        const other = named(g, 'c').guard.condition
        named(g, 'last').guard = { condition: other, when: true }
      },
      'or that it does not depend on',
    ],
    [
      'a guard that says nothing',
      g => {
        named(g, 'c').guard.when = 'yes'
      },
      '`when` true or false',
    ],
    [
      'a condition without a branch',
      g => {
        delete named(g, 'c').guard
      },
      'it has no branch',
    ],
    [
      'branches that leave a parent out',
      g => {
        named(g, 'both#join').join.branches.pop()
      },
      'the branches of its join must part what it depends on',
    ],
    [
      'branches that have a parent twice',
      g => {
        const { branches } = named(g, 'end').join
        branches[1] = branches[0]
      },
      'must part what it depends on',
    ],
    [
      'an empty branch',
      g => {
        named(g, 'end').join.branches.push([])
      },
      'none of them empty',
    ],
    [
      'a join without its rule',
      g => {
        delete named(g, 'end').join
      },
      'its join must be an object',
    ],
    [
      'a rule that cannot be met',
      g => {
        named(g, 'end').join.rule = { atLeast: 3 }
      },
      '`atLeast` is 3, but there are only 2 branches',
    ],
    [
      'a fork with one branch',
      g => {
        named(g, 'small').depends_on = named(g, 'a').depends_on = named(g, 'sum').depends_on
        named(g, 'a').depends_on = named(g, 'both').depends_on
      },
      'a fork needs at least two branches',
    ],
    [
      'a test that is not understood',
      g => {
        named(g, 'large').test = '{{ add .a }}'
      },
      'there is no function add',
    ],
    [
      'a test on a step',
      g => {
        named(g, 'last').test = large
      },
      'test belongs to nodes of the kind condition',
    ],
    [
      'a condition with nothing to ask',
      g => {
        delete named(g, 'large').test
      },
      'a condition must have a test or a method',
    ],
    [
      'a fork with a job',
      g => {
        named(g, 'both').job = 'sweep'
      },
      'a node of the kind fork has no job',
    ],
    [
      'a save point in a branch',
      g => {
        const a = named(g, 'a')
        a.kind = 'savePoint'
        delete a.job
      },
      'a save point cannot stand in a branch',
    ],
    [
      'a save point that may not be taken',
      g => {
        const c = named(g, 'c')
        c.kind = 'savePoint'
        delete c.job
      },
      'a save point cannot stand in a branch',
    ],
    [
      'a quorum of none',
      g => {
        named(g, 'approve').human.quorum = 0
      },
      '`quorum` must be',
    ],
    [
      'a way back to nowhere',
      g => {
        named(g, 'approve').human.on_reject.back_to = 'n_0'
      },
      'it goes back to n_0, which is not there',
    ],
    [
      'a time in words',
      g => {
        named(g, 'approve').human.escalations[0].after_ms = '1 hour'
      },
      'a time must be a number of milliseconds',
    ],
    [
      'a wait in words',
      g => {
        named(g, 'come').wait_timeout_ms = '1s'
      },
      'a time must be a number of milliseconds',
    ],
    [
      'a field that people do not have',
      g => {
        named(g, 'approve').human.colour = 'red'
      },
      'there is no option colour',
    ],
    [
      'a compensation without a name',
      g => {
        named(g, 'sum').compensation = {}
      },
      'its compensation: its name is a undefined',
    ],
    [
      'a retry of what is called once',
      g => {
        named(g, 'once').retry = { attempts: 2 }
      },
      'cannot have a `retry`',
    ],
    [
      'a job that settles nothing',
      g => {
        named(g, 'once').once.reconciles = false
      },
      'its once says whether it `reconciles`',
    ],
    [
      'a join of a fork that is not there',
      g => {
        named(g, 'both').kind = 'savePoint'
      },
      'it has the id of the join of a fork that is not there',
    ],
    [
      'a step that has the name of a join',
      g => {
        named(g, 'last').name = 'x#join'
      },
      'contains # or /',
    ],
  ])('%s', (_, edit, message) => {
    const edited = graph()
    edit(edited)
    const error = thrownBy(() => parseFrozenGraph(edited))
    expect(error).toBeInstanceOf(InvalidGraphError)
    expect(error.message).toContain(message)
  })

  test('jobs and forms that are not known', () => {
    const knowsJob = (name: string) => name !== 'undo'
    expect(() => parseFrozenGraph(graph(), { knowsJob })).toThrow('its job "undo" is not known here')
    expect(() => parseFrozenGraph(graph(), { knowsJob: name => name !== 'settle' })).toThrow(
      'its job "settle" is not known',
    )
    expect(() => parseFrozenGraph(graph(), { knowsForm: () => false })).toThrow(
      'its form "approval" is not known here. Register it: `new Geneva({ forms: [...] })`.',
    )
  })
})
