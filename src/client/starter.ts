/**
 * Starts workflows: one, many, or inside the application's transaction. Starts that are asked for at the same time are
 * written together.
 */
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import type { Engine } from '../engine/engine.ts'
import { idsFor, type Prepared, prepareStart, type StartOptions, startOrder } from '../engine/start-orders.ts'
import { traced } from '../engine/tracing.ts'
import { IdempotencyConflictError, InvalidArgumentError, WorkflowAlreadyActiveError } from '../errors.ts'
import { type Attempt, ForGood, growingRest, NotYet } from '../primitives/batch-group.ts'
import { Batcher } from '../primitives/batcher.ts'
import { canonicalValue, decodeValue } from '../primitives/json-codec.ts'
import type { WorkflowRecord } from '../store/records.ts'
import type { StartOrder, StartResult } from '../store/store.ts'
import { startClaimed } from './start-claimed.ts'

type What = { readonly hero?: unknown; readonly input?: unknown }

const maxMany = 10_000
const maxGroup = 250
/** Then another group goes out beside the first, so that neither side waits for the other. */
const crowd = 100
/** Where there are many connections. Others are for reports, claims and heartbeats. */
const mostWrites = 2
/** After that, those which others keep waiting go out again, in smaller groups or after a rest. */
const patienceMs = 1500
const longestRestMs = 1000
/** How long a start waits for others, such as an open transaction of the application that has started for the same hero. */
const longestWaitMs = 180_000
/** Well below what servers accept in one packet. */
const maxBytes = 4 * 1024 * 1024

export class Starter {
  readonly #engine: Engine
  readonly #maxInputBytes: number
  readonly #batcher: Batcher<StartOrder, StartResult>

