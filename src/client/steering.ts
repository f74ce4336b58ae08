/**
 * The verbs by which people steer workflows that exist: each is one request, recorded with who asked and why. `Geneva` has
 * them by id; a handle has the same for its own workflow. And the lists that say what there is to steer.
 */
import type { AnyWorkflow, ConcreteClass } from '../definition/workflow.ts'
import type { Engine } from '../engine/engine.ts'
import { previewRollback, type RollbackStep } from '../engine/preview-rollback.ts'
import {
  type DeadLetter,
  type DeadLetterDetail,
  type DeadLetterOptions,
  type DiscardOptions,
  deadLetterDetail,
  listDeadLetters,
} from './dead-letters-list.ts'
import {
  type ExecutionsOfOptions,
  type ExecutionsOptions,
  executionsPage,
  type ListedExecution,
} from './executions-list.ts'
import { type RequestOptions, type ResolveOptions, requestFrom, resolutionFrom } from './request-options.ts'
import { type RequeueOptions, requeueLetter } from './requeue-letter.ts'
import { type DecideOptions, decideOn, type SignalOptions, signal } from './tell-workflow.ts'
import type { Page } from './views/view-options.ts'

export abstract class Steering {
  protected abstract engine(): Promise<Engine>

  async pause(id: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).pause(id, requestFrom(options))
  }

  async resume(id: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).resume(id, requestFrom(options))
  }

  async cancel(id: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).cancel(id, requestFrom(options))
  }

  /** Ends a workflow at once: nothing is undone, and nothing that runs is waited for. */
  async abort(id: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).abort(id, requestFrom(options))
  }

  /** Decides on an execution that waits for people: the untyped form, for inboxes. See `handle.decide`. */
  async decide(executionId: string, options: DecideOptions): Promise<void> {
    await decideOn(await this.engine(), executionId, options)
  }

  /** Sends a message to a step that waits for it, or will. See `handle.signal`. */
  async signal(id: string, step: string, payload?: unknown, options: SignalOptions = {}): Promise<void> {
    await signal(await this.engine(), id, step, { payload, options })
  }

  /** What a cancel, or a failure now, would undo, in order. */
  async previewRollback(id: string, kind: 'cancel' | 'failure' = 'cancel'): Promise<RollbackStep[]> {
    return previewRollback(await this.engine(), id, kind)
  }

  async skip(id: string, step: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).skip(id, step, requestFrom(options))
  }

  /** Takes a step as done: somebody has done by hand what it was to do. What depends on it goes on. */
  async resolve(id: string, step: string, options?: ResolveOptions): Promise<void> {
    await (await this.engine()).resolve(id, resolutionFrom(step, options))
  }

  /** A new attempt at a step that has failed, while nothing that comes after it has started. */
  async reattempt(id: string, step: string, options?: RequestOptions): Promise<void> {
    await (await this.engine()).reattempt(id, step, requestFrom(options))
  }

  /** Executions by state, a page at a time: what is scheduled, suspended, waits or runs, of any workflow; or how attempts have ended. */
  async executions(options?: ExecutionsOptions): Promise<Page<ListedExecution>>
  async executions<W extends AnyWorkflow>(
    workflow: ConcreteClass<W>,
    options?: ExecutionsOfOptions<W>,
  ): Promise<Page<ListedExecution>>
  async executions(
    first?: ConcreteClass<any> | ExecutionsOptions,
    second?: ExecutionsOptions,
  ): Promise<Page<ListedExecution>> {
    const engine = await this.engine()
    const definition = typeof first === 'function' ? engine.registry.definitionFor(first) : null
    return executionsPage(engine.store, definition, (typeof first === 'function' ? second : first) ?? {})
  }

  /** Work that was given up until somebody handles it, newest first. */
  async deadLetters(options?: DeadLetterOptions): Promise<DeadLetter[]>
  async deadLetters(workflow: ConcreteClass<any>, options?: DeadLetterOptions): Promise<DeadLetter[]>
  async deadLetters(first?: ConcreteClass<any> | DeadLetterOptions, second?: DeadLetterOptions): Promise<DeadLetter[]> {
    const engine = await this.engine()
    const definition = typeof first === 'function' ? engine.registry.definitionFor(first) : null
    return listDeadLetters(engine.store, definition, typeof first === 'function' ? second : first)
  }

  /** One dead letter, open or handled, with what its execution worked on. Throws `LetterNotFoundError`. */
  async deadLetter(id: string): Promise<DeadLetterDetail> {
    const engine = await this.engine()
    return deadLetterDetail(engine.store, await engine.findLetter(id))
  }

  /** Lets the work of a dead letter go on, as it is or with another input, and everything that was held with it. */
  async requeue(letterId: string, options?: RequeueOptions): Promise<void> {
    await requeueLetter(await this.engine(), letterId, options)
  }

  /** Gives a dead letter up for good: the workflow is canceled, or goes on without the step. */
  async discard(letterId: string, options: DiscardOptions = {}): Promise<void> {
    const request = requestFrom(options, ['then'])
    await (await this.engine()).discard(letterId, options.then ?? 'cancel', request)
  }
}
