/** Compensations, calls that are made once, people and messages: what the options come to, and the mistakes in them. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definitionOf } from '../../../src/definition/compile.ts'
import { defineForm } from '../../../src/definition/define-form.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { signatureOf } from '../../../src/definition/resolve-dependencies.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError } from '../../../src/errors.ts'

/** A static block that the compiler does not check. */
function saga(declare: (w: any) => void) {
  return class Saga extends Workflow<any, any> {
    static {
      declare(this)
    }
    a() {}
    b() {}
    c() {}
    d() {}
    e() {}
    undo() {}
    happened() {
      return { happened: false }
    }
    yes() {
      return true
    }
  }
}

const definition = (declare: (w: any) => void) => definitionOf(saga(declare))
const graphOf = (declare: (w: any) => void) => definition(declare).graph
const nodeOf = (declare: (w: any) => void) => definition(declare).nodes[0]

const mistakeIn = (declare: (w: any) => void) => {
  try {
    definition(declare)
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionError)
    return (error as Error).message
  }
  return null
}

describe('a compensation', () => {
  test('by name has defaults for the rest', () => {
    const declare = (w: any) => w.step('a', { compensate: 'undo' })
    expect(nodeOf(declare)?.compensation).toEqual({
      method: 'undo',
      transactional: false,
      retry: null,
      timeoutMs: null,
      idempotent: true,
      afterFailure: true,
    })
    expect(graphOf(declare).node('a').compensation).toEqual({ name: 'undo', afterFailure: true })
    expect(graphOf(declare).isChain).toBe(true)
  })

  test('keeps what is said', () => {
    const compensate = { step: 'undo', retry: 5, timeout: '1s', afterFailure: false }
    expect(nodeOf(w => w.task('a', { compensate }))?.compensation).toMatchObject({
      method: 'undo',
      retry: { attempts: 5 },
      timeoutMs: 1000,
      afterFailure: false,
    })
    expect(nodeOf(w => w.step('a', { compensate: { step: 'undo', idempotent: false } }))?.compensation).toMatchObject({
      idempotent: false,
    })
  })

  test('may belong to every node that has code of its own', () => {
    const job = defineJob('j', () => 1)
    const nodes = definition(w => {
      const compensate = 'undo'
      w.step('a', { compensate })
      w.resumableStep('b', { compensate })
      w.human('c', { compensate })
      w.waitFor('d', { compensate })
      w.inline('inlined', { compensate }, () => {})
      w.job('jobbed', { job, compensate })
      w.each('e', { items: () => [], compensate })
      w.eachJob('jobs', { job, items: () => [], compensate })
    }).nodes
    expect(nodes.map(node => node.compensation?.method)).toEqual(Array(8).fill('undo'))
  })

  test.each<[string, (w: any) => void, string]>([
    [
      'that does not exist',
      w => w.step('a', { compensate: 'undoo' }),
      'Saga, step a: its compensate names the method "undoo", which does not exist.',
    ],
    [
      'that is a step as well',
      w => [w.step('a', { compensate: 'b' }), w.step('b')],
      'Saga, step a: its compensation b is the method of step b as well.',
    ],
    ['of the step itself', w => w.step('a', { compensate: 'a' }), 'its compensation a is the method of step a as well'],
    [
      'that is a condition as well',
      w => [w.condition('yes', { then: (b: any) => b.step('a', { compensate: 'yes' }) })],
      'its compensation yes is the method of step yes as well',
    ],
    [
      'without a method',
      w => w.step('a', { compensate: { retry: 3 } }),
      'Saga, step a, compensate: `step` must be the name of the method',
    ],
    [
      'with an unknown option',
      w => w.step('a', { compensate: { step: 'undo', attempts: 3 } }),
      'Saga, step a, compensate: there is no option attempts',
    ],
    [
      'that is called once and retried',
      w => w.step('a', { compensate: { step: 'undo', idempotent: false, retry: 2 } }),
      'cannot have a `retry`',
    ],
    ['that is no name', w => w.step('a', { compensate: 5 }), 'Saga, step a, compensate: it takes the name of a method'],
    [
      'with a flag that is none',
      w => w.step('a', { compensate: { step: 'undo', afterFailure: 'no' } }),
      '`afterFailure` must be true or false',
    ],
  ])('%s is refused', (_, declare, message) => {
    expect(mistakeIn(declare)).toContain(message)
  })
})

