/** The state of a node, as people see it: that of its latest attempt, or what there is instead of one. */
import type { ExecutionState } from '../store/records.ts'

/** `pending`: nothing has been scheduled yet. `not_taken`: left out, because it came too late or on another way. */
export type NodeState = ExecutionState | 'pending' | 'not_taken'
