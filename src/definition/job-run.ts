/** The `JobContext` of one attempt: the same facts and the same flow control that a step has, without a class. */

import { InvalidArgumentError } from '../errors.ts'
import type { Duration } from '../primitives/duration.ts'
import { emit } from './emit.ts'
import type { JobContext, JobNode } from './job-context.ts'
import type { CustomEventName, CustomEventPayload } from './register.ts'
import { postpone, type ReattemptOptions, reattempt, steer } from './steer.ts'
import type { ExecutionInfo, StepContext } from './step-context.ts'
import type { Transaction } from './transaction.ts'

export class JobRun implements JobContext {
  readonly #context: StepContext
  readonly node: JobNode
  readonly undo: JobContext['undo']

  constructor(context: StepContext, node: JobNode, undo: JobContext['undo'] = null) {
    this.#context = context
    this.node = Object.freeze(node)
    this.undo = undo
    Object.freeze(this)
  }

  get workflowId(): string {
    return this.#context.workflowId
  }

  get hero(): JobContext['hero'] {
    return this.#context.heroKey
  }

  get input(): unknown {
    return this.#context.input
  }

  get execution(): ExecutionInfo {
    return this.#context.execution
  }

  get idempotencyKey(): string {
    return this.#context.execution.idempotencyKey
  }

  get signal(): AbortSignal {
    return this.#context.signal
  }

  get transaction(): Transaction {
    const { transaction } = this.#context
    if (transaction !== null) return transaction as Transaction
    throw new InvalidArgumentError(
      `Node ${this.node.name} has no transaction. Say \`defineJob(name, { transaction: true }, ...)\`.`,
    )
  }

  output(node: string, ...fallback: unknown[]): Promise<any> {
    return this.#context.output(node, fallback.length > 0 ? { value: fallback[0] } : null)
  }

  emit<const K extends CustomEventName>(type: K, payload: CustomEventPayload<K>): void {
    emit(this.#context, type, payload)
  }

  cancel(reason?: string): never {
    return steer(this.#context, 'cancel', { reason })
  }

  pause(reason?: string): never {
    return steer(this.#context, 'pause', { reason })
  }

  skip(reason?: string): never {
    return steer(this.#context, 'skip', { reason })
  }

  finish(result?: unknown): never {
    return steer(this.#context, 'finish', { result })
  }

  reattempt(options?: ReattemptOptions): never {
    return reattempt(this.#context, options)
  }

  postpone(wait: Duration, reason?: string): never {
    return postpone(this.#context, wait, reason)
  }
}
