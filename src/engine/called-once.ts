/** What becomes of the report of code that must not be called twice, and of what its own code says about a lost call. */
import { InvalidArgumentError } from '../errors.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { StepReport } from './step-report.ts'

/** A call that was cut off may have happened; and a policy cannot call it again. */
export function calledOnce(report: StepReport | null): StepReport | null {
  if (report?.kind !== 'threw') return report
  const { policy } = report
  const again = policy.action === 'reattempt' ? { policy: { ...policy, action: policy.then } } : {}
  return { ...report, ...again, ...(report.timedOut ? { unknown: true } : {}) }
}

interface Asked {
  readonly execution: Pick<ActiveExecution, 'node' | 'workflowId'>
  /** The method or job that was asked. */
  readonly by: string
  encode(value: unknown): string | null
}

/** `null`: the lost call did not happen. Throws `InvalidArgumentError` for what is no answer. */
export function reconciled(answer: unknown, { execution, by, encode }: Asked): StepReport | null {
  const { happened, output } = (answer ?? {}) as { happened?: unknown; output?: unknown }
  if (typeof happened !== 'boolean') {
    throw new InvalidArgumentError(
      `${by}, which reconciles ${execution.node} of workflow ${execution.workflowId}, must return { happened: true or false, output? }.`,
    )
  }
  return happened ? { kind: 'completed', output: encode(output), resolved: true } : null
}
