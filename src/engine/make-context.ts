/**
 * Builds what one execution gives to its instance. Every step comes through here and most ask for little of it, so what takes
 * work is made when it is asked for.
 */
import { hash } from 'node:crypto'
import type { FlowControl } from '../definition/flow-control.ts'
import { decodeHeroId } from '../definition/hero.ts'
import type { EmittedEvent, ExecutionInfo, StepContext } from '../definition/step-context.ts'
import { HeroGoneError, OutputMissingError } from '../errors.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import type { ActiveExecution, ClaimedExecution, WorkflowRecord } from '../store/records.ts'
import { isHeroGone, type LoadedHero } from './load-hero.ts'
import { firstNameIn, givenIn } from './stored-input.ts'

/** What the code of a step can reach while it runs. */
export interface ContextSource {
  readonly claimed: ClaimedExecution
  readonly signal: AbortSignal
  /** Reads the output of a node of the workflow, by id, name or former name; `null` when it has none. */
  readOutput(node: string): Promise<{ readonly value: unknown } | null>
}

export interface ContextSettings {
  /** A workflow whose hero is gone goes on, and has none. */
  readonly mayOutliveHero: boolean
  /** The execution that is undone: a call of its own, with a key of its own. */
  readonly undoes?: string
}

/** Throws where what is stored of the execution cannot be read. */
export function stepContext(source: ContextSource, settings: ContextSettings): EngineContext {
  return new EngineContext(source, settings)
}

const nothing: readonly EmittedEvent[] = []

class EngineContext implements StepContext {
  readonly heroKey: StepContext['heroKey']
  readonly input: unknown
  transaction: unknown = null
  flowControl: FlowControl | null = null
  /** Set before the instance is made. */
  loaded: LoadedHero | null = null
  readonly #source: ContextSource
  readonly #mayOutliveHero: boolean
  readonly #given: { readonly input: unknown } | null
  readonly #undoes: string | undefined
  #execution: ExecutionInfo | null = null
  #emitted: EmittedEvent[] | null = null
  #hasEnded = false

  constructor(source: ContextSource, { mayOutliveHero, undoes }: ContextSettings) {
    const { workflow, execution, input } = source.claimed
    this.#source = source
    this.#mayOutliveHero = mayOutliveHero
    this.#undoes = undoes
    const { hero } = workflow
    this.heroKey = hero === null ? null : { type: hero.type, id: decodeHeroId(hero.idText, hero.idKind) }
    this.input = decodeValue(input) ?? {}
    const given = givenIn(execution.input)
    this.#given = given === null ? null : { input: decodeValue(given) }
  }

  get workflowId(): string {
    return this.#source.claimed.workflow.id
  }

  get signal(): AbortSignal {
    return this.#source.signal
  }

  get execution(): ExecutionInfo {
    this.#execution ??= executionInfo(this.#source.claimed, this.#given, this.#undoes)
    return this.#execution
  }

  get emitted(): readonly EmittedEvent[] {
    return this.#emitted ?? nothing
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  addEvent(event: EmittedEvent): void {
    this.#emitted ??= []
    this.#emitted.push(event)
  }

  /** What comes of the attempt is decided. Gives what it has emitted until then. */
  end(): readonly EmittedEvent[] {
    this.#hasEnded = true
    return this.emitted
  }

  hero(): unknown {
    if (this.loaded?.kind === 'found') return this.loaded.hero
    if (isHeroGone(this.loaded) && !this.#mayOutliveHero) {
      const { hero } = this.#source.claimed.workflow
      throw new HeroGoneError(this.workflowId, `${hero?.type} ${hero?.idText}`)
    }
    return null
  }

  async output(node: string, fallback: { readonly value: unknown } | null): Promise<unknown> {
    const found = await this.#source.readOutput(node)
    if (found !== null) return found.value
    if (fallback !== null) return fallback.value
    throw new OutputMissingError(this.workflowId, node)
  }
}

function executionInfo(
  { workflow, execution }: ClaimedExecution,
  given: { readonly input: unknown } | null,
  undoes: string | undefined,
): ExecutionInfo {
  const { id, node, attempt }: ActiveExecution = execution
  const name = firstNameIn(execution.input) ?? node
  const idempotencyKey = keyOf(workflow, name, undoes ?? workflow.rounds?.[name])
  return Object.freeze({ id, node, attempt, idempotencyKey, ...given })
}

/** The same for every attempt at a node in a round, or at undoing it; another for every workflow, also where two databases give the same ids. */
function keyOf(workflow: WorkflowRecord, node: string, round: string | number | undefined): string {
  const text = JSON.stringify([workflow.id, workflow.createdAt, node, ...(round === undefined ? [] : [round])])
  return hash('sha256', text).slice(0, 40)
}
