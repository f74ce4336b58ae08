/**
 * What people look at, as plain data: pages of workflows, one workflow, its graph, what waits for people, how everything is.
 * Every answer is bounded, whatever the database holds; payloads are in the form in which they are stored. It changes nothing.
 */

import type { Engine } from '../../engine/engine.ts'
import { givenIn } from '../../engine/stored-input.ts'
import type { Opened } from '../connection.ts'
import type { QueueStatus, Queues } from '../queues.ts'
import { takesInput } from '../requeue-letter.ts'
import { type Approval, listApprovals } from './approvals.ts'
import {
  type AllEventOptions,
  type AttemptOptions,
  type AttemptView,
  type EventView,
  listAttempts,
  listEvents,
  listWorkflowEvents,
  type WorkflowEventOptions,
} from './attempt-view.ts'
import { encodedJson } from './encoded.ts'
import { type ExecutionListOptions, type ExecutionSummary, listExecutions } from './execution-list.ts'
import { GapMemories } from './gap-memories.ts'
import { graphStates } from './graph-states.ts'
import { type FoldOptions, type GraphView, graphView } from './graph-view.ts'
import { type HeroPage, heroPage } from './hero-page.ts'
import { type Change, LiveChanges } from './live-changes.ts'
import { type Charts, chartsOf, type Overview, type Standing, standingOf } from './overview.ts'
import {
  type DefinitionDetail,
  type DefinitionStatus,
  definitionDetail,
  listDefinitions,
  listWorkers,
  type WorkerStatus,
} from './process-views.ts'
import { listRequests, type RequestListOptions, type RequestView } from './request-list.ts'
import { Series } from './series.ts'
import { SharedLook } from './shared-look.ts'
import type { Page, PageOptions, ViewOptions } from './view-options.ts'
import { foundWorkflow, type WorkflowDetail, workflowDetail } from './workflow-detail.ts'
import { type CappedCount, countWorkflows, type HeroName, listSummaries, type SummaryPage } from './workflow-summary.ts'

export class Views {
  readonly #open: () => Promise<Opened>
  readonly #live: LiveChanges
  readonly #gaps = new GapMemories()
  readonly #standing: SharedLook<Standing>
  readonly #charts: SharedLook<Charts>
  readonly #queues: SharedLook<QueueStatus[]>

  constructor(open: () => Promise<Opened>, queues: Queues) {
    this.#open = open
    this.#live = new LiveChanges(async () => (await this.#engine()).store)
    const series = new Series()
    this.#standing = new SharedLook(async () => standingOf(await this.#engine(), queues))
    this.#charts = new SharedLook(async () => chartsOf((await this.#engine()).store, series))
    this.#queues = new SharedLook(() => queues.list())
  }

  /** Newest first. A page may be short before the last one: looking for what is rare has its time. */
  async workflows(options: ViewOptions & PageOptions = {}): Promise<SummaryPage> {
    return listSummaries((await this.#engine()).store, options)
  }

  /** Up to 10,000. */
  async count(options: ViewOptions = {}): Promise<CappedCount> {
    return countWorkflows((await this.#engine()).store, options)
  }

  /** Throws `WorkflowNotFoundError`. */
  async workflow(id: string): Promise<WorkflowDetail> {
    return workflowDetail(await this.#engine(), id)
  }

  /** The graph with the states of its nodes, large fan-outs folded. Throws `WorkflowNotFoundError`. */
  async graph(id: string, options?: FoldOptions): Promise<GraphView> {
    const { courses, store } = await this.#engine()
    const { workflow } = await foundWorkflow(store, id)
    const { graph } = await courses.one(workflow)
    return graphView(graph, await graphStates(store, workflow), options)
  }

  /** Attempts with their payloads, oldest first, compensations among them. */
  async history(id: string, options: AttemptOptions = {}): Promise<Page<AttemptView>> {
    return listAttempts((await this.#engine()).store, id, options)
  }

  async eventsOf(id: string, options: WorkflowEventOptions = {}): Promise<Page<EventView>> {
    return listWorkflowEvents((await this.#engine()).store, id, options)
  }

  async events(options: AllEventOptions = {}): Promise<Page<EventView>> {
    return listEvents((await this.#engine()).store, this.#gaps, options)
  }

  /** Executions of all workflows by state, those that have not ended unless it says otherwise. A page may be short, as above. */
  async executions(options: ExecutionListOptions = {}): Promise<Page<ExecutionSummary>> {
    return listExecutions((await this.#engine()).store, options)
  }

  /** What waits for people. */
  async approvals(options: PageOptions = {}): Promise<Page<Approval>> {
    return listApprovals(await this.#engine(), options)
  }

  /** Everything that ever happened to a record. */
  async hero(hero: HeroName, options: PageOptions = {}): Promise<HeroPage> {
    return heroPage((await this.#engine()).store, hero, options)
  }

  /** What an execution that has ended worked on, encoded; `null` where that was its workflow's input alone, and for compensations. */
  async inputOf(executionId: string): Promise<unknown> {
    const { store } = await this.#engine()
    const ended = await store.findEnded(executionId)
    return encodedJson(givenIn(ended?.input ?? null))
  }

  /** Whether a dead letter can be requeued with another input. Throws `LetterNotFoundError`. */
  async takesInput(letterId: string): Promise<boolean> {
    const engine = await this.#engine()
    return takesInput(engine, await engine.findLetter(letterId))
  }

  async workers(): Promise<WorkerStatus[]> {
    return listWorkers((await this.#engine()).store)
  }

  async definitions(): Promise<DefinitionStatus[]> {
    return listDefinitions(await this.#engine())
  }

  /** `null` for a type that no process has ever registered. */
  async definition(type: string, options?: FoldOptions): Promise<DefinitionDetail | null> {
    return definitionDetail(await this.#engine(), type, options)
  }

  /** At most a second old, or as old as twenty times what it takes to look. */
  async overview(): Promise<Overview> {
    const [standing, charts] = await Promise.all([this.#standing.get(), this.#charts.get()])
    return { ...standing, ...charts }
  }

  /** The same as `geneva.queues.list()`, shared like the overview. */
  async queues(): Promise<QueueStatus[]> {
    return this.#queues.get()
  }

  /** Who changed queues and schedules or removed workflows, and why, newest first. */
  async requests(options: RequestListOptions = {}): Promise<Page<RequestView>> {
    return listRequests((await this.#engine()).store, options)
  }

  /** Something was changed here: the next look is a new one. */
  forget(): void {
    this.#standing.forget()
    this.#queues.forget()
  }

  /** Calls the listener about once a second while a workflow changes, or anything (`null`). Returns a function that ends it; `onEnd` hears that it is all over. */
  watch(workflowId: string | null, listener: (change: Change) => void, onEnd: () => void = () => {}): () => void {
    return this.#live.watch(workflowId, listener, onEnd)
  }

  async #engine(): Promise<Engine> {
    return (await this.#open()).engine
  }
}
