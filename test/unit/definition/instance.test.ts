/** The instance that runs a step: what it reads, flow control, outputs, and tests asked of it. */
import { describe, expect, test, vi } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { evaluateTest } from '../../../src/definition/evaluate-test.ts'
import { FlowControl, isFlowControl } from '../../../src/definition/flow-control.ts'
import { instantiate } from '../../../src/definition/instantiate.ts'
import type { StepContext } from '../../../src/definition/step-context.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError, InvalidArgumentError } from '../../../src/errors.ts'
import { sampleClass, sampleContext } from './sample-workflow.ts'

const Sample = sampleClass(w => [w.step('first'), w.step('second')])
const sampleInstance = (context: StepContext = sampleContext()) => instantiate(definitionOf(Sample), context) as any

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (thrown) {
    return thrown
  }
  throw new Error('nothing was thrown')
}

describe('an instance', () => {
  test('reads everything through its context', () => {
    const context = sampleContext({ input: { a: 1 }, hero: () => ({ id: 5 }) })
    const instance = sampleInstance(context)
    expect(instance).toBeInstanceOf(Sample)
    expect(instance.hero).toEqual({ id: 5 })
    expect(instance.input).toBe(context.input)
    expect(instance.id).toBe('7')
    expect(instance.execution).toBe(context.execution)
    expect(instance.signal).toBe(context.signal)
  })

  test('is frozen: fields are not state', () => {
    class Counting extends Workflow {
      count = 0
    }
    const instance = instantiate(definitionOf(Counting), sampleContext()) as Counting
    expect(instance.count).toBe(0)
    expect(() => {
      instance.count++
    }).toThrow(TypeError)
    expect(() => Object.assign(instance, { other: 1 })).toThrow(TypeError)
  })

  test('shows no more than the members of its class', () => {
    expect(Reflect.ownKeys(sampleInstance())).toEqual([])
  })

  test('says why its members are not there in a constructor or a field', () => {
    class Early extends Workflow {
      early = this.id
    }
    expect(() => instantiate(definitionOf(Early), sampleContext())).toThrow(
      /^Early: `id` exists only while a step runs/,
    )
    expect(() => new Sample().cancel()).toThrow(DefinitionError)
  })

  test('cannot have a field that hides a member of Workflow', () => {
    class Hiding extends (Workflow as any) {
      hero = 5
    }
    expect(() => instantiate(definitionOf(Hiding as any), sampleContext())).toThrow(/Hiding: its field hero hides/)
  })
})

describe('output', () => {
  test('finds the step by its method', async () => {
    const output = vi.fn(async () => 'stored')
    const instance = sampleInstance(sampleContext({ output }))
    expect(await instance.output(instance.first)).toBe('stored')
    expect(output).toHaveBeenLastCalledWith('first', null)
    await instance.output(instance.second, undefined)
    expect(output).toHaveBeenLastCalledWith('second', { value: undefined })
  })

  test('finds the step when a subclass or a spy has replaced the method', async () => {
    class Child extends Sample {
      override async first() {
        return 2
      }
    }
    const output = vi.fn(async () => 'stored')
    const instance = instantiate(definitionOf(Child), sampleContext({ output })) as Child
    await instance.output(instance.first)
    expect(output).toHaveBeenLastCalledWith('first', null)
    const spy = vi.spyOn(Child.prototype, 'first')
    await instance.output(instance.first)
    expect(output).toHaveBeenLastCalledWith('first', null)
    spy.mockRestore()
  })

  test.each<[string, (instance: any) => unknown]>([
    ['a method that is no step', instance => instance.yes],
    ['a name', () => 'first'],
    ['nothing', () => undefined],
    ['a function of its own', () => () => 1],
  ])('refuses %s', async (_what, step) => {
    const instance = sampleInstance()
    await expect(instance.output(step(instance))).rejects.toThrow(InvalidArgumentError)
  })
})

describe('flow control', () => {
  test.each<[string, any[], object]>([
    ['cancel', ['no stock'], { reason: 'no stock' }],
    ['cancel', [], {}],
    ['pause', ['look at this'], { reason: 'look at this' }],
    ['skip', [], {}],
    ['finish', [{ done: true }], { result: { done: true } }],
    ['finish', [], {}],
    ['restart', [{ month: 2 }, { wait: '1s' }], { result: { month: 2 }, waitMs: 1000 }],
    ['reattempt', [], {}],
    ['reattempt', [{ wait: '5 min' }], { waitMs: 300_000 }],
    ['reattempt', [{}], {}],
    ['reattempt', [{ rewind: true }], { rewind: true }],
    ['reattempt', [{ rewind: 'yes' }], {}],
    ['cancel', [404], { reason: '404' }],
  ])('%s(%j) throws and is recorded', (action, given, expected) => {
    const context = sampleContext()
    const instance = sampleInstance(context)
    const thrown = thrownBy(() => instance[action](...given))
    expect(thrown).toBeInstanceOf(FlowControl)
    const usual = { action, reason: null, waitMs: 0, rewind: false, result: undefined }
    expect({ ...(thrown as FlowControl) }).toEqual({ ...usual, ...expected })
    expect(context.flowControl).toBe(thrown)
  })

  test('is no error, and is recognised by its brand', () => {
    const thrown = thrownBy(() => sampleInstance().skip())
    expect(thrown).not.toBeInstanceOf(Error)
    expect(isFlowControl(thrown)).toBe(true)
    for (const other of [new Error('x'), { action: 'skip' }, null, undefined, 'skip'])
      expect(isFlowControl(other)).toBe(false)
  })

  test('counts even when its throw is swallowed, and the first one wins', () => {
    const context = sampleContext()
    const instance = sampleInstance(context)
    const first = thrownBy(() => instance.cancel('first'))
    const second = thrownBy(() => instance.finish('second'))
    expect(context.flowControl).toMatchObject({ action: 'cancel', reason: 'first' })
    expect(second).toBe(first)
  })

  test('with a wait that makes no sense is an ordinary error, and nothing is recorded', () => {
    const context = sampleContext()
    expect(() => sampleInstance(context).reattempt({ wait: -1 })).toThrow(InvalidArgumentError)
    expect(context.flowControl).toBeNull()
  })
})

describe('a test', () => {
  test('may be a constant, a method or a function, and may be asynchronous', async () => {
    const instance = sampleInstance(sampleContext({ input: { wanted: 1 } }))
    expect(await evaluateTest(true, instance)).toBe(true)
    expect(await evaluateTest(false, instance)).toBe(false)
    expect(await evaluateTest('yes', instance)).toBe(true)
    expect(await evaluateTest(workflow => workflow.input.wanted, instance)).toBe(true)
    expect(await evaluateTest(async workflow => workflow.input.missing, instance)).toBe(false)
  })

  test('is called as a method of the instance', async () => {
    class Asking extends Workflow {
      isSeven() {
        return this.id === '7'
      }
    }
    expect(await evaluateTest('isSeven', instantiate(definitionOf(Asking), sampleContext()))).toBe(true)
  })

  test('lets through what it throws', async () => {
    const failing = () => {
      throw new Error('in the test')
    }
    await expect(evaluateTest(failing, sampleInstance())).rejects.toThrow('in the test')
  })
})
