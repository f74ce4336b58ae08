/** Which step of a workflow somebody means who hands over its method, or what its verb returned. */
import { InvalidArgumentError } from '../errors.ts'
import { attachmentOf } from './attached-context.ts'
import type { NodeRef } from './node-ref.ts'
import type { MethodOutput } from './step-names.ts'

/** A step by its method, or by what its verb returned. */
export type ReadableStep = ((...args: any[]) => any) | NodeRef<any>
export type StepOutput<Step> = Step extends NodeRef<infer Output> ? Output : MethodOutput<Step>

/** Finds the step by looking the method up under each name, so that overrides and spies are found as well. */
export function stepOf(workflow: object, step: unknown): string {
  const { definition } = attachmentOf(workflow, 'output')
  const members = workflow as unknown as Record<string, unknown>
  const named = typeof step === 'object' && step !== null ? (step as Partial<NodeRef>).name : undefined
  if (named !== undefined && definition.nodeIndex.has(named)) return named
  const found =
    typeof step === 'function' && definition.nodes.find(node => node.body === node.name && members[node.name] === step)
  if (found) return found.name
  throw new InvalidArgumentError(
    `${definition.type}: output() was given something that is not one of its steps. Pass the method of a step: \`this.output(this.charge)\`.`,
  )
}
