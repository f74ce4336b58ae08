/** Forks, joins, conditions and save points: the graphs they come to, and the mistakes in them. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError } from '../../../src/errors.ts'

/** A class with methods a to h and a static block that the compiler does not check. */
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
    g() {}
    h() {}
    yes() {
      return true
    }
    no() {
      return false
    }
  }
}

const graphOf = (declare: (w: any) => void) => definitionOf(letters(declare)).graph

/** Each node with what it depends on; `+` and `-` before the condition that guards it. */
function edgesOf(declare: (w: any) => void) {
  return Object.fromEntries(
    graphOf(declare).nodes.map(({ name, dependsOn, guard }) => {
      const shown = dependsOn.map(id => (guard?.condition === id ? `${guard.when ? '+' : '-'}${id}` : id))
      return [name, shown.join(' ')]
    }),
  )
}

const mistakeIn = (declare: (w: any) => void) => {
  try {
    definitionOf(letters(declare))
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionError)
    return (error as Error).message
  }
  return null
}

describe('a fork', () => {
  test('opens branches that are chains of their own, and the next step waits for its join', () => {
    const declare = (w: any) => {
      w.step('a')
      w.fork('both', {
        left: (b: any) => [b.step('b'), b.step('c')],
        right: (b: any) => b.step('d'),
      })
      w.step('e')
    }
    expect(edgesOf(declare)).toEqual({
      a: '',
      both: 'a',
      b: 'both',
      c: 'b',
      d: 'both',
      'both#join': 'c d',
      e: 'both#join',
    })
    const graph = graphOf(declare)
    expect(graph.node('both')).toMatchObject({ kind: 'fork' })
    expect(graph.node('both#join')).toMatchObject({ kind: 'join', join: { rule: 'all', branches: [['c'], ['d']] } })
    expect(graph.isChain).toBe(false)
  })

  test('lets its branches run free with `join: false`', () => {
    const edges = edgesOf(w => {
      w.fork('both', { left: (b: any) => b.step('a'), right: (b: any) => b.step('b') }, { join: false })
      w.step('c')
    })
    expect(edges).toEqual({ both: '', a: 'both', b: 'both', c: 'both' })
  })

  test.each([
    [undefined, 'all'],
    ['all', 'all'],
    ['any', { atLeast: 1 }],
    ['settled', 'settled'],
    [{ atLeast: 2 }, { atLeast: 2 }],
  ])('with the join %j has the rule %j', (join, rule) => {
    const graph = graphOf(w =>
      w.parallel('all', (b: any) => [b.step('a'), b.step('b')], join === undefined ? undefined : { join }),
    )
    expect(graph.node('all#join').join?.rule).toEqual(rule)
  })

  test('has branches with several ends, where tasks stand in them', () => {
    const graph = graphOf(w => {
      w.fork('both', {
        left: (b: any) => [b.step('a'), b.task('b', { dependsOn: 'a' }), b.task('c'), b.step('d')],
        right: (b: any) => b.step('e'),
      })
    })
    expect(graph.node('c').dependsOn).toEqual(['both'])
    expect(graph.node('both#join').join?.branches).toEqual([['b', 'c', 'd'], ['e']])
  })

  test('named by reference, by name or in a subclass means its join', () => {
    const Parent = letters(w => {
      const both = w.parallel('both', (b: any) => [b.step('a'), b.step('b')])
      w.task('c', { dependsOn: both })
    })
    class Child extends Parent {
      static {
        // The types know only methods that the class has.
        const w = this as any
        w.task('d', { dependsOn: 'both' })
        w.task('e', { dependsOn: w.node('both') })
      }
    }
    const { graph } = definitionOf(Child)
    for (const name of ['c', 'd', 'e']) expect(graph.node(name).dependsOn).toEqual(['both#join'])
  })

  test('may stand in a branch of another', () => {
    const edges = edgesOf(w => {
      w.fork('outer', {
        left: (b: any) => {
          b.parallel('inner', (b: any) => [b.step('a'), b.step('b')])
          b.step('c')
        },
        right: (b: any) => b.parallel('free', (b: any) => [b.step('d'), b.step('e')], { join: false }),
      })
    })
    expect(edges).toEqual({
      outer: '',
      inner: 'outer',
      a: 'inner',
      b: 'inner',
      'inner#join': 'a b',
      c: 'inner#join',
      free: 'outer',
      d: 'free',
      e: 'free',
      'outer#join': 'c free',
    })
  })
})