describe('a step that is called once', () => {
  test('is marked in the graph, with whether a method settles it', () => {
    const declare = (reconcile?: string) => (w: any) => w.step('a', { idempotent: false, reconcile })
    expect(nodeOf(declare('happened'))).toMatchObject({ idempotent: false, reconcile: 'happened' })
    expect(graphOf(declare('happened')).node('a').once).toEqual({ reconciles: true })
    expect(graphOf(declare()).node('a').once).toEqual({ reconciles: false })
    expect(graphOf(w => w.step('a', { idempotent: true })).node('a').once).toBeUndefined()
  })

  test('leaves the retry of its job and of the class to others', () => {
    const job = defineJob('j', { retry: 5 }, () => 1)
    const { nodes } = definition(w => [w.defaults({ retry: 3 }), w.job('jobbed', { job, idempotent: false })])
    expect(nodes[0]).toMatchObject({ retry: null, idempotent: false })
  })

  test.each<[string, object, string]>([
    [
      'a retry',
      { idempotent: false, retry: 1 },
      'Saga, step a: a step with `idempotent: false` is called once, so it cannot have a `retry`.',
    ],
    [
      'a policy that calls again',
      { idempotent: false, onException: 'reattempt' },
      'so its `onException` cannot be reattempt',
    ],
    [
      'a policy that calls again after some errors',
      { idempotent: false, onException: [[Error, { policy: 'reattempt', limit: 2 }]] },
      'cannot be reattempt',
    ],
    [
      'a reconcile method that does not exist',
      { idempotent: false, reconcile: 'hapened' },
      'its reconcile names the method "hapened", which does not exist',
    ],
    [
      'a reconcile method for nothing',
      { reconcile: 'happened' },
      'Saga, step a: `reconcile` settles calls that may not be repeated, and this one may be.',
    ],
    [
      'a reconcile method that is no name',
      { idempotent: false, reconcile: () => {} },
      '`reconcile` must be the name of a method',
    ],
    ['something else', { idempotent: 'no' }, '`idempotent` must be true or false'],
  ])('cannot have %s', (_, options, message) => {
    expect(mistakeIn(w => w.step('a', options))).toContain(message)
  })

  test('cannot be resumable', () => {
    expect(mistakeIn(w => w.resumableStep('a', { idempotent: false }))).toContain('there is no option idempotent')
  })
})

