/**
 * Builds what one execution gives to its instance.
 */
import { hash } from 'node:crypto'
import type { FlowControl } from '../definition/flow-control.ts'
import { decodeHeroId } from '../definition/hero.ts'
import type { EmittedEvent, ExecutionInfo, StepContext } from '../definition/step-context.ts'
import { HeroGoneError, OutputMissingError } from '../errors.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import { isHeroGone, type LoadedHero } from './load-hero.ts'

/** Reads the output of a node of the workflow; `null` when it has none. */
export type OutputReader = (node: string) => Promise<{ readonly value: unknown } | null>

export interface ContextSource {
  readonly claimed: ClaimedExecution
  /** A workflow whose hero is gone goes on, and has none. */
  readonly mayOutliveHero: boolean
  /** What the row works on is meant for the code; a child's row names the workflow that it waits for. */
  readonly showsInput: boolean
  readonly signal: AbortSignal
  readonly readOutput: OutputReader
  /** The execution that is undone: a call of its own, with a key of its own. */
  readonly undoes?: string
}

export function stepContext(source: ContextSource): EngineContext {
  return new EngineContext(source)
}

class EngineContext implements StepContext {
  readonly workflowId: string
  readonly heroKey: StepContext['heroKey']
  readonly execution: ExecutionInfo
  readonly signal: AbortSignal
  readonly input: unknown
  readonly emitted: EmittedEvent[] = []
  flowControl: FlowControl | null = null
  /** Set before the instance is made. */
  loaded: LoadedHero | null = null
  readonly #source: ContextSource

  constructor(source: ContextSource) {
    const { workflow, execution, input } = source.claimed
    this.#source = source
    this.workflowId = workflow.id
    const { hero } = workflow
    this.heroKey = hero === null ? null : { type: hero.type, id: decodeHeroId(hero.idText, hero.idKind) }
    this.signal = source.signal
    this.input = decodeValue(input) ?? {}
    let key: string | undefined
    this.execution = Object.freeze({
      id: execution.id,
      node: execution.node,
      attempt: execution.attempt,
      // Most steps never ask for it.
      get idempotencyKey() {
        key ??= idempotencyKey(workflow, execution.node, source.undoes ?? workflow.rounds?.[execution.node])
        return key
      },
      ...(source.showsInput && execution.input !== null ? { input: decodeValue(execution.input) } : {}),
    })
  }

  hero(): unknown {
    if (this.loaded?.kind === 'found') return this.loaded.hero
    if (isHeroGone(this.loaded) && !this.#source.mayOutliveHero) {
      const { hero } = this.#source.claimed.workflow
      throw new HeroGoneError(this.workflowId, `${hero?.type} ${hero?.idText}`)
    }
    return null
  }

  async output(node: string, fallback: { readonly value: unknown } | null): Promise<unknown> {
    const found = await this.#source.readOutput(node)
    if (found !== null) return found.value
    if (fallback !== null) return fallback.value
    throw new OutputMissingError(this.workflowId, node, 'it was skipped or has not completed')
  }
}

/** The same for every attempt at a node in a round, or at undoing it; another for every workflow, also where two databases give the same ids. */
function idempotencyKey(workflow: WorkflowRecord, node: string, round: string | number | undefined): string {
  const text = JSON.stringify([workflow.id, workflow.createdAt, node, ...(round === undefined ? [] : [round])])
  return hash('sha256', text).slice(0, 40)
}
