/**
 * Calls the body of a step between its hooks: all `beforeEach`, then `aroundEach` from the outside in, the body, then
 * all `afterEach`.
 */
import type { AnyWorkflow } from '../definition/workflow.ts'
import type { NodeDefinition, StepInfo, WorkflowDefinition } from '../definition/workflow-definition.ts'
import { InvalidArgumentError } from '../errors.ts'
import { failpoint } from '../primitives/failpoint.ts'

export interface BodyCall {
  readonly definition: WorkflowDefinition
  readonly node: NodeDefinition
  readonly workflow: AnyWorkflow
  readonly attempt: number
}

/** Returns what the body returned, whatever the hooks around it return. */
export async function runBody({ definition, node, workflow, attempt }: BodyCall): Promise<unknown> {
  const step: StepInfo = { name: node.name, attempt }
  for (const hook of definition.beforeEach) await hook(workflow, step)
  let output: unknown
  let next = async (): Promise<unknown> => {
    output = await callBody(node, workflow)
    return output
  }
  for (const hook of definition.aroundEach.toReversed()) {
    const inner = once(next, node)
    next = async () => {
      const returned = await hook(workflow, step, inner.call)
      if (!inner.called())
        throw new InvalidArgumentError(`An aroundEach hook of step ${node.name} did not call \`next\`.`)
      return returned
    }
  }
  await next()
  for (const hook of definition.afterEach) await hook(workflow, step)
  return output
}

async function callBody(node: NodeDefinition, workflow: AnyWorkflow): Promise<unknown> {
  const { body } = node
  if (failpoint) queueMicrotask(() => failpoint?.('step.inside'))
  if (typeof body === 'function') return await body(workflow)
  return await (workflow as unknown as Record<string, () => unknown>)[body]?.()
}

function once(next: () => Promise<unknown>, node: NodeDefinition) {
  let called = false
  return {
    called: () => called,
    call: () => {
      if (called) throw new InvalidArgumentError(`An aroundEach hook of step ${node.name} called \`next\` twice.`)
      called = true
      return next()
    },
  }
}