describe('a human node', () => {
  const form = z.object({ limit: z.number() })

  test('asks one person for ever and aborts on no, unless told otherwise', () => {
    const declare = (w: any) => w.human('a')
    expect(nodeOf(declare)).toMatchObject({
      kind: 'human',
      body: 'a',
      human: { quorum: 1, onReject: 'abort' },
      waitsFor: { timeoutMs: null, onTimeout: [], schema: null },
    })
    expect(graphOf(declare).node('a')).not.toHaveProperty('waitTimeoutMs')
  })

  test('keeps what is asked where those who decide can see it', () => {
    const declare = (w: any) => [
      w.step('b'),
      w.human('a', {
        prompt: 'Fine?',
        form,
        assignTo: 'ann',
        quorum: 2,
        deadline: '1 day',
        escalate: [
          { after: '2 hours', to: ['bob', 'eve'] },
          { after: '1 hour', to: 'carol' },
        ],
        onReject: { backTo: 'b' },
      }),
    ]
    expect(graphOf(declare).node('a')).toMatchObject({
      kind: 'human',
      waitTimeoutMs: 86_400_000,
      human: {
        prompt: 'Fine?',
        assignTo: ['ann'],
        quorum: 2,
        onReject: { backTo: 'b' },
        escalations: [
          { afterMs: 3_600_000, to: ['carol'] },
          { afterMs: 7_200_000, to: ['bob', 'eve'] },
        ],
      },
    })
    expect(definition(declare).nodes[1]?.waitsFor?.schema).toBe(form)
  })

  test('tells the name of its form if that has one', () => {
    const named = defineForm('approval', form)
    const declare = (w: any) => w.human('a', { form: named })
    expect(graphOf(declare).node('a').human?.form).toBe('approval')
    expect(nodeOf(declare)?.waitsFor?.schema).toBe(named)
    expect(graphOf(w => w.human('a', { form })).node('a').human).not.toHaveProperty('form')
  })

  test('may name the step to go back to by its reference', () => {
    const graph = graphOf(w => {
      const first = w.step('b')
      w.human('a', { onReject: { backTo: first } })
    })
    expect(graph.node('a').human?.onReject).toEqual({ backTo: 'b' })
  })

  test.each<[string, object, string]>([
    ['a quorum of none', { quorum: 0 }, 'Saga, step a: `quorum` must be a whole number of at least 1.'],
    ['a deadline of 0', { deadline: 0 }, 'a deadline of 0 leaves no time at all'],
    ['a timeout', { timeout: '1 day' }, 'there is no option timeout'],
    ['another rule for a no', { onReject: 'skip' }, "`onReject` is 'abort', 'rollback' or { backTo"],
    [
      'a way back to nowhere',
      { onReject: { backTo: 'nowhere' } },
      'Saga, human a: it goes back to nowhere, which is not there.',
    ],
    ['a way back to itself', { onReject: { backTo: 'a' } }, 'which does not come before it'],
    ['a form that is no schema', { form: { limit: 'number' } }, '`form` takes a Standard Schema'],
    ['an escalation to nobody', { escalate: { after: '1h' } }, 'Saga, step a, escalate: `to` takes a name'],
    ['an escalation without a time', { escalate: { after: 0, to: 'bob' } }, 'leaves no time at all'],
    [
      'an escalation that would come after the deadline',
      {
        deadline: '1 day',
        escalate: [
          { after: '1h', to: 'bob' },
          { after: '3 days', to: 'eve' },
        ],
      },
      'Saga, step a: the escalation after 3 days comes too late, since the deadline after 1 day ends the wait',
    ],
    [
      'an escalation that would come with the deadline',
      { deadline: '1 day', escalate: { after: '24h', to: 'bob' } },
      'the escalation after 1 day comes too late',
    ],
    ['nobody to ask', { assignTo: [] }, '`assignTo` takes a name'],
    ['a prompt that is no text', { prompt: 5 }, '`prompt` must be a text'],
  ])('cannot have %s', (_, options, message) => {
    expect(mistakeIn(w => w.human('a', options))).toContain(message)
  })
})

describe('going back', () => {
  const back = { onReject: { backTo: 'a' } }
  const two = (b: any) => [b.step('b'), b.step('c')]

  test.each<[string, (w: any) => void]>([
    ['to a step before', w => [w.step('a'), w.step('b'), w.human('d', back), w.step('c')]],
    ['over a fork', w => [w.step('a'), w.parallel('p', two), w.human('d', back)]],
    [
      'from a branch that may not be taken',
      w => [w.step('a'), w.condition('yes', { then: (b: any) => b.human('d', back) }), w.step('b')],
    ],
    [
      'to the first member of the same branch',
      w => w.fork('f', { x: (b: any) => [b.step('a'), b.human('d', back)], y: (b: any) => b.step('b') }),
    ],
    [
      'where something beside it waits for the decision',
      w => [w.step('a'), w.human('d', back), w.task('b', { dependsOn: ['a', 'd'] })],
    ],
  ])('%s is fine', (_, declare) => {
    expect(mistakeIn(declare)).toBeNull()
  })

  test.each<[string, (w: any) => void, string]>([
    ['to a step behind', w => [w.human('d', back), w.step('a')], 'which does not come before it'],
    [
      'to a step beside',
      w => [w.task('a'), w.human('d', { ...back, dependsOn: null })],
      'which does not come before it',
    ],
    [
      'to a step that one path leads past',
      w => [w.task('a'), w.task('b'), w.human('d', { ...back, dependsOn: ['a', 'b'] })],
      'Saga, human d: it goes back to a, but b leads to it without that step.',
    ],
    [
      'out of a stretch that something else goes on from',
      w => [w.step('a'), w.task('b', { dependsOn: 'a' }), w.human('d', back)],
      'but b goes on from a without waiting for the decision. Let it depend on d.',
    ],
    [
      'past the other branch of a condition',
      w => [w.step('a'), w.condition('yes', { then: (b: any) => b.human('d', back), else: (b: any) => b.step('b') })],
      'but b goes on from yes',
    ],
    [
      'into a branch that a join may do without',
      w => [w.step('a'), w.parallel('p', (b: any) => [b.human('d', back), b.step('b')], { join: 'any' })],
      'but b goes on from p',
    ],
  ])('%s is refused', (_, declare, message) => {
    expect(mistakeIn(declare)).toContain(message)
  })
})