describe('a parallel', () => {
  test('makes a branch of each direct member', () => {
    const graph = graphOf(w =>
      w.parallel('all', (b: any) => {
        b.step('a')
        b.condition('yes', { then: (b: any) => [b.step('b'), b.step('c')] })
        b.step('d', { dependsOn: 'a' })
      }),
    )
    expect(graph.node('d').dependsOn).toEqual(['all', 'a'])
    expect(graph.node('all#join').join?.branches).toEqual([['a'], ['yes', 'c'], ['d']])
  })
})

describe('a condition', () => {
  test('guards the first members of its branches, and what follows waits for whatever was taken', () => {
    const declare = (w: any) => {
      w.step('a')
      w.condition('yes', { then: (b: any) => [b.step('b'), b.step('c')], else: (b: any) => b.step('d') })
      w.step('e')
    }
    expect(edgesOf(declare)).toEqual({ a: '', yes: 'a', b: '+yes', c: 'b', d: '-yes', e: 'yes c d' })
    expect(graphOf(declare).node('b').guard).toEqual({ condition: 'yes', when: true })
    expect(graphOf(declare).node('yes').kind).toBe('condition')
  })

  test('has its code in a method, or in a function under a free name', () => {
    const test = () => true
    const [method, free] = definitionOf(
      letters(w => {
        w.condition('yes', { else: (b: any) => b.step('a') })
        w.condition('large', test, { then: (b: any) => b.step('b') })
      }),
    ).nodes.filter(node => node.kind === 'condition')
    expect(method).toMatchObject({ name: 'yes', body: 'yes' })
    expect(free).toMatchObject({ name: 'large', body: test })
  })

  test('guards whatever also depends on something outside of the branch, which would let it run', () => {
    const edges = edgesOf(w => {
      w.task('a')
      w.condition('yes', {
        then: (b: any) => [
          b.step('b', { dependsOn: 'a' }),
          b.task('c', { dependsOn: ['b', 'a'] }),
          b.step('d', { alsoDependsOn: 'a' }),
          b.step('e'),
        ],
      })
    })
    expect(edges).toMatchObject({ b: '+yes a', c: '+yes b a', d: '+yes b a', e: 'd' })
  })

  test('guards such members also where they stand in a fork of the branch, or by the innermost condition', () => {
    const edges = edgesOf(w => {
      w.task('a')
      w.condition('yes', {
        then: (b: any) => {
          b.step('b')
          b.fork('both', {
            left: (b: any) => [b.step('c', { alsoDependsOn: 'a' }), b.step('d', { alsoDependsOn: 'b' })],
            right: (b: any) =>
              b.condition('no', { else: (b: any) => [b.step('e'), b.step('f', { alsoDependsOn: ['a', 'b'] })] }),
          })
        },
      })
    })
    expect(edges).toMatchObject({ c: '+yes both a', d: 'c b', e: '-no', f: '-no e a b' })
  })

  test('refuses a join in a branch that waits for something outside of it', () => {
    const join = (w: any) => {
      w.task('a')
      w.condition('yes', { then: (b: any) => [b.step('b'), b.join('j', { dependsOn: ['b', 'a'] })] })
    }
    expect(mistakeIn(join)).toMatch(/j: it stands in branch then of yes, yet waits for a outside/)
  })

  test('in a condition in a fork in a condition leads on from what was taken', () => {
    const edges = edgesOf(w => {
      w.condition('yes', {
        then: (b: any) => {
          b.fork('both', {
            left: (b: any) =>
              b.condition('no', {
                then: (b: any) => b.step('a'),
                else: (b: any) => b.condition('deep', () => true, { then: (b: any) => b.step('b') }),
              }),
            right: (b: any) => b.step('c'),
          })
        },
        else: (b: any) => b.step('d'),
      })
      w.step('e')
    })
    expect(edges).toEqual({
      yes: '',
      both: '+yes',
      no: 'both',
      a: '+no',
      deep: '-no',
      b: '+deep',
      c: 'both',
      'both#join': 'no a deep b c',
      d: '-yes',
      e: 'yes both#join d',
    })
  })

  test('that a member of its own branch names stands for itself', () => {
    expect(edgesOf(w => w.condition('yes', { then: (b: any) => b.task('a', { dependsOn: 'yes' }) })).a).toBe('+yes')
  })

  test('at the end of a workflow with one step makes no chain', () => {
    expect(graphOf(w => w.condition('yes', { then: (b: any) => b.step('a') })).isChain).toBe(false)
  })

  test('takes the options of a step', () => {
    const node = graphOf(w => w.condition('yes', { then: (b: any) => b.step('a'), wait: '1s', queue: 'q' })).node('yes')
    expect(node).toMatchObject({ waitMs: 1000, queue: 'q' })
  })
})

