/** Decides what happens after a step has thrown: the step's own rules first, then those of the class, then `pause`. */
import { normalizePolicy, pausePolicy } from './exception-policy.ts'
import type { ExceptionPolicy, ExceptionRule, NodeDefinition, WorkflowDefinition } from './workflow-definition.ts'

export interface ResolvedPolicy {
  readonly policy: ExceptionPolicy
  /** What went wrong while picking a policy, boxed because anything can be thrown, also `undefined`. */
  readonly ruleError: { readonly thrown: unknown } | null
}

/** Never throws: a rule that fails means `pause`, with its own error beside the step's. */
export async function resolvePolicy(
  definition: WorkflowDefinition,
  node: NodeDefinition,
  error: unknown,
): Promise<ResolvedPolicy> {
  const rules = [...node.onException, ...definition.onException]
  return policyIn(rules, error, `${definition.type}, step ${node.name}`)
}

/** The first rule that speaks for the error decides. Never throws. */
export async function policyIn(
  rules: readonly ExceptionRule[],
  error: unknown,
  where: string,
): Promise<ResolvedPolicy> {
  try {
    const rule = rules.find(speaksFor(error))
    if (!rule) return { policy: pausePolicy, ruleError: null }
    if (typeof rule.policy !== 'function') return { policy: rule.policy, ruleError: null }
    const picked = (await rule.policy(error)) ?? null
    const returned = `${where}, what onException returned`
    return { policy: picked === null ? pausePolicy : normalizePolicy(picked, returned), ruleError: null }
  } catch (thrown) {
    return { policy: pausePolicy, ruleError: { thrown } }
  }
}

function speaksFor(error: unknown): (rule: ExceptionRule) => boolean {
  return rule => rule.errorClass === null || error instanceof rule.errorClass
}