describe('a signal node', () => {
  test('waits for ever, unless it has a timeout and says what then', () => {
    const payload = z.object({ by: z.string() })
    expect(nodeOf(w => w.waitFor('a'))).toMatchObject({ kind: 'signal', waitsFor: { timeoutMs: null, schema: null } })
    const declare = (w: any) => w.waitFor('a', { payload, timeout: '1s', onTimeout: 'skip' })
    expect(nodeOf(declare)).toMatchObject({
      timeoutMs: null,
      waitsFor: { timeoutMs: 1000, schema: payload, onTimeout: [{ errorClass: null, policy: { action: 'skip' } }] },
    })
    expect(graphOf(declare).node('a')).toMatchObject({ kind: 'signal', waitTimeoutMs: 1000 })
  })

  test.each<[string, object, string]>([
    ['a timeout of 0', { timeout: 0 }, 'a timeout of 0 leaves no time at all'],
    [
      'a policy for a timeout that it does not have',
      { onTimeout: 'skip' },
      '`onTimeout` says what follows a timeout, and there is none',
    ],
    [
      'a policy that does not exist',
      { timeout: 1, onTimeout: 'explode' },
      'Saga, step a, onTimeout: "explode" is not an exception policy',
    ],
    ['a payload that is no schema', { payload: 5 }, '`payload` takes a Standard Schema'],
  ])('cannot have %s', (_, options, message) => {
    expect(mistakeIn(w => w.waitFor('a', options))).toContain(message)
  })
})

describe('the class', () => {
  test('waits half a minute for running code in a rollback, or as long as it says', () => {
    expect(definition(w => w.step('a')).stopGraceMs).toBe(30_000)
    expect(definition(w => w.defaults({ stopGrace: '5s' })).stopGraceMs).toBe(5000)
    expect(definition(w => w.defaults({ stopGrace: 0 })).stopGraceMs).toBe(0)
  })

  test('may roll back when a step throws', () => {
    expect(definition(w => w.onException('rollback')).onException[0]?.policy).toMatchObject({ action: 'rollback' })
  })
})

describe('the signature', () => {
  const of = (declare: (w: any) => void) => signatureOf(graphOf(declare))

  test('is as it was before there were sagas, for graphs without', () => {
    expect(
      of(w => [w.step('a'), w.task('b', { dependsOn: 'a' }), w.each('c', { items: () => [], concurrency: 2 })]),
    ).toBe('c6e2f8f91809cffd7021ef3665e7f91c06f2fa3d4e42fa7c8153e549e92f8ec7')
  })

  test('differs by what is undone, asked, guarded and joined', () => {
    const two = (b: any) => [b.step('a'), b.step('b')]
    const shapes: ((w: any) => void)[] = [
      w => w.step('a'),
      w => w.step('a', { compensate: 'undo' }),
      w => w.step('a', { compensate: { step: 'undo', afterFailure: false } }),
      w => w.step('a', { idempotent: false }),
      w => w.step('a', { idempotent: false, reconcile: 'happened' }),
      w => w.human('a'),
      w => w.human('a', { quorum: 2 }),
      w => w.human('a', { onReject: 'rollback' }),
      w => w.waitFor('a'),
      w => w.condition('yes', { then: two }),
      w => w.condition('yes', { else: two }),
      w => w.parallel('p', two),
      w => w.parallel('p', two, { join: 'any' }),
      w => w.parallel('p', two, { join: 'settled' }),
      w => w.parallel('p', two, { join: false }),
    ]
    expect(new Set(shapes.map(of)).size).toBe(shapes.length)
    for (const shape of shapes) expect(of(shape)).toBe(of(shape))
  })
})

describe('a form', () => {
  test('is a schema with a name', async () => {
    const schema = z.object({ limit: z.number() })
    const form = defineForm('approval', schema)
    expect(form).toMatchObject({ name: 'approval', schema })
    expect(await form['~standard'].validate({ limit: 5 })).toEqual({ value: { limit: 5 } })
  })

  test.each([
    ['', z.object({}), 'defineForm: the name of a form is empty'],
    ['x', {}, 'defineForm("x"): it takes a Standard Schema'],
  ])('named %j over %j is refused', (name, schema, message) => {
    expect(() => defineForm(name, schema as any)).toThrow(message)
  })
})
