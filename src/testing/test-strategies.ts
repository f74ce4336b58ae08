/**
 * The strategies of a test: one step after the other, waits between attempts left out where the test likes, and failures that
 * the test has planned. Claims, rows, policies and reports are those of production.
 */

import type { Graph } from '../definition/graph.ts'
import type { StepReport } from '../engine/step-report.ts'
import { InvalidArgumentError } from '../errors.ts'
import type { ClaimedExecution } from '../store/records.ts'
import type { Strategies } from '../worker/strategies.ts'

export interface TestStrategyOptions {
  /** How the kit performs what is due at the same time. Default: `in turn`. */
  readonly dispatch?: 'in turn' | 'side by side'
  /** Steps that have failed are tried again at once, whatever their backoff says. */
  readonly bypassBackoff?: boolean
}

interface PlannedFailure {
  readonly step: string
  readonly workflowId: string | null
  readonly error: unknown
  left: number
}

export class TestStrategies {
  readonly #inTurn: boolean
  #bypasses: boolean
  #failures: PlannedFailure[] = []

  constructor({ dispatch = 'in turn', bypassBackoff = false }: TestStrategyOptions) {
    if (dispatch !== 'in turn' && dispatch !== 'side by side') {
      throw new InvalidArgumentError(
        `The dispatch of a test kit is 'in turn' or 'side by side', not ${String(dispatch)}.`,
      )
    }
    this.#inTurn = dispatch === 'in turn'
    this.#bypasses = bypassBackoff
  }

  bypassBackoff(bypasses: boolean): void {
    this.#bypasses = bypasses
  }

  /** The next attempts at the step throw this instead of running its code. */
  plan(failure: PlannedFailure): void {
    this.#failures.push(failure)
  }

  /** Each call of the kit has a worker of its own: a step that hangs in one does not keep another from its work. */
  forWorker(): Strategies {
    let last: Promise<void> = Promise.resolve()
    const inTurn = (run: () => Promise<void>) => {
      last = last.then(run)
      return last
    }
    return {
      dispatch: run => (this.#inTurn ? inTurn(run) : run()),
      reenqueue: report => this.#reenqueue(report),
      beforeCall: (claimed, graph) => this.#beforeCall(claimed, graph),
    }
  }

  #reenqueue(report: StepReport): StepReport {
    if (!this.#bypasses || report.kind !== 'threw') return report
    const retryMs = report.retryMs === null ? null : 0
    return { ...report, retryMs, policy: { ...report.policy, waitMs: 0 } }
  }

  /** A step goes by its name, an item also by that of its node. */
  #beforeCall({ execution }: ClaimedExecution, graph: Graph): void {
    const { node, workflowId } = execution
    const names = [node, graph.find(node)?.name, graph.eachOf(node)?.name]
    const planned = this.#failures.find(
      failure => names.includes(failure.step) && (failure.workflowId ?? workflowId) === workflowId,
    )
    if (planned === undefined) return
    planned.left--
    this.#failures = this.#failures.filter(({ left }) => left > 0)
    throw planned.error
  }
}