  constructor(engine: Engine, maxInputBytes: number) {
    this.#engine = engine
    this.#maxInputBytes = maxInputBytes
    const { limit: connections = Infinity } = engine.store.housekeeping.poolUse() ?? {}
    this.#batcher = new Batcher({
      write: (orders, attempt) => this.#write(orders, attempt),
      maxGroup,
      crowd,
      mostWrites: Math.min(mostWrites, Math.max(1, Math.floor(connections / 5))),
      mostLong: 1,
      kinOf: ({ id, type, hero }) => (hero === null ? id : `${type} ${hero.type} ${hero.idText}`),
      sizeOf: order => order.input?.length ?? 0,
      maxBytes,
    })
  }

  /**
   * Starts that others keep waiting are parted from those that they do not, and wait without a connection. Those for one hero wait for
   * the same, and their patience ends at once. Where there is one writer everybody does.
   */
  async #write(orders: readonly StartOrder[], attempt: Attempt): Promise<StartResult[]> {
    try {
      return await startClaimed(this.#engine, orders, { repeated: attempt.again, patienceMs })
    } catch (error) {
      const { store } = this.#engine
      const waitForTheSame = attempt.kins.length === 1 || store.hasOneWriter
      if (!waitForTheSame || !store.isTransient(error)) throw error
      if (performance.now() - attempt.firstAt > longestWaitMs) throw new ForGood(error)
      throw new NotYet(error, { restMs: growingRest(attempt, longestRestMs), ofKin: true })
    }
  }

  /** A new workflow, or the one that the idempotency key belongs to. */
  start(definition: WorkflowDefinition, what: What, options: StartOptions): Promise<WorkflowRecord> {
    return this.#traced(definition.type, trace => this.#start(definition, what, options, trace))
  }

  async #start(
    definition: WorkflowDefinition,
    what: What,
    options: StartOptions,
    trace: string | null,
  ): Promise<WorkflowRecord> {
    const prepared = await prepareStart(definition, what, options, this.#maxInputBytes)
    const [order] = await this.#orders({ definition, trace }, [prepared], options.transaction)
    if (order === undefined) throw new InvalidArgumentError('Nothing to start.')
    const result =
      options.transaction === undefined
        ? await this.#batcher.add(order)
        : (await this.#engine.store.start([order], { transaction: options.transaction }))[0]
    return accept(order, prepared, result)
  }

  /** A new workflow, or the one that the idempotency key belongs to. */
  startPrepared(order: StartOrder, prepared: Prepared, transaction?: object): Promise<WorkflowRecord> {
    return this.#startOne(order, transaction, result => accept(order, prepared, result))
  }

  /** A new workflow from an order that is complete. */
  startOrder(order: StartOrder, transaction?: object): Promise<WorkflowRecord> {
    return this.#startOne(order, transaction, result => {
      if (result?.kind !== 'started') throw conflict(order, result)
      return result.workflow
    })
  }

  #startOne(
    order: StartOrder,
    transaction: object | undefined,
    take: (result: StartResult | undefined) => WorkflowRecord,
  ): Promise<WorkflowRecord> {
    return this.#traced(order.type, async trace => {
      const orders = [{ ...order, trace }]
      const started =
        transaction === undefined
          ? startClaimed(this.#engine, orders, {})
          : this.#engine.store.start(orders, { transaction })
      return take((await started)[0])
    })
  }

  #traced(type: string, work: (trace: string | null) => Promise<WorkflowRecord>): Promise<WorkflowRecord> {
    return traced(this.#engine.tracing, type, work, workflow => [workflow.id])
  }

  /** All or none: the first conflict undoes the whole call. */
  startMany(definition: WorkflowDefinition, whats: readonly What[], options: StartOptions): Promise<WorkflowRecord[]> {
    const start = (trace: string | null) => this.#startMany(definition, whats, options, trace)
    return traced(this.#engine.tracing, definition.type, start, workflows => workflows.map(({ id }) => id))
  }

  async #startMany(
    definition: WorkflowDefinition,
    whats: readonly What[],
    options: StartOptions,
    trace: string | null,
  ): Promise<WorkflowRecord[]> {
    if (!Array.isArray(whats) || whats.length > maxMany) {
      throw new InvalidArgumentError(
        `startMany takes an array of at most ${maxMany} workflows. Call it once per slice.`,
      )
    }
    if ((options as StartOptions | null)?.idempotencyKey !== undefined) {
      throw new InvalidArgumentError(
        "startMany takes no idempotencyKey: one key is for one workflow. `identity: 'content'` makes one for each.",
      )
    }
    const prepared: Prepared[] = []
    for (const what of whats) prepared.push(await prepareStart(definition, what, options, this.#maxInputBytes))
    const orders = await this.#orders({ definition, trace }, prepared, options.transaction)
    const acceptAll = (results: readonly StartResult[]) =>
      orders.map((order, index) => accept(order, prepared[index] as Prepared, results[index]))
    const { transaction } = options
    const results =
      transaction === undefined
        ? await startClaimed(this.#engine, orders, { check: acceptAll })
        : await this.#engine.store.start(orders, { check: acceptAll, transaction })
    return acceptAll(results)
  }

  async #orders(
    { definition, trace }: { readonly definition: WorkflowDefinition; readonly trace: string | null },
    prepared: readonly Prepared[],
    transaction?: object,
  ): Promise<StartOrder[]> {
    const { graph, type, allowMultiple, formerTypes } = definition
    const generation = this.#engine.courses.generationOf(type)
    const course = { type, graph, generation, allowMultiple, formerTypes, trace, handlerOf: () => type }
    // All of one call have the same options.
    const each = idsFor(graph, prepared[0])
    const ids = await this.#engine.store.takeIds(prepared.length * each, transaction)
    return prepared.map((item, index) => startOrder(course, item, ids.slice(index * each, (index + 1) * each)))
  }
}

function accept(order: StartOrder, prepared: Prepared, result: StartResult | undefined): WorkflowRecord {
  if (result?.kind === 'started') return result.workflow
  if (result?.kind === 'keyed') {
    const { hero } = result.workflow
    const same =
      hero?.type === order.hero?.type &&
      hero?.idText === order.hero?.idText &&
      canonicalValue(decodeValue(result.input), 'The stored input') === prepared.canonicalInput
    if (same) return result.workflow
    throw new IdempotencyConflictError(order.type, order.idempotencyKey ?? '', result.workflow.id)
  }
  throw conflict(order, result)
}

function conflict(order: StartOrder, result: StartResult | undefined): WorkflowAlreadyActiveError {
  const hero = `${order.hero?.type} ${order.hero?.idText}`
  return new WorkflowAlreadyActiveError(order.type, hero, result?.workflow.id ?? '')
}
