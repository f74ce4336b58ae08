/** How nodes hang together: tasks, dependencies, the step before, items, former names, and the mistakes in all of them. */
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError } from '../../../src/errors.ts'

/** A class with methods a to f and a static block that the compiler does not check. */
function letters(declare: (w: any) => void) {
  return class Letters extends Workflow<any, any> {
    static {
      declare(this)
    }
    a() {}
    b() {}
    c() {}
    d() {}
    e() {}
    f() {}
    list() {
      return [1]
    }
  }
}

const graphOf = (declare: (w: any) => void) => definitionOf(letters(declare)).graph

/** Each node with what it depends on, in the order of their declaration. */
const edgesOf = (declare: (w: any) => void) =>
  Object.fromEntries(graphOf(declare).nodes.map(node => [node.name, node.dependsOn.join(' ')]))

describe('a step', () => {
  test('depends on the one before it; the first depends on nothing', () => {
    expect(edgesOf(w => [w.step('a'), w.step('b'), w.step('c')])).toEqual({ a: '', b: 'a', c: 'b' })
  })

  test('depends on what it names instead, and the next one still on it', () => {
    const edges = edgesOf(w => [w.step('a'), w.step('b'), w.step('c', { dependsOn: 'a' }), w.step('d')])
    expect(edges).toEqual({ a: '', b: 'a', c: 'a', d: 'c' })
  })

  test.each([[null], [[]]])('that depends on %j is an entry point', dependsOn => {
    expect(edgesOf(w => [w.step('a'), w.step('b', { dependsOn })])).toEqual({ a: '', b: '' })
  })

  test('depends on more than the one before it where it says so', () => {
    const edges = edgesOf(w => [w.step('a'), w.task('b'), w.step('c', { alsoDependsOn: 'b' })])
    expect(edges).toEqual({ a: '', b: '', c: 'a b' })
  })

  test('may say both what it depends on instead and besides, each once', () => {
    const edges = edgesOf(w => [
      w.task('a'),
      w.task('b'),
      w.step('c', { dependsOn: ['a', 'a'], alsoDependsOn: ['b', 'a'] }),
    ])
    expect(edges.c).toBe('a b')
  })

  test('may depend on one that is declared later, by a subclass even', () => {
    const Parent = letters(w => w.step('a', { dependsOn: 'b' }))
    class Child extends Parent {
      static {
        // The types know only methods that the class has.
        ;(this as any).task('b')
      }
    }
    expect(definitionOf(Child).graph.node('a').dependsOn).toEqual(['b'])
  })

  test('may name the reference that a verb has returned', () => {
    const edges = edgesOf(w => {
      const first = w.task('a')
      const inline = w.inline(() => {})
      w.task('b', { dependsOn: [first, inline, 'c'] })
      w.task('c')
    })
    expect(edges.b).toBe('a step_1 c')
  })
})

describe('the step before', () => {
  test('is bound after all insertions', () => {
    const edges = edgesOf(w => [
      w.step('a'),
      w.step('b'),
      w.step('c', { beforeStep: 'b' }),
      w.step('d', { afterStep: 'a' }),
    ])
    expect(edges).toEqual({ a: '', d: 'a', c: 'd', b: 'c' })
  })

  test('of the first step is the one that a subclass puts before it', () => {
    const Parent = letters(w => w.step('a'))
    class Child extends Parent {
      static {
        // The types know only methods that the class has.
        ;(this as any).step('b', { beforeStep: 'a' })
      }
    }
    expect(definitionOf(Child).graph.node('a').dependsOn).toEqual(['b'])
    expect(definitionOf(Parent).graph.node('a').dependsOn).toEqual([])
  })

  test('is never a task, wherever that is declared', () => {
    const edges = edgesOf(w => [w.task('a'), w.step('b'), w.task('c', { dependsOn: 'b' }), w.step('d')])
    expect(edges).toEqual({ a: '', b: '', c: 'b', d: 'b' })
  })

  test('is an `each` node, a resumable or an inline step like any other', () => {
    const edges = edgesOf(w => [
      w.each('a', { items: 'list' }),
      w.resumableStep('b'),
      w.inline('middle', () => {}),
      w.step('c'),
    ])
    expect(edges).toEqual({ a: '', b: 'a', middle: 'b', c: 'middle' })
  })
})

describe('a task', () => {
  test('depends on what it names only; without any it is an entry point', () => {
    const edges = edgesOf(w => [w.step('a'), w.task('b'), w.task('c', { dependsOn: ['a', 'b'] })])
    expect(edges).toEqual({ a: '', b: '', c: 'a b' })
  })

  test('may be resumable', () => {
    const [plain, resumable] = graphOf(w => [w.task('a'), w.task('b', { resumable: true, yieldEvery: 5 })]).nodes
    expect(plain?.kind).toBe('step')
    expect(resumable?.kind).toBe('resumable')
    expect(definitionOf(letters(w => w.task('a', { resumable: false }))).nodes[0]?.resumable).toBeNull()
  })
})