describe('positions', () => {
  test('behind a fork are behind its join, and before it are before it', () => {
    const edges = edgesOf(w => {
      w.step('a')
      w.parallel('both', (b: any) => [b.step('b'), b.step('c')])
      w.step('d')
      w.step('e', { afterStep: 'both' })
      w.step('f', { beforeStep: 'both' })
      w.parallel('more', (b: any) => [b.step('g'), b.step('h')], { afterStep: 'a' })
    })
    expect(Object.keys(edges)).toEqual('a more g h more#join f both b c both#join e d'.split(' '))
    expect(edges).toMatchObject({ more: 'a', f: 'more#join', both: 'f', e: 'both#join', d: 'e' })
  })

  test('in a branch are bound after all insertions', () => {
    const edges = edgesOf(w =>
      w.condition('yes', { then: (b: any) => [b.step('a'), b.step('b'), b.step('c', { beforeStep: 'a' })] }),
    )
    expect(edges).toEqual({ yes: '', c: '+yes', a: 'c', b: 'a' })
  })

  test.each([
    [
      'from a branch into the chain',
      (w: any) => [w.step('a'), w.parallel('p', (b: any) => [b.step('b', { afterStep: 'a' }), b.step('c')])],
    ],
    [
      'from the chain into a branch',
      (w: any) => [w.parallel('p', (b: any) => [b.step('b'), b.step('c')]), w.step('a', { beforeStep: 'b' })],
    ],
    [
      'from one branch into another',
      (w: any) =>
        w.condition('yes', { then: (b: any) => b.step('a'), else: (b: any) => b.step('b', { afterStep: 'a' }) }),
    ],
  ])('%s are refused', (_, declare) => {
    expect(mistakeIn(declare)).toMatch(
      /^Letters, step [ab]: (before|after)Step names "[ab]", which stands in .+, not in /,
    )
  })
})

describe('a save point', () => {
  test('is a member of the chain, which stays one', () => {
    const graph = graphOf(w => [w.step('a'), w.savePoint('paid'), w.step('b')])
    expect(graph.node('paid')).toMatchObject({ kind: 'savePoint', dependsOn: ['a'] })
    expect(graph.node('b').dependsOn).toEqual(['paid'])
    expect(graph.isChain).toBe(true)
  })

  test('in a branch is refused', () => {
    expect(mistakeIn(w => w.condition('yes', { then: (b: any) => b.savePoint('here') }))).toBe(
      'Letters, branch then of yes: a save point cannot stand in a branch, because a rollback stops for the whole workflow. Put it before or behind.',
    )
  })
})

describe('an explicit join', () => {
  test('has a branch for each dependency', () => {
    const graph = graphOf(w => {
      w.task('a')
      w.parallel('both', (b: any) => [b.step('b'), b.step('c')])
      w.condition('yes', { dependsOn: null, then: (b: any) => b.step('d') })
      w.join('together', { dependsOn: ['a', 'both', 'yes'], rule: { atLeast: 2 } })
      w.step('e')
    })
    expect(graph.node('together').join).toEqual({
      rule: { atLeast: 2 },
      branches: [['a'], ['both#join'], ['yes', 'd']],
    })
    expect(graph.node('together').dependsOn).toEqual(['a', 'both#join', 'yes', 'd'])
    expect(graph.node('e').dependsOn).toEqual(['together'])
  })

  test('brings free branches together', () => {
    const edges = edgesOf(w => {
      w.parallel('both', (b: any) => [b.step('a'), b.step('b')], { join: false })
      w.join('together', { dependsOn: ['a', 'b'], rule: 'any' })
    })
    expect(edges.together).toBe('a b')
  })
})

