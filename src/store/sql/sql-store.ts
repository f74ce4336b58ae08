/**
 * The store on a SQL database: each verb in a file of its own, gathered here behind the interface.
 */

import type { AssumedFacts, WorkflowChange } from '../change.ts'
import type { DatabaseOptions } from '../database-options.ts'
import type { EventObserver, EventRead, NumberWindow } from '../event-store.ts'
import type { Hints } from '../hints.ts'
import type { ActiveExecution, HeroKey, ParentKey, Progress, StartMark, WorkerRecord } from '../records.ts'
import type { Rounds } from '../rounds.ts'
import type {
  AbandonedWhere,
  AssumedCall,
  ChangeCall,
  ChangeTarget,
  ClaimRequest,
  DefinitionRecord,
  FindCommitted,
  FirstOutputs,
  LetterFilter,
  OpenApplicationTransaction,
  OpenedTransaction,
  RowKey,
  StartCall,
  StartOrder,
  Store,
  TransactionHandle,
  WorkflowFilter,
  WorkInTransaction,
} from '../store.ts'
import { changeAssumed } from './change-assumed.ts'
import { changeWorkflows, type Decide } from './change-workflows.ts'
import { checkpoint, checkpointWith } from './checkpoint.ts'
import { claim, markStarted } from './claim.ts'
import { ClaimFloors } from './claim-floors.ts'
import { SqlContext } from './context.ts'
import { allGraphs, findDefinition, registerDefinitions } from './definitions.ts'
import type { Database, KeyType } from './dialect.ts'
import { frozenGraphs } from './frozen-graphs.ts'
import { inTurn } from './handles/in-turn.ts'
import { IdAllocator, isId } from './ids.ts'
import { countEvents, inspect } from './inspect.ts'
import { isLasting, isTransient } from './is-transient.ts'
import { databaseTime, KnownTime } from './known-time.ts'
import { listLetters } from './letters.ts'
import { checkSchema, migrate, planMigrations, refuseOutgrown } from './migrate.ts'
import { lastEvent, readEvents, settleEvents } from './read-events.ts'
import { readReadiness } from './read-readiness.ts'
import * as reads from './read-workflows.ts'
import { SqlHousekeeping } from './sql-housekeeping.ts'
import { SqlLimits } from './sql-limits.ts'
import { SqlRequests } from './sql-requests.ts'
import { SqlSchedules } from './sql-schedules.ts'
import { startWorkflows } from './start.ts'
import { startInside } from './start-workflows.ts'
import { decisionsOf, decisionsOn, findSignal, signalsOf } from './stored-messages.ts'
import { tables } from './tables.ts'
import { handleOf, transact } from './transact.ts'
import { findUnserved, queuesInLine } from './unserved-lines.ts'
import { SqlViews } from './views/sql-views.ts'
import { watch } from './watches.ts'
import { findAbandoned, heartbeat, heldBy, registerWorker, renewLease, retireWorker } from './workers.ts'

export class SqlStore implements Store {
  readonly #context: SqlContext
  readonly #ids: IdAllocator
  readonly #time: KnownTime
  readonly #floors: ClaimFloors
  readonly #keyType: KeyType | undefined
  readonly hints?: Hints
  readonly schedules: SqlSchedules
  readonly limits: SqlLimits
  readonly housekeeping: SqlHousekeeping
  readonly requests: SqlRequests
  readonly views: SqlViews

