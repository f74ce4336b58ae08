/** What is checked when a class is registered, and the registry of classes. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Registry } from '../../../src/definition/registry.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError, UnknownWorkflowError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

function named(name: string, declare: (workflow: any) => void = () => {}) {
  const workflowClass = sampleClass(declare)
  Object.defineProperty(workflowClass, 'name', { value: name })
  return workflowClass
}

describe('registering a class', () => {
  test('gives the same frozen definition each time', () => {
    const Sample = sampleClass(w => w.step('first'))
    const definition = definitionOf(Sample)
    expect(definitionOf(Sample)).toBe(definition)
    for (const part of [definition, definition.nodes, definition.nodes[0], definition.cancelIf, definition.beforeEach])
      expect(Object.isFrozen(part)).toBe(true)
  })

  test('signs the shape of the graph: names, kinds and dependencies, nothing else', () => {
    const signature = (declare: (w: any) => void) => definitionOf(sampleClass(declare)).signature
    const plain = signature(w => [w.step('first'), w.step('second')])
    expect(plain).toBe(
      createHash('sha256')
        .update('[["first","step",null,null,[]],["second","step",null,null,["first"]]]')
        .digest('hex'),
    )
    expect(signature(w => [w.step('second'), w.step('first', { wait: 5, beforeStep: 'second' })])).toBe(plain)
    expect(signature(w => [w.step('second'), w.step('first')])).not.toBe(plain)
    expect(signature(w => [w.step('first'), w.task('second', { dependsOn: 'first', metadata: { a: 1 } })])).toBe(plain)
    expect(signature(w => [w.step('first'), w.task('second')])).not.toBe(plain)
  })

  test('signs nodes in whatever order they were declared where nothing binds them to one', () => {
    const signature = (declare: (w: any) => void) => definitionOf(sampleClass(declare)).signature
    const join = { dependsOn: ['first', 'second'] }
    const one = signature(w => [w.task('first'), w.task('second'), w.task('third', join)])
    expect(
      signature(w => [w.task('third', { dependsOn: ['second', 'first'] }), w.task('second'), w.task('first')]),
    ).toBe(one)
  })

  test.each<[string, () => unknown, RegExp]>([
    [
      'a step without a method',
      () => sampleClass(w => w.step('missing')),
      /Sample, step missing: there is no such method/,
    ],
    [
      'an arrow function as a step',
      () =>
        class A extends sampleClass(w => w.step('arrow')) {
          arrow = async () => {}
        },
      /arrow: there is no such method/,
    ],
    [
      'a getter as a step',
      () =>
        class A extends sampleClass(w => w.step('got')) {
          get got(): any {
            throw new Error('ran')
          }
        },
      /got: there is no such method/,
    ],
    [
      'a method of Object as a condition',
      () => sampleClass(w => w.step('first', { if: 'toString' })),
      /"toString", which does not exist/,
    ],
    [
      'a condition method that does not exist',
      () => sampleClass(w => w.step('first', { if: 'missing' })),
      /Sample, step first: its condition names the method "missing"/,
    ],
    [
      'a skip condition that does not exist',
      () => sampleClass(w => w.step('first', { skipIf: 'missing' })),
      /"missing"/,
    ],
    [
      'a cancel condition that does not exist',
      () => sampleClass(w => w.cancelIf('missing')),
      /Sample, cancelIf: .*"missing"/,
    ],
    [
      'a result that is no step',
      () => sampleClass(w => w.result('first')),
      /Sample: its result is that of step "first"/,
    ],
    [
      'a method that hides a member of Workflow',
      () =>
        class Hiding extends (sampleClass() as any) {
          cancel() {}
        },
      /Hiding: its member cancel hides/,
    ],
    [
      'a getter of a parent that hides a member of Workflow',
      () =>
        class B extends class A extends (sampleClass() as any) {
          get hero() {
            return 1
          }
        } {},
      /B: its member hero hides/,
    ],
    ['a class without a name', () => named(''), /\(anonymous class\): its stored name is empty/],
    [
      'a constructor that asks for something',
      () =>
        class A extends sampleClass() {
          constructor(readonly_: string) {
            super()
            void readonly_
          }
        },
      /A: its constructor asks for arguments/,
    ],
    ['something that is no workflow class', () => class NotOne {}, /NotOne is not a workflow class/],
    ['something that is no class', () => 'Sample', /Sample is not a workflow class/],
    ['nothing', () => undefined, /undefined is not a workflow class/],
  ])('refuses %s', (_what, make, message) => {
    const made = make() as any
    expect(() => definitionOf(made)).toThrow(message)
    expect(() => definitionOf(made)).toThrow(DefinitionError)
  })

  test('accepts a method of an abstract parent that the class itself has', () => {
    abstract class Base extends Workflow {
      static {
        this.step('done')
      }
      abstract done(): Promise<void>
    }
    class Real extends Base {
      async done() {}
    }
    expect(definitionOf(Real).nodes).toHaveLength(1)
    expect(() => definitionOf(Base)).toThrow(/Base, step done: there is no such method/)
  })
})

describe('a registry', () => {
  test('finds a class by itself, by its stored name and by its former names', () => {
    const Payments = named('Payments', w => w.named('payments', 'PaymentFlow'))
    const registry = new Registry([Payments, named('Orders')])
    const definition = definitionOf(Payments)
    expect(registry.definitions.map(found => found.type)).toEqual(['payments', 'Orders'])
    for (const key of [Payments, 'payments', 'PaymentFlow']) expect(registry.definitionFor(key)).toBe(definition)
    expect(registry.warnings).toEqual([])
  })

  test('says which class or name it does not know', () => {
    const registry = new Registry([named('Orders')])
    expect(() => registry.definitionFor('orders')).toThrow(UnknownWorkflowError)
    expect(() => registry.definitionFor(named('Other'))).toThrow(/The workflow class Other is not registered/)
  })

  test.each<[string, () => any[], RegExp]>([
    ['two classes with one name', () => [named('A1x'), named('A1x')], /A1x and A1x both have the stored name "A1x"/],
    [
      'a former name that is another class',
      () => [named('Old'), named('New', w => w.named('new', 'Old'))],
      /New and Old both/,
    ],
    [
      'a former name of two classes',
      () => [named('One', w => w.named('one', 'x')), named('Two', w => w.named('two', 'x'))],
      /"x"/,
    ],
    [
      'a class given twice',
      () => {
        const One = named('One')
        return [One, One]
      },
      /One is registered twice/,
    ],
    ['a class that cannot run', () => [sampleClass(w => w.step('missing'))], /no such method/],
  ])('refuses %s', (_what, classes, message) => {
    expect(() => new Registry(classes())).toThrow(message)
    expect(() => new Registry(classes())).toThrow(DefinitionError)
  })

  test('warns of class names that look minified, unless they have a stored name', () => {
    const registry = new Registry([named('a'), named('b1'), named('abc'), named('c', w => w.named('c'))])
    expect(registry.warnings).toHaveLength(2)
    expect(registry.warnings[0]).toMatch(/^The class name a looks minified/)
  })
})
