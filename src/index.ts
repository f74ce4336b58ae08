/**
 * The public API of geneva-drive, every name listed.
 */

export type { Bulk, BulkFilter, BulkOptions, BulkReport } from './client/bulk.ts'
export type { GenevaOptions } from './client/connection.ts'
export type { DeadLetter, DeadLetterDetail, DeadLetterOptions, DiscardOptions } from './client/dead-letters-list.ts'
export type { Execution, WorkflowEvent } from './client/execution.ts'
export type { ExecutionsOfOptions, ExecutionsOptions, ListedExecution } from './client/executions-list.ts'
export type { ExplainFilter } from './client/explain-many.ts'
export { Geneva } from './client/geneva.ts'
export type {
  Authorize,
  Caller,
  FetchHandler,
  HandlerOptions,
  Role,
  RouteClaim,
} from './client/handler-options.ts'
export type { Health, HealthStatus } from './client/health.ts'
export type { NodeState, NodeWithState } from './client/nodes-with-state.ts'
export type { QueueStatus, Queues } from './client/queues.ts'
export type { ImportOptions, RequestOptions, ResolveOptions } from './client/request-options.ts'
export type { RequeueOptions } from './client/requeue-letter.ts'
export type { PruneOptions, PruneReport, RetentionOptions } from './client/retention.ts'
export type { ScheduleStatus } from './client/schedules.ts'
export type { Schema } from './client/schema.ts'
export type { NamedStart, NamedStartOptions } from './client/start-by-name.ts'
export type { FailureStats, NodeStats, QueueStats, Spread, Stats, StatsOptions } from './client/stats.ts'
export type { StepProgress } from './client/step-progress.ts'
export type { StuckOptions, StuckWork } from './client/stuck.ts'
export type { Approval } from './client/views/approvals.ts'
export type {
  AttemptOptions,
  AttemptView,
  EventOptions,
  EventView,
  WorkflowEventOptions,
} from './client/views/attempt-view.ts'
export type { ExecutionListOptions, ExecutionSummary } from './client/views/execution-list.ts'
export type { GraphView, GraphViewEdge, GraphViewNode } from './client/views/graph-view.ts'
export type { HeroPage } from './client/views/hero-page.ts'
export type { Change } from './client/views/live-changes.ts'
export type { Overview } from './client/views/overview.ts'
export type { DefinitionDetail, DefinitionStatus, WorkerStatus } from './client/views/process-views.ts'
export type { RequestListOptions, RequestView } from './client/views/request-list.ts'
export type { SeriesPoint } from './client/views/series.ts'
export type { Page, PageOptions as ViewPageOptions, ViewOptions } from './client/views/view-options.ts'
export type { Views } from './client/views/views.ts'
export type { DecisionView, WorkflowDetail } from './client/views/workflow-detail.ts'
export type { CappedCount, HeroName, SummaryPage, WorkflowSummary } from './client/views/workflow-summary.ts'
export type { HeroReference, WorkflowHandle } from './client/workflow-handle.ts'
export type { ListAnyOptions, ListOptions, StateFilter, WorkflowPage } from './client/workflow-list.ts'
export type { Branch, ConditionBranches, DescribeBranch } from './definition/branch.ts'
export type { BuiltGraph } from './definition/built-graph.ts'
export type { ExistingWorkflow } from './definition/child.ts'
export type { Reconciled, Undoing } from './definition/compensation.ts'
export type { Decided, Decision, OneDecision } from './definition/decision.ts'
export { defineForm, type Form } from './definition/define-form.ts'
export {
  type CatchUp,
  defineSchedule,
  type Schedule,
  type ScheduleOptions,
  type Tick,
} from './definition/define-schedule.ts'
export { FlowControl, type FlowControlAction, isFlowControl } from './definition/flow-control.ts'
export type {
  CodeOptions,
  CompensationOptions,
  Escalation,
  ForkOptions,
  HumanOptions,
  JoinNotation,
  JoinOptions,
  StructureOptions,
  WaitForOptions,
} from './definition/flow-options.ts'
export type { FrozenGraph, FrozenNode, FrozenTemplate } from './definition/frozen-graph.ts'
export type {
  DescribeGraphBranch,
  EndedChild,
  FanOutOptions,
  GraphBranch,
  GraphBuilder,
  GraphChildOptions,
  GraphCompensationOptions,
  GraphConditionBranches,
  GraphDefaultOptions,
  GraphForkOptions,
  GraphHero,
  GraphHumanOptions,
  GraphJoinOptions,
  GraphNamedChildOptions,
  GraphWaitForOptions,
  NodeOptions,
  NodeSettings,
} from './definition/graph-builder.ts'
export { defineHero, type HeroId, type HeroOptions, type HeroRef, type HeroType } from './definition/hero.ts'
export type {
  FetchPage,
  Iteration,
  NestedCursor,
  PageOptions,
  RecordSource,
} from './definition/iteration.ts'
export { type DefineJobOptions, defineJob, type Job, type ResumableJobOptions } from './definition/job.ts'
export type { JobContext, JobNode } from './definition/job-context.ts'
export type { KeyLimitOptions, KeySource, LimitOptions, RateLimit } from './definition/limit-options.ts'
export type { Dependency, FanOut, NodeHandle } from './definition/node-handle.ts'
export type { NodeRef } from './definition/node-ref.ts'
export type { OutputReference } from './definition/output-reference.ts'
export type { CustomEventName, CustomEventPayload, Register } from './definition/register.ts'
export type { RetryNotation } from './definition/retry-notation.ts'
export type { Signal } from './definition/signal.ts'
export type { HeroOf, InputOf, StartInput, StartWhat } from './definition/start-types.ts'
export type { ExecutionInfo } from './definition/step-context.ts'
export type { Child, Compensation, OutputOf, StepName } from './definition/step-names.ts'
export type {
  ChildOptions,
  DefaultOptions,
  EachOptions,
  ExceptionNotation,
  JobOptions,
  PolicyNotation,
  ResumableStepOptions,
  ResumableTaskOptions,
  StepOptions,
  TaskOptions,
} from './definition/step-options.ts'
export { defineTemplate, type Template } from './definition/template.ts'
export type { OpenTransaction, SqlTransaction, Transaction } from './definition/transaction.ts'
export { type AnyWorkflow, type ConcreteClass, Workflow, type WorkflowClass } from './definition/workflow.ts'
export type { StepInfo } from './definition/workflow-definition.ts'
export { type DrawOptions, drawGraph } from './drawing/draw-graph.ts'
export type { DrawnState, Picture, PictureNode, StateWord } from './drawing/picture.ts'
export type { CheckFinding, CheckReport, CheckVerdict } from './engine/check-deploy.ts'
export type { Explanation } from './engine/explain-workflows.ts'
export type { FinalizingDecision } from './engine/finalizing.ts'
export type { RollbackStep } from './engine/preview-rollback.ts'
export type { NodeReadiness } from './engine/readiness.ts'
export type { GraphStart } from './engine/start-graphs.ts'
export type { StartOptions } from './engine/start-orders.ts'
export type { HistoryFlaw } from './engine/verify-history.ts'
export type { FailureCause, LimitHolder, StepError, WaitReason } from './engine/wait-reason.ts'
export * from './errors.ts'
export type { ComplaintKind } from './observe/complaint.ts'
export type {
  CustomEvent,
  EngineEvent,
  EngineEvents,
  EventError,
  EventFacts,
  EventHandler,
  EventName,
  GenevaEvent,
  StepEnded,
  StepFailed,
  StepMoved,
  StepStarted,
  TimerMoved,
  WorkflowEnded,
  WorkflowHealed,
  WorkflowMoved,
} from './observe/events.ts'
export type { DoctorFinding, DoctorOptions, DoctorReport } from './observe/examine.ts'
export type { EventsOptions } from './observe/tail-events.ts'
export type { Logger } from './observe/telemetry/log-lines.ts'
export type { OpenTelemetryApi } from './observe/telemetry/open-telemetry-api.ts'
export type { TelemetryOptions } from './observe/telemetry/telemetry.ts'
export type { ErrorRecord } from './primitives/describe-error.ts'
export type { Duration } from './primitives/duration.ts'
export { type DrizzlePage, type DrizzleSource, fromDrizzle } from './records/from-drizzle.ts'
export { fromKysely, type KyselySource } from './records/from-kysely.ts'
export { fromSql, type SqlSource } from './records/from-sql.ts'
export type { RecordPlace } from './records/record-place.ts'
export type { DatabaseOptions } from './store/database-options.ts'
export { urlForms as databaseUrlForms } from './store/open-store.ts'
export type {
  EndedState,
  EndedWorkflowState,
  EngineEventType,
  ExecutionState,
  LetterReason,
  LetterState,
  Outcome,
  WorkflowState,
} from './store/records.ts'
export type { SchemaPlan } from './store/store.ts'
export type { Dispatcher, DispatcherOptions, DueWork } from './worker/dispatcher.ts'
export type { ErrorContext, OnError } from './worker/error-listener.ts'
export type { Worker } from './worker/worker.ts'
export type { WorkerOptions } from './worker/worker-options.ts'