  constructor(
    database: Database,
    options: Pick<DatabaseOptions, 'prefix' | 'schema' | 'keyType'>,
    floors = new ClaimFloors(),
  ) {
    this.#floors = floors
    this.#context = new SqlContext(database, tables(options))
    this.#ids = new IdAllocator(this.#context)
    this.#time = new KnownTime(this.#context)
    const hints = database.hints?.(`${this.#context.tables.prefix}hints`)
    if (hints !== undefined) this.hints = hints
    this.#keyType = options.keyType
    this.schedules = new SqlSchedules(this.#context)
    this.limits = new SqlLimits(this.#context)
    this.housekeeping = new SqlHousekeeping(this.#context)
    this.requests = new SqlRequests(this.#context)
    this.views = new SqlViews(this.#context)
  }

  migrate() {
    return migrate(this.#context, this.#keyType)
  }
  checkSchema() {
    return checkSchema(this.#context)
  }
  refuseOutgrown() {
    return refuseOutgrown(this.#context)
  }
  planMigrations() {
    return planMigrations(this.#context, this.#keyType)
  }
  close() {
    return this.#context.database.close()
  }

  isLasting(error: unknown) {
    return isLasting(this.#context.dialect, error)
  }
  get hasOneWriter() {
    return this.#context.dialect.manyWriters !== true
  }

  now() {
    return databaseTime(this.#context)
  }
  nearlyNow() {
    return this.#time.now()
  }
  setClockOffset(offsetMs: number) {
    this.#context.clockOffset = Math.round(offsetMs * 1000)
  }
  isId(id: string) {
    return isId(this.#context, id)
  }
  takeIds(count: number, transaction?: TransactionHandle) {
    if (transaction === undefined) return this.#ids.take(count)
    const handle = handleOf(transaction)
    const executor = this.#context.database.borrow(handle)
    return inTurn(handle, () => this.#ids.takeInside(executor, count))
  }

  start(orders: readonly StartOrder[], options: StartCall = {}) {
    const { transaction } = options
    if (transaction === undefined) return startWorkflows(this.#context, orders, options)
    const handle = handleOf(transaction)
    const executor = this.#context.database.borrow(handle)
    return inTurn(handle, () => startInside(this.#context, executor, orders, options))
  }
  claim(request: ClaimRequest) {
    return claim(this.#context, this.#floors, request)
  }
  checkpoint(execution: ActiveExecution, progress: Progress) {
    return checkpoint(this.#context, execution, progress)
  }
  checkpointWith<Result>(
    execution: ActiveExecution,
    progress: Progress,
    work: WorkInTransaction<Result>,
    open: OpenApplicationTransaction | null = null,
  ) {
    return checkpointWith(this.#context, execution, progress, { work, open })
  }
  transact<Written>(
    open: OpenApplicationTransaction | null,
    work: (opened: OpenedTransaction) => Promise<Written>,
    find: FindCommitted<Written>,
  ) {
    return transact(this.#context, open, work, find)
  }
  isTransient(error: unknown) {
    return isTransient(this.#context.dialect, error)
  }
  markStarted(execution: ActiveExecution, mark: Exclude<StartMark, false> = true) {
    return markStarted(this.#context, execution, mark)
  }
  changeAssumed(facts: readonly AssumedFacts[], changes: readonly WorkflowChange[], call: AssumedCall) {
    return changeAssumed(this.#context, facts, changes, call)
  }

  change(targets: readonly ChangeTarget[], decide: Decide, call?: ChangeCall) {
    return changeWorkflows(this.#context, targets, decide, call)
  }

  watch(workflowId: string, watcher: ParentKey, timerId: string) {
    return watch(this.#context, workflowId, watcher, timerId)
  }

  registerDefinitions(definitions: readonly DefinitionRecord[]) {
    return registerDefinitions(this.#context, definitions)
  }
  findDefinition(type: string) {
    return findDefinition(this.#context, type)
  }

  allGraphs(types: readonly string[]) {
    return allGraphs(this.#context, types)
  }

  frozenGraphs(workflowIds: readonly string[]) {
    return frozenGraphs(this.#context, workflowIds)
  }

  listLetters(filter: LetterFilter) {
    return listLetters(this.#context, filter)
  }

  findUnserved(prefix: string) {
    return findUnserved(this.#context, prefix)
  }

  queuesOf(handlers: readonly string[]) {
    return reads.queuesOf(this.#context, handlers)
  }
  queuesInLine(handlers: readonly string[]) {
    return queuesInLine(this.#context, handlers)
  }

  registerWorker(worker: WorkerRecord) {
    return registerWorker(this.#context, worker)
  }
  heartbeat(workerId: string, leaseMs: number, among?: readonly RowKey[]) {
    return heartbeat(this.#context, { workerId, leaseMs, among })
  }
  renewLease(workerId: string, leaseMs: number) {
    return renewLease(this.#context, workerId, leaseMs)
  }
  heldBy(workerId: string) {
    return heldBy(this.#context, workerId)
  }
  retireWorker(workerId: string) {
    return retireWorker(this.#context, workerId)
  }
  findAbandoned(handlers: readonly string[], limit: number, where: AbandonedWhere = {}) {
    return findAbandoned(this.#context, handlers, { limit, ...where })
  }

  findOutdated(generations: ReadonlyMap<string, number>, limit: number) {
    return reads.findOutdated(this.#context, generations, limit)
  }

  readiness(workflowIds: readonly string[]) {
    return readReadiness(this.#context, workflowIds)
  }

  findWorkflow(id: string) {
    return reads.findWorkflow(this.#context, id)
  }
  findByHero(types: readonly string[] | null, hero: HeroKey | null) {
    return reads.findByHero(this.#context, types, hero)
  }
  listWorkflows(filter: WorkflowFilter) {
    return reads.listWorkflows(this.#context, filter)
  }
  workflowStates(ids: readonly string[]) {
    return reads.workflowStates(this.#context, ids)
  }
  activeExecutions(workflowId: string) {
    return reads.activeExecutions(this.#context, workflowId)
  }
  history(workflowId: string) {
    return reads.history(this.#context, workflowId)
  }
  events(workflowId: string) {
    return reads.events(this.#context, workflowId)
  }
  readEvents(read: EventRead) {
    return readEvents(this.#context, read)
  }
  lastEvent() {
    return lastEvent(this.#context)
  }
  settleEvents(window: NumberWindow) {
    return settleEvents(this.#context, window)
  }
  observe(observer: EventObserver | null) {
    this.#context.observer = observer
  }
  inspect(workflowIds: readonly string[], locked: boolean) {
    return inspect(this.#context, workflowIds, locked)
  }
  countEvents(workflowIds: readonly string[]) {
    return countEvents(this.#context, workflowIds)
  }
  findEnds(ids: readonly string[]) {
    return reads.findEnds(this.#context, ids)
  }

  findOutput(workflowId: string, node: string | null, rounds: Rounds) {
    return reads.findOutput(this.#context, workflowId, node, rounds)
  }
  findActive(executionId: string) {
    return reads.findActive(this.#context, executionId)
  }
  async decisions(of: { readonly workflowId: string } | { readonly executionId: string }) {
    if ('workflowId' in of) return decisionsOf(this.#context, of.workflowId)
    return decisionsOn(this.#context, statement => this.#context.read(statement), [of.executionId])
  }
  signals(workflowId: string) {
    return signalsOf(this.#context, workflowId)
  }
  findSignal(id: string) {
    return findSignal(this.#context, id)
  }
  findAncestors(ids: readonly string[]) {
    return reads.findAncestors(this.#context, ids)
  }

  findEnded(executionId: string) {
    return reads.findEnded(this.#context, executionId)
  }
  findOutputs(workflowId: string, prefix: string, rounds: Rounds) {
    return reads.findOutputs(this.#context, workflowId, prefix, rounds)
  }
  findFirstOutputs(workflowId: string, first: FirstOutputs, rounds: Rounds) {
    return reads.findFirstOutputs(this.#context, workflowId, first, rounds)
  }
  findItems(workflowId: string, rounds: Rounds) {
    return reads.findItems(this.#context, workflowId, rounds)
  }
  input(workflowId: string) {
    return reads.workflowInput(this.#context, workflowId)
  }
  tags(workflowId: string) {
    return reads.workflowTags(this.#context, workflowId)
  }
  nextDueAt(workflowId?: string) {
    return reads.nextDueAt(this.#context, workflowId)
  }
}