describe('an `each` node', () => {
  test('keeps where its items come from and how many may be under way', () => {
    const items = () => [1]
    const definition = definitionOf(
      letters(w => [w.each('a', { items, concurrency: 3 }), w.each('b', { items: 'list' })]),
    )
    expect(definition.nodes[0]?.each).toEqual({ items, concurrency: 3 })
    expect(definition.nodes[1]?.each).toEqual({ items: 'list', concurrency: null })
    expect(definition.graph.node('a')).toMatchObject({ kind: 'each', concurrency: 3 })
    expect(definition.graph.node('b')).not.toHaveProperty('concurrency')
    expect(definition.nodes.map(node => node.kind)).toEqual(['each', 'each'])
  })
})

describe('metadata', () => {
  test('is kept with the graph as plain data, and is no part of its signature', () => {
    const metadata = { owner: 'ann', tags: ['x'], deep: { n: 1 } }
    const definition = definitionOf(letters(w => w.step('a', { metadata })))
    expect(definition.graph.node('a').metadata).toEqual(metadata)
    expect(definition.nodes[0]?.metadata).not.toBe(metadata)
    expect(Object.isFrozen(definition.nodes[0]?.metadata)).toBe(true)
    expect(definition.signature).toBe(definitionOf(letters(w => w.step('a'))).signature)
    expect(graphOf(w => w.step('a')).node('a')).not.toHaveProperty('metadata')
  })
})

describe('former names', () => {
  test('add up over several calls and come with the graph', () => {
    const graph = graphOf(w => [w.step('a'), w.step('b'), w.renamed({ x: 'a' }), w.renamed({ y: 'b', z: 'a' })])
    expect(Object.fromEntries(graph.renamed)).toEqual({ x: 'a', y: 'b', z: 'a' })
    expect(graphOf(w => w.step('a')).data).not.toHaveProperty('renamed')
  })

  test('are inherited, and a subclass adds to its own only', () => {
    const Parent = letters(w => [w.step('a'), w.renamed({ x: 'a' })])
    class Child extends Parent {
      static {
        // The types know only methods that the class has.
        ;(this as any).renamed({ y: 'a' })
      }
    }
    expect([...definitionOf(Child).graph.renamed.keys()]).toEqual(['x', 'y'])
    expect([...definitionOf(Parent).graph.renamed.keys()]).toEqual(['x'])
  })
})

