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
  readonly node: Pick<NodeDefinition, 'name' | 'body'>
  readonly workflow: AnyWorkflow
  readonly step: StepInfo
  /** What the method receives, if anything. */
  readonly args: readonly unknown[]
  /** Told right before the method is called, if it is: a hook may keep it from that. */
  readonly begins?: { begins(): void } | null
}

/** Returns what the body returned, or a promise of it, whatever the hooks around it return. */
export function runBody(call: BodyCall): unknown {
  const { beforeEach, aroundEach, afterEach } = call.definition
  const isPlain = beforeEach.length === 0 && aroundEach.length === 0 && afterEach.length === 0
  return isPlain ? callBody(call) : runHooked(call)
}

async function runHooked(call: BodyCall): Promise<unknown> {
  const { definition, node, workflow, step } = call
  for (const hook of definition.beforeEach) await hook(workflow, step)
  let output: unknown
  let next = async (): Promise<unknown> => {
    output = await callBody(call)
    return output
  }
  for (const hook of definition.aroundEach.toReversed()) {
    const inner = once(next, node)
    next = async () => {
      const returned = await hook(workflow, step, inner.call)
      // A hook that forgot to wait must not end the step before its body. One that waited may handle what it threw.
      await inner.ended()
      if (!inner.called())
        throw new InvalidArgumentError(`An aroundEach hook of step ${node.name} did not call \`next\`.`)
      return returned
    }
  }
  await next()
  for (const hook of definition.afterEach) await hook(workflow, step)
  return output
}

function callBody({ node: { body }, workflow, args, begins }: BodyCall): unknown {
  begins?.begins()
  if (failpoint) queueMicrotask(() => failpoint?.('step.inside'))
  if (typeof body === 'function') return body(workflow, args[0])
  if (body === null) return undefined
  return (workflow as unknown as Record<string, (...args: unknown[]) => unknown>)[body]?.(...args)
}

function once(next: () => Promise<unknown>, node: BodyCall['node']) {
  let running: Promise<unknown> | null = null
  let settled = false
  return {
    called: () => running !== null,
    ended: async () => {
      if (!settled) await running
    },
    call: () => {
      if (running) throw new InvalidArgumentError(`An aroundEach hook of step ${node.name} called \`next\` twice.`)
      running = next()
      const settle = () => {
        settled = true
      }
      running.then(settle, settle)
      return running
    },
  }
}
