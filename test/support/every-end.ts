/** Brings workflows to every end that there is. */
import type { WorkflowHandle } from '../../src/index.ts'
import { type EndedWorkflowState, endedWorkflowStates } from '../../src/store/records.ts'

/** `start` begins one that finishes, or fails and is rolled back, when it is run. */
export async function reachEveryEnd(
  start: (end: 'finished' | 'failed') => Promise<WorkflowHandle>,
  run: () => Promise<unknown>,
): Promise<Map<EndedWorkflowState, WorkflowHandle>> {
  const ways: Record<EndedWorkflowState, () => Promise<WorkflowHandle>> = {
    finished: () => start('finished'),
    failed: () => start('failed'),
    canceled: async () => (await start('finished')).cancel(),
    aborted: async () => (await start('finished')).abort(),
  }
  const ended = new Map<EndedWorkflowState, WorkflowHandle>()
  for (const state of endedWorkflowStates) {
    const wf = await ways[state]()
    await run()
    if ((await wf.refresh()).state !== state) throw new Error(`Workflow ${wf.id} is ${wf.state} instead of ${state}.`)
    ended.set(state, wf)
  }
  return ended
}
