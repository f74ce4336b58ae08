/** Answers the tests of `if`, `skipIf` and `cancelIf` for one instance. */
import type { AnyWorkflow } from './workflow.ts'
import type { Test } from './workflow-definition.ts'

/** Awaits the answer and takes it for true or false as `if` would. What the test throws comes through. */
export async function evaluateTest(test: Test, workflow: AnyWorkflow): Promise<boolean> {
  if (typeof test === 'boolean') return test
  const answer =
    typeof test === 'function' ? test(workflow) : (workflow as unknown as Record<string, () => unknown>)[test]?.()
  return Boolean(await answer)
}
