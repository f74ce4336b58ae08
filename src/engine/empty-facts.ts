/** Facts about a workflow that has no rows: to begin with, or to add to what was read without a lock. */
import type { WorkflowFacts } from '../store/change.ts'
import type { WorkflowRecord } from '../store/records.ts'

export function emptyFacts(workflow: WorkflowRecord): WorkflowFacts {
  return {
    workflow,
    active: [],
    complete: true,
    othersGoOn: false,
    latest: new Map(),
    parents: new Map(),
    letters: [],
    undo: null,
    outworn: [],
    decisions: [],
    signals: [],
    started: new Map(),
    others: new Map(),
    fanIns: new Map(),
    ended: new Map(),
  }
}
