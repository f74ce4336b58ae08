/**
 * Runs a child node of a stored graph: starts the workflow that it names, or waits for one that exists, and hands on what
 * became of it. Order: its `if` or `skipIf`, then the outputs that its arguments refer to. Nothing is written here.
 */
import { normalizePolicy, pausePolicy } from '../definition/exception-policy.ts'
import type { FrozenNode } from '../definition/frozen-graph.ts'
import { fillArgs } from '../definition/node-args.ts'
import { normalizeRetry } from '../definition/retry-policy.ts'
import { type ChildArgs, heroFrom } from '../definition/stored-child.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { isLeftOut, outputOf } from './ask-stored.ts'
import type { ChildHost } from './child-host.ts'
import type { StepRun } from './execute-step.ts'
import type { StoredExecution } from './execute-stored.ts'
import { runChild } from './run-child.ts'
import { failed } from './step-outcome.ts'
import type { StepReport } from './step-report.ts'
import { hasWaited } from './stored-input.ts'

export interface ChildExecution extends StoredExecution {
  readonly children: ChildHost
  readonly maxOutputBytes: number
  mayBegin(): boolean | Promise<boolean>
  /** Comes once the child has finished; what it throws counts as thrown by the node. */
  beforeCall(): void
}

export async function executeChild(execution: ChildExecution, node: FrozenNode): Promise<StepRun> {
  try {
    return { report: await reportOn(execution, node), errors: [], progress: null }
  } catch (thrown) {
    const where = `node ${node.name}`
    const { retry, on_exception: notation } = node
    const policy = notation === undefined ? pausePolicy : normalizePolicy(notation, where)
    const rules = {
      retry: retry === undefined ? null : normalizeRetry(retry, where),
      failures: execution.claimed.execution.failures,
      policyFor: async () => ({ policy, ruleError: null }),
    }
    return { ...(await failed(rules, thrown)), progress: null }
  }
}

async function reportOn(execution: ChildExecution, node: FrozenNode): Promise<StepReport | null> {
  const { name, workflow, wait_timeout_ms: timeoutMs = null } = node
  // Whether it is started was asked before it was waited for.
  const isReached = !hasWaited(execution.claimed.execution.input)
  if (isReached && (await isLeftOut(execution, node))) return { kind: 'skip', by: 'condition', reason: null }
  const answer = execution.mayBegin()
  if (!(typeof answer === 'boolean' ? answer : await answer)) return null
  const start = () => startOf(execution, node)
  const ran = await runChild(execution, { name, workflow: () => workflow, start, timeoutMs })
  if ('kind' in ran) return ran
  execution.beforeCall()
  const { child } = ran
  const output = { id: child.id, result: (await child.result()) ?? null }
  const what = `The output of node ${name} of workflow ${execution.claimed.workflow.id}`
  return { kind: 'completed', output: encodeValue(output, { what, maxBytes: execution.maxOutputBytes }) }
}

async function startOf(execution: ChildExecution, { args }: FrozenNode): Promise<ChildArgs> {
  const filled = (await fillArgs(args, id => outputOf(execution, id))) as ChildArgs
  return 'hero' in filled ? { ...filled, hero: heroFrom(filled.hero) } : filled
}
