/** What verbs in a static block accept, and every mistake they raise on the spot. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a word of exception policies.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definitionOf } from '../../../src/definition/compile.ts'
import { defineHero } from '../../../src/definition/hero.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { workflowMembers } from '../../../src/definition/node-name.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError, isGenevaError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

function mistakeOf(declare: (workflow: any) => void): string {
  try {
    sampleClass(declare)
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionError)
    expect(isGenevaError(error, 'DEFINITION')).toBe(true)
    return (error as Error).message
  }
  throw new Error('no mistake was found')
}

const namesOf = (declare: (workflow: any) => void) => definitionOf(sampleClass(declare)).nodes.map(node => node.name)
const nodeOf = (options: object) => definitionOf(sampleClass(w => w.step('first', options))).nodes[0]

describe('steps', () => {
  test('run in the order in which they are declared', () => {
    expect(namesOf(w => ['third', 'first', 'second'].forEach(name => void w.step(name)))).toEqual([
      'third',
      'first',
      'second',
    ])
  })

  test('have defaults for everything that is not said', () => {
    expect(nodeOf({})).toEqual({
      name: 'first',
      kind: 'step',
      inChain: true,
      dependsOn: null,
      alsoDependsOn: [],
      each: null,
      child: null,
      scope: null,
      join: null,
      human: null,
      waitsFor: null,
      compensation: null,
      idempotent: true,
      reconcile: null,
      retry: null,
      transactional: false,
      timeoutMs: null,
      metadata: null,
      resumable: null,
      body: 'first',
      waitMs: 0,
      condition: null,
      onException: [],
      queue: null,
      priority: null,
    })
  })

  test('keep what is said', () => {
    const node = nodeOf({ wait: '2 days', if: 'yes', queue: 'slow', priority: 100, onException: 'skip' })
    expect(node).toMatchObject({
      waitMs: 172_800_000,
      condition: { test: 'yes', runsWhen: true },
      queue: 'slow',
      priority: 100,
    })
    expect(nodeOf({ skipIf: false })?.condition).toEqual({ test: false, runsWhen: false })
    expect(nodeOf({ wait: undefined, if: undefined, queue: undefined, afterStep: undefined })).toEqual(nodeOf({}))
  })

  test('are put right before or right after another one', () => {
    const names = namesOf(w => {
      w.step('first')
      w.step('third')
      w.step('second', { afterStep: 'first' })
      const zero = w.inline('zero', { beforeStep: 'first' }, () => {})
      w.inline('half', { afterStep: zero }, () => {})
      w.inline('end', { afterStep: 'third' }, () => {})
    })
    expect(names).toEqual(['zero', 'half', 'first', 'second', 'third', 'end'])
  })

  test('are called step_1, step_2 and so on when they are inline and have no name', () => {
    const body = () => {}
    const definition = definitionOf(
      sampleClass(w => {
        w.inline(body)
        w.inline('named', body)
        w.inline({ wait: 5, beforeStep: 'step_1' }, body)
      }),
    )
    expect(definition.nodes.map(node => [node.name, node.body, node.waitMs])).toEqual([
      ['step_2', body, 5],
      ['step_1', body, 0],
      ['named', body, 0],
    ])
    expect(definition.nodeIndex.get('named')).toBe(2)
  })
})

describe('a mistake in a step is raised when the class is defined and names class and step', () => {
  const step = (options: unknown) => (w: any) => w.step('first', options)
  const rows: [what: string, declare: (w: any) => void, message: RegExp][] = [
    ['a name given twice', w => [w.step('first'), w.step('first')], /already/],
    ['an inline step with a name given twice', w => [w.step('first'), w.inline('first', () => {})], /already/],
    ['a position that is unknown', step({ afterStep: 'second' }), /"second", which is not declared so far/],
    ['its own position', step({ beforeStep: 'first' }), /not declared so far/],
    ['a position that is no name', step({ beforeStep: 5 }), /not declared so far/],
    ['both positions', w => [w.inline('a', () => {}), w.step('first', { beforeStep: 'a', afterStep: 'a' })], /both/],
    ['both if and skipIf', step({ if: true, skipIf: true }), /both `if` and `skipIf`/],
    ['a condition of the wrong kind', step({ if: 5 }), /`if` must be/],
    ['an empty condition', step({ skipIf: '' }), /`skipIf` must be/],
    ['a negative wait', step({ wait: -1 }), /negative/],
    ['a wait that is no duration', step({ wait: 'soon' }), /soon/],
    ['a queue without a name', step({ queue: '' }), /queue name is empty/],
    ['a queue name that is too long', step({ queue: 'q'.repeat(192) }), /191/],
    ['a queue name with NUL', step({ queue: 'a\0b' }), /NUL/],
    ['a queue that is no text', step({ queue: 5 }), /not a text/],
    ['a priority below 0', step({ priority: -1 }), /0 to 100/],
    ['a priority above 100', step({ priority: 101 }), /0 to 100/],
    ['a priority that is not whole', step({ priority: 1.5 }), /0 to 100/],
    ['an option that does not exist', step({ wiat: 5 }), /no option wiat/],
    ['options that are no object', step('2 days'), /must be an object/],
    ['code in the place of options', step(() => {}), /inline/],
    ['a policy that does not exist', step({ onException: 'explode' }), /"explode" is not an exception policy/],
    ['a policy of the wrong kind', step({ onException: 5 }), /not an exception policy/],
    ['no policy', step({ onException: null }), /null is not an exception policy/],
    ['a policy without its name', step({ onException: { wait: 5 } }), /undefined is not an exception policy/],
    ['a limit below 1', step({ onException: { policy: 'reattempt', limit: 0 } }), /at least 1/],
    ['a limit that is not whole', step({ onException: { policy: 'reattempt', limit: 1.5 } }), /at least 1/],
    [
      'a reattempt after the reattempts',
      step({ onException: { policy: 'reattempt', then: 'reattempt' } }),
      /cannot be reattempt/,
    ],
    ['a then that does not exist', step({ onException: { policy: 'reattempt', then: 'explode' } }), /"explode"/],
    ['a negative wait of a reattempt', step({ onException: { policy: 'reattempt', wait: -5 } }), /negative/],
    [
      'a limit without reattempt',
      step({ onException: { policy: 'cancel', limit: 3 } }),
      /belong to the policy reattempt/,
    ],
    [
      'a policy option that does not exist',
      step({ onException: { policy: 'pause', attempts: 3 } }),
      /no option attempts/,
    ],
    ['a map without pairs', step({ onException: [Error, 'cancel'] }), /pairs/],
    [
      'a map with something that is no class',
      step({ onException: [[undefined, 'cancel']] }),
      /undefined is not an error class/,
    ],
    ['a map with an arrow function', step({ onException: [[() => {}, 'cancel']] }), /not an error class/],
    ['a map with a bad policy', step({ onException: [[Error, 'explode']] }), /"explode"/],
  ]
  test.each(rows)('%s', (_what, declare, message) => {
    expect(mistakeOf(declare)).toMatch(message)
    expect(mistakeOf(declare)).toMatch(/^Sample, step first:/)
  })

  test('an each whose name leaves no room for the numbers of its items', () => {
    const items = () => []
    const job = defineJob('mail', () => {})
    const message = /^Sample, step "e+": its name is longer than 182 characters/
    expect(mistakeOf(w => w.each('e'.repeat(183), { items }))).toMatch(message)
    expect(mistakeOf(w => w.eachJob('e'.repeat(183), { items, job }))).toMatch(message)
  })

  test.each([[[]], [['first']], [['first', {}]], [['first', {}, () => {}, 1]], [['first', {}, 'second']]])(
    'inline with arguments that make no sense: %j',
    given => {
      expect(mistakeOf(w => w.inline(...given))).toMatch(/Sample, step \S+: inline takes/)
    },
  )
})

describe('names', () => {
  test.each([
    ...workflowMembers,
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'then',
    'step_1',
    'step_x',
    'n_5',
    'a#b',
    'a/b',
    'a b',
    'a-b',
    '1a',
    'a\0b',
    '',
    'x'.repeat(192),
  ])('%j is refused, for methods and for inline steps', name => {
    expect(mistakeOf(w => w.step(name))).toContain('Sample, step')
    expect(mistakeOf(w => w.inline(name, () => {}))).toContain('Sample, step')
  })

  test.each([undefined, null, 5, Symbol('x'), {}])('that are no text are refused: %s', name => {
    expect(mistakeOf(w => w.step(name))).toContain('Sample, step')
  })

  test.each(['charge', 'größe', '$x', '_hidden', 'x'.repeat(191), 'steps', 'next'])('%j is accepted', name => {
    expect(namesOf(w => w.inline(name, () => {}))).toEqual([name])
  })

  test('that are reserved are all members of Workflow, and no others', () => {
    const members = Object.getOwnPropertyNames(Workflow.prototype).filter(name => name !== 'constructor')
    expect(new Set(members)).toEqual(workflowMembers)
  })
})

describe('class rules', () => {
  const Orders = defineHero('Order', { id: (order: { id: number }) => order.id, load: () => null })

  test('have defaults', () => {
    expect(definitionOf(sampleClass())).toMatchObject({
      type: 'Sample',
      formerTypes: [],
      nodes: [],
      heroTypes: [],
      mayOutliveHero: false,
      inputSchema: null,
      cancelIf: [],
      onException: [],
      queue: 'default',
      priority: 0,
      allowMultiple: false,
      resultNode: null,
      beforeEach: [],
      afterEach: [],
      aroundEach: [],
    })
  })

  test('are kept', () => {
    const schema = z.object({})
    const hook = () => {}
    const definition = definitionOf(
      sampleClass(w => {
        w.heroes(Orders)
        w.mayOutliveHero()
        w.input(schema)
        w.cancelIf('yes')
        w.cancelIf(hook)
        w.jobOptions({ queue: 'orders' })
        w.jobOptions({ priority: 7 })
        w.allowMultiple()
        w.named('orders', 'Orders', 'OrderFlow')
        w.result('first')
        w.step('first')
        w.beforeEach(hook)
        w.afterEach(hook)
        w.aroundEach(hook)
      }),
    )
    expect(definition).toMatchObject({
      type: 'orders',
      formerTypes: ['Orders', 'OrderFlow'],
      heroTypes: [Orders],
      mayOutliveHero: true,
      inputSchema: schema,
      cancelIf: ['yes', hook],
      queue: 'orders',
      priority: 7,
      allowMultiple: true,
      resultNode: 'first',
      beforeEach: [hook],
      afterEach: [hook],
      aroundEach: [hook],
    })
  })

  test('take the result from an inline step by its reference', () => {
    expect(definitionOf(sampleClass(w => w.result(w.inline(() => 1)))).resultNode).toBe('step_1')
  })

  const rows: [what: string, declare: (w: any) => void, message: RegExp][] = [
    ['a hero type that is none', w => w.heroes(undefined), /defineHero/],
    ['a hero type given twice', w => w.heroes(typed('A'), typed('A')), /given twice/],
    [
      'several hero types that cannot be told apart',
      w => w.heroes(typed('A'), Orders),
      /Give `is` to defineHero\('Order'/,
    ],
    ['heroes said twice', w => [w.heroes(Orders), w.heroes(Orders)], /called twice/],
    ['an input that is no schema', w => w.input({ type: 'object' }), /Standard Schema/],
    ['an input that is nothing', w => w.input(undefined), /Standard Schema/],
    ['a condition of the wrong kind', w => w.cancelIf(5), /`cancelIf` must be/],
    ['a bad policy', w => w.onException('explode'), /"explode"/],
    ['a bad queue', w => w.jobOptions({ queue: '' }), /queue name is empty/],
    ['a bad priority', w => w.jobOptions({ priority: 101 }), /0 to 100/],
    ['a job option that does not exist', w => w.jobOptions({ que: 'x' }), /no option que/],
    ['job options that are none', w => w.jobOptions(), /must be an object/],
    ['an empty stored name', w => w.named(''), /is empty/],
    ['a stored name that is too long', w => w.named('x'.repeat(192)), /191/],
    ['a former name with NUL', w => w.named('a', 'b\0'), /NUL/],
    ['a stored name given twice', w => w.named('a', 'b', 'a'), /same name twice/],
    ['a result that is no step', w => w.result(5), /takes the name of a step/],
    ['a hook that is no function', w => w.beforeEach('first'), /takes a function/],
    ['a flag that is no boolean', w => w.allowMultiple('yes'), /takes true, false or nothing/],
  ]
  test.each(rows)('refuse %s', (_what, declare, message) => {
    expect(mistakeOf(declare)).toMatch(message)
    expect(mistakeOf(declare)).toMatch(/^Sample/)
  })

  function typed(type: string) {
    return defineHero(type, { id: (record: { id: number }) => record.id, load: () => null, is: () => true })
  }
})
