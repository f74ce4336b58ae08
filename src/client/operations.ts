/** All that an operator's tool asks of a Geneva, by ids and names, without any class at hand: what the HTTP API is made of. */
import type { DrawOptions } from '../drawing/draw-graph.ts'
import type { Explanation } from '../engine/explain-workflows.ts'
import type { Bulk, BulkFilter } from './bulk.ts'
import type { Health } from './health.ts'
import type { Queues } from './queues.ts'
import type { PruneOptions, PruneReport } from './retention.ts'
import type { Schedules } from './schedules.ts'
import type { NamedStart, NamedStartOptions } from './start-by-name.ts'
import type { Steering } from './steering.ts'
import type { Views } from './views/views.ts'
import type { WorkflowHandle } from './workflow-handle.ts'

type Verbs =
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'abort'
  | 'skip'
  | 'resolve'
  | 'reattempt'
  | 'decide'
  | 'signal'
  | 'previewRollback'
  | 'deadLetters'
  | 'deadLetter'
  | 'requeue'
  | 'discard'

export interface Operations extends Pick<Steering, Verbs> {
  readonly views: Views
  readonly queues: Queues
  readonly schedules: Schedules
  all(filter: BulkFilter): Bulk
  startByName(type: string, what?: NamedStart, options?: NamedStartOptions): Promise<WorkflowHandle<any>>
  explain(id: string): Promise<Explanation>
  draw(id: string, options?: DrawOptions): Promise<string>
  prune(options: PruneOptions): Promise<PruneReport>
  health(): Promise<Health>
  metrics(): Promise<string>
}
