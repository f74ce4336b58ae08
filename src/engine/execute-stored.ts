/**
 * Runs a node of a stored graph that has no code of the application: a condition is answered by its expression, a human or
 * signal node begins to wait or has waited in vain, and forks, joins and save points are done. Nothing is written here.
 */
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import type { FrozenGraph, FrozenNode } from '../definition/frozen-graph.ts'
import type { GraphNode } from '../definition/graph.ts'
import { isGenevaError, NothingCameError, StepMissingError } from '../errors.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import { type Asking, answerTo, isLeftOut } from './ask-stored.ts'
import type { StepRun } from './execute-step.ts'
import { failed } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import { cameIn } from './stored-input.ts'

export interface StoredExecution extends Asking {
  readonly frozen: FrozenGraph | null
}

export async function executeStored(execution: StoredExecution): Promise<StepRun> {
  const { claimed, frozen, graph } = execution
  const { node: id, failures } = claimed.execution
  const node = graph.find(id)
  const stored = frozen?.nodes[id]
  try {
    if (node === null || stored === undefined)
      throw new StepMissingError(claimed.workflow.id, claimed.workflow.type, id)
    return { report: await reportOn(execution, node, stored), errors: [], progress: null }
  } catch (thrown) {
    const policyFor = async () => ({ policy: policyOf(stored, thrown), ruleError: null })
    return { ...(await failed({ retry: null, failures, policyFor }, thrown)), progress: null }
  }
}

async function reportOn(execution: StoredExecution, node: GraphNode, stored: FrozenNode): Promise<StepReport> {
  const { execution: row, workflow } = execution.claimed
  if (node.kind === 'human' || node.kind === 'signal') {
    // What has come has ended it already, so all that is left is that nothing came.
    if (cameIn(row.input) === null) {
      return (await isLeftOut(execution, stored)) ? { kind: 'skip', by: 'condition', reason: null } : { kind: 'wait' }
    }
    throw new NothingCameError(workflow.id, node.name, describeSpan(node.waitTimeoutMs ?? 0))
  }
  if (node.test === undefined) return { kind: 'completed', output: null }
  const result = await answerTo(execution, node.test, stored.args)
  return { kind: 'completed', output: String(result), result }
}

/** What follows when nothing came in time may be said apart. */
function policyOf(stored: FrozenNode | undefined, thrown: unknown) {
  const onTimeout = isGenevaError(thrown, 'NOTHING_CAME') ? stored?.on_timeout : undefined
  const notation = onTimeout ?? stored?.on_exception
  return notation === undefined ? pausePolicy : normalizePolicy(notation, `node ${stored?.name}`)
}