describe('a mistake is raised when the class is defined, and names class and node', () => {
  const other = letters(() => {})
  // The types know only methods that the class has.
  const ref = (other as any).task('f')
  const rows: [what: string, declare: (w: any) => void, message: RegExp][] = [
    ['dependsOn of a number', w => w.step('a', { dependsOn: 5 }), /^Letters, step a: `dependsOn` takes the name/],
    ['dependsOn of an empty name', w => w.task('a', { dependsOn: '' }), /^Letters, step a: `dependsOn` takes/],
    ['a hole in dependsOn', w => w.task('a', { dependsOn: [null] }), /^Letters, step a: `dependsOn` takes/],
    ['alsoDependsOn of an object', w => w.step('a', { alsoDependsOn: {} }), /^Letters, step a: `alsoDependsOn` takes/],
    ['a task that also depends', w => w.task('a', { alsoDependsOn: 'b' }), /^Letters, step a: there is no option also/],
    ['a task with a place', w => w.task('a', { beforeStep: 'b' }), /^Letters, step a: there is no option beforeStep/],
    ['a task of no boolean', w => w.task('a', { resumable: 'yes' }), /^Letters, task a: `resumable` must be true or/],
    [
      'iteration of a plain task',
      w => w.task('a', { yieldEvery: 5 }),
      /^Letters, step a: there is no option yieldEvery/,
    ],
    ['a name of two nodes', w => [w.step('a'), w.task('a')], /^Letters, step a: there is a step of that name already/],
    [
      'a name of each and step',
      w => [w.each('a', { items: 'list' }), w.step('a')],
      /^Letters, step a: there is a step/,
    ],
    [
      'a place before a task',
      w => [w.task('a'), w.step('b', { beforeStep: 'a' })],
      /^Letters, step b: beforeStep names "a", a task/,
    ],
    [
      'a place after a task',
      w => [w.task('a'), w.step('b', { afterStep: 'a' })],
      /^Letters, step b: afterStep names "a", a task, which has no place in the chain/,
    ],
    [
      'a place after the reference of a task',
      w => w.step('b', { afterStep: w.task('a') }),
      /^Letters, step b: afterStep names "a", a task/,
    ],
    ['an each without items', w => w.each('a', {}), /^Letters, step a: `items` must be a function/],
    ['an each without options', w => w.each('a'), /^Letters, step a: `items` must be a function/],
    ['items without a name', w => w.each('a', { items: '' }), /^Letters, step a: `items` must be a function/],
    ['a list for items', w => w.each('a', { items: [1] }), /^Letters, step a: `items` must be a function/],
    [
      'no concurrency',
      w => w.each('a', { items: 'list', concurrency: 0 }),
      /^Letters, step a: `concurrency` must be a whole number above 0, not 0/,
    ],
    [
      'half a concurrency',
      w => w.each('a', { items: 'list', concurrency: 1.5 }),
      /`concurrency` must be a whole number/,
    ],
    [
      'a text for concurrency',
      w => w.each('a', { items: 'list', concurrency: '2' }),
      /`concurrency` must be a whole number/,
    ],
    ['items of a plain step', w => w.step('a', { items: 'list' }), /^Letters, step a: there is no option items/],
    ['metadata of a list', w => w.step('a', { metadata: [1] }), /^Letters, step a: `metadata` must be an object/],
    ['metadata of nothing', w => w.step('a', { metadata: null }), /^Letters, step a: `metadata` must be an object/],
    ['a slash in a name', w => w.step('a/b'), /^Letters, step "a\/b": names with # or \//],
    ['a generated name', w => w.task('n_1'), /^Letters, step "n_1": names that begin with step_ or n_/],
    ['renamed of a list', w => w.renamed(['a']), /^Letters, renamed: it takes an object/],
    ['renamed of nothing', w => w.renamed(null), /^Letters, renamed: it takes an object/],
    ['renamed to a number', w => w.renamed({ x: 5 }), /^Letters, renamed: "x" maps to something that is no name/],
    ['renamed from an empty name', w => w.renamed({ '': 'a' }), /^Letters, renamed: "" is empty/],
  ]
  test.each(rows)('%s', (_what, declare, message) => {
    expect(() => letters(declare)).toThrow(DefinitionError)
    expect(() => letters(declare)).toThrow(message)
  })

  const later: [what: string, declare: (w: any) => void, message: RegExp][] = [
    [
      'an unknown name',
      w => [w.step('a'), w.task('b', { dependsOn: 'x' })],
      /^Letters, step b: it depends on "x", which is not declared\. Declared are: a, b\.$/,
    ],
    [
      'an unknown name besides',
      w => w.step('b', { alsoDependsOn: 'x' }),
      /^Letters, step b: it depends on "x", which is not declared/,
    ],
    [
      'a step of another class',
      w => [w.task('f'), w.task('b', { dependsOn: ref })],
      /^Letters, step b: it depends on a step of another class, which is not declared/,
    ],
    ['itself', w => w.task('b', { dependsOn: 'b' }), /^Letters, step b: it depends on itself\.$/],
    [
      'itself besides',
      w => [w.step('a'), w.step('b', { alsoDependsOn: ['b'] })],
      /^Letters, step b: it depends on itself\.$/,
    ],
    [
      'each other',
      w => [w.task('a', { dependsOn: 'b' }), w.task('b', { dependsOn: 'a' })],
      /^Letters: its steps wait for each other in a circle: a → b → a\. Take/,
    ],
    [
      'a circle of three',
      w => [
        w.task('a', { dependsOn: 'c' }),
        w.task('b', { dependsOn: 'a' }),
        w.task('c', { dependsOn: 'b' }),
        w.task('d', { dependsOn: 'a' }),
      ],
      /in a circle: a → b → c → a\./,
    ],
    [
      'the step after',
      w => [w.step('a', { alsoDependsOn: 'b' }), w.step('b')],
      /^Letters: its steps wait for each other in a circle: a → b → a\./,
    ],
    [
      'a circle through an insertion',
      w => [w.step('a'), w.step('b', { beforeStep: 'a', alsoDependsOn: 'a' })],
      /^Letters: its steps wait for each other in a circle: b → a → b\./,
    ],
    [
      'former name that a step has',
      w => [w.step('a'), w.step('b'), w.renamed({ a: 'b' })],
      /^Letters: a is a former name in `this\.renamed\(\.\.\.\)`, yet a step has it\.$/,
    ],
    [
      'former name that leads nowhere',
      w => [w.step('a'), w.renamed({ x: 'y' })],
      /^Letters: `this\.renamed\(\.\.\.\)` maps x to y, which is not declared\.$/,
    ],
    [
      'items of a method that is not there',
      w => w.each('a', { items: 'nothing' }),
      /^Letters, each a: its items name the method "nothing", which does not exist\.$/,
    ],
  ]
  test.each(later)('%s, which is seen when it is registered', (_what, declare, message) => {
    const register = () => definitionOf(letters(declare))
    expect(register).toThrow(DefinitionError)
    expect(register).toThrow(message)
  })

  test('metadata that cannot be stored, or is too much', () => {
    expect(() => letters(w => w.step('a', { metadata: { f: () => {} } }))).toThrow(/Letters, step a: the metadata/)
    expect(() => letters(w => w.step('a', { metadata: { text: 'x'.repeat(20_000) } }))).toThrow(/Letters, step a/)
  })
})
