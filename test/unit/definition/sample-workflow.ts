/** Classes and contexts for the tests of this folder. */
import type { StepContext } from '../../../src/definition/step-context.ts'
import { Workflow } from '../../../src/definition/workflow.ts'

/** A class with a static block that the compiler does not check, as plain JavaScript would have it. */
export function sampleClass(declare: (workflow: any) => void = () => {}) {
  return class Sample extends Workflow<any, any> {
    static {
      declare(this)
    }
    async first() {
      return 1
    }
    async second() {}
    async third() {}
    yes() {
      return true
    }
  }
}

export function sampleContext(overrides: Partial<StepContext> = {}): StepContext {
  return {
    heroKey: null,
    workflowId: '7',
    execution: { id: '8', node: 'first', attempt: 1, idempotencyKey: 'key' },
    signal: new AbortController().signal,
    input: {},
    hero: () => null,
    output: async () => undefined,
    emitted: [],
    hasEnded: false,
    addEvent: () => {},
    transaction: null,
    flowControl: null,
    ...overrides,
  }
}
