/** What subclasses take from their parents, and that parents never change. */
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Workflow } from '../../../src/definition/workflow.ts'
import { DefinitionError } from '../../../src/errors.ts'

function family() {
  class Parent extends Workflow {
    static {
      this.named('parent', 'oldParent')
      this.jobOptions({ queue: 'users', priority: 3 })
      this.cancelIf(false)
      this.onException([[TypeError, 'cancel']])
      this.beforeEach(() => {})
      this.step('greet')
      this.inline(() => {})
      this.step('leave')
      this.result('greet')
    }
    async greet() {
      return 'hello'
    }
    async leave() {}
  }
  class Child extends Parent {
    static {
      this.step('chat', { afterStep: 'greet' })
      this.inline(() => {})
      this.cancelIf(true)
      this.onException('skip')
      this.jobOptions({ priority: 5 })
      this.allowMultiple()
      this.beforeEach(() => {})
    }
    async chat() {}
  }
  return { Parent, Child }
}

describe('a subclass', () => {
  test('inherits steps, conditions, policies, hooks and job options, and adds its own', () => {
    const definition = definitionOf(family().Child)
    expect(definition.nodes.map(node => node.name)).toEqual(['greet', 'chat', 'step_1', 'leave', 'step_2'])
    expect(definition).toMatchObject({
      queue: 'users',
      priority: 5,
      cancelIf: [false, true],
      allowMultiple: true,
      resultNode: 'greet',
    })
    expect(definition.onException).toHaveLength(2)
    expect(definition.beforeEach).toHaveLength(2)
  })

  test('never changes its parent', () => {
    const { Parent, Child } = family()
    const parent = definitionOf(Parent)
    expect(parent.nodes.map(node => node.name)).toEqual(['greet', 'step_1', 'leave'])
    expect(parent).toMatchObject({ type: 'parent', priority: 3, cancelIf: [false], allowMultiple: false })
    expect(parent.onException).toHaveLength(1)
    expect(parent.beforeEach).toHaveLength(1)
    expect(definitionOf(Child).signature).not.toBe(parent.signature)
  })

  test('does not inherit the stored name', () => {
    expect(definitionOf(family().Child)).toMatchObject({ type: 'Child', formerTypes: [] })
  })

  test('without a static block has what its parent has, under its own name', () => {
    const { Parent } = family()
    class Plain extends Parent {}
    class Plainer extends Plain {}
    expect(definitionOf(Plainer)).toMatchObject({
      type: 'Plainer',
      signature: definitionOf(Parent).signature,
      priority: 3,
    })
    expect(definitionOf(Plainer).workflowClass).toBe(Plainer)
  })

  test('does not see what a sibling declares', () => {
    const { Parent, Child } = family()
    class Sibling extends Parent {
      static {
        this.inline('wave', { beforeStep: 'leave' }, () => {})
      }
    }
    expect(definitionOf(Sibling).nodes.map(node => node.name)).toEqual(['greet', 'step_1', 'wave', 'leave'])
    expect(definitionOf(Child).nodeIndex.has('wave')).toBe(false)
  })

  test('may replace heroes, input, result and flags of its parent', () => {
    class Once extends family().Parent {
      static {
        this.result('leave')
        this.allowMultiple(false)
      }
    }
    expect(definitionOf(Once)).toMatchObject({ resultNode: 'leave', allowMultiple: false })
  })

  test('cannot declare an inherited step again', () => {
    const { Parent } = family()
    expect(
      () =>
        class Again extends Parent {
          static {
            this.step('greet')
          }
        },
    ).toThrow(/^Again, step greet: there is a step of that name already, here or in a parent class/)
  })

  test('can point at a node of its parent by reference, but not at one of a stranger', () => {
    let noted: any
    class Parent extends Workflow {
      static {
        noted = this.inline('note', () => {})
      }
    }
    class Child extends Parent {
      static {
        this.inline('before', { beforeStep: noted }, () => {})
      }
    }
    expect(definitionOf(Child).nodes.map(node => node.name)).toEqual(['before', 'note'])
    expect(
      () =>
        class Stranger extends Workflow {
          static {
            this.inline('note', () => {})
            this.inline('before', { beforeStep: noted }, () => {})
          }
        },
    ).toThrow(/Stranger, step before: beforeStep names a step of another class/)
  })
})

describe('a class takes no more declarations', () => {
  test('when it has been extended', () => {
    const { Parent } = family()
    expect(() => Parent.step('leave')).toThrow(/^Parent takes no more declarations: it has been extended by Child/)
  })

  test('when it has been extended, even if it never declared anything itself', () => {
    const { Parent } = family()
    class Between extends Parent {}
    class Below extends Between {
      static {
        this.inline(() => {})
      }
    }
    expect(() => Between.inline(() => {})).toThrow(/Between takes no more declarations: it has been extended by Below/)
    expect(Below).toBeDefined()
  })

  test('when it has been registered', () => {
    const { Child } = family()
    definitionOf(Child)
    expect(() => Child.allowMultiple()).toThrow(/^Child takes no more declarations: it has been registered/)
    expect(() => Child.inline(() => {})).toThrow(DefinitionError)
  })

  test('when it is Workflow itself', () => {
    expect(() => Workflow.allowMultiple()).toThrow(/^Workflow takes no more declarations: it is the base/)
    expect(() => definitionOf(Workflow)).toThrow(/Workflow itself cannot be registered/)
  })
})