describe('refused when defined', () => {
  const one = (b: any) => b.step('a')
  test.each<[string, (w: any) => void, string]>([
    [
      'a fork with one branch',
      w => w.fork('f', { only: one }),
      'Letters, fork f: it has one branch. A fork needs at least two.',
    ],
    ['a fork without branches', w => w.fork('f', {}), 'Letters, fork f: it has no branch.'],
    ['a parallel with one member', w => w.parallel('p', one), 'Letters, parallel p: it has one branch.'],
    ['an empty branch', w => w.fork('f', { x: one, y: () => {} }), 'Letters, branch y of f: it is empty.'],
    [
      'an empty branch of a condition',
      w => w.condition('yes', { then: () => {} }),
      'Letters, branch then of yes: it is empty.',
    ],
    [
      'a branch that adds to the chain',
      w => w.condition('yes', { then: () => w.step('a') }),
      'Letters, branch then of yes: it is empty.',
    ],
    ['a condition without branches', w => w.condition('yes', {}), 'Letters, condition yes: it has no branch.'],
    [
      'a branch that is no function',
      w => w.condition('yes', { then: 'a' }),
      'Letters, branch then of yes: it must be a function',
    ],
    [
      'a branch that is described later',
      w => w.condition('yes', { then: async (b: any) => b.step('a') }),
      'Letters, branch then of yes: its function returned a promise.',
    ],
    ['branches in a list', w => w.fork('f', [one, one]), 'Letters, fork f: its branches are an object'],
    [
      'a condition by something else',
      w => w.condition('large', 5, { then: one }),
      'Letters, condition large: it takes (method, branches) or (name, test, branches).',
    ],
    [
      'a condition whose method is missing',
      w => w.condition('large', { then: one }),
      'Letters, step large: there is no such method.',
    ],
    ['a reserved name', w => w.fork('cond#x', { x: one, y: one }), 'names with # or / are kept for generated nodes'],
    ['a reserved name of a save point', w => w.savePoint('x/1'), 'names with # or / are kept'],
    ['a name that leaves no room for the join', w => w.parallel('p'.repeat(187), one), 'longer than 186 characters'],
    [
      'a name twice',
      w => [w.step('a'), w.parallel('p', (b: any) => [b.step('b'), b.step('a')])],
      'Letters, step a: there is a step of that name already',
    ],
    [
      'more than there are branches',
      w => w.parallel('p', (b: any) => [b.step('a'), b.step('b')], { join: { atLeast: 3 } }),
      'Letters, fork p: `atLeast` is 3, but there are only 2 branches.',
    ],
    [
      'none at all',
      w => w.parallel('p', (b: any) => [b.step('a'), b.step('b')], { join: { atLeast: 0 } }),
      '`atLeast` must be a whole number of at least 1',
    ],
    [
      'another rule',
      w => w.parallel('p', (b: any) => [b.step('a'), b.step('b')], { join: 'first' }),
      "Letters, fork p: a join waits for 'all'",
    ],
    ['a join of nothing', w => w.join('j', {}), 'Letters, join j: it must say what comes together'],
    [
      'a join of too few',
      w => [w.task('a'), w.join('j', { dependsOn: 'a', rule: { atLeast: 2 } })],
      'Letters, join j: `atLeast` is 2, but there are only 1',
    ],
    [
      'a join whose branches meet',
      w => [w.condition('yes', { then: one }), w.join('j', { dependsOn: ['yes', 'a'] })],
      'Letters, join j: yes and a meet in a',
    ],
    [
      'a join in a branch of others',
      w => [w.task('b'), w.condition('yes', { then: (b: any) => b.join('j', { dependsOn: 'b' }) })],
      'Letters, join j: it stands in branch then of yes, yet waits for nothing in it',
    ],
    [
      'a join that names the same twice',
      w => {
        const a = w.task('a')
        w.join('j', { dependsOn: [a, 'a'], rule: { atLeast: 2 } })
      },
      'Letters, join j: it waits for 2 branches, but names only 1.',
    ],
    [
      'a circle through a branch',
      w => [w.condition('yes', { then: (b: any) => b.step('a', { alsoDependsOn: 'b' }) }), w.step('b')],
      'Letters: its steps wait for each other in a circle: ',
    ],
    [
      'an option that structure does not have',
      w => w.savePoint('here', { wait: '1s' }),
      'Letters, step here: there is no option wait',
    ],
    ['an unknown node', w => w.node('here'), 'Letters: `this.node(...)` names "here", which is not declared so far'],
  ])('%s', (_, declare, message) => {
    expect(mistakeIn(declare)).toContain(message)
  })

  test('a step for a branch that has been described', () => {
    let kept: any
    const late = (w: any) => {
      w.condition('yes', {
        then: (b: any) => {
          b.step('a')
          kept = b
        },
      })
      kept.step('b')
    }
    expect(mistakeIn(late)).toBe('Letters, branch then of yes: it has been described, and takes no more steps.')
  })
})

describe('a subclass', () => {
  test('inherits branches, and a fork that is renamed takes its join along', () => {
    const Parent = letters(w => w.parallel('both', (b: any) => [b.step('a'), b.step('b')]))
    class Child extends Parent {
      static {
        // The types know only methods that the class has.
        const w = this as any
        w.step('c')
        w.renamed({ couple: 'both' })
      }
    }
    const { graph } = definitionOf(Child)
    expect(graph.node('c').dependsOn).toEqual(['both#join'])
    expect([...graph.renamed]).toEqual([
      ['couple', 'both'],
      ['couple#join', 'both#join'],
    ])
    expect(definitionOf(Parent).graph.size).toBe(4)
  })
})
