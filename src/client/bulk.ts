/**
 * Requests to many workflows at once: those that a filter finds, each in a transaction of its own, so that nothing is held
 * up and what was done stays done. What has moved on meanwhile refuses, and is told apart.
 */
import type { AnyWorkflow, ConcreteClass } from '../definition/workflow.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import type { Request } from '../engine/change-draft.ts'
import type { Engine } from '../engine/engine.ts'
import { explainWorkflows } from '../engine/explain-workflows.ts'
import { InvalidArgumentError, InvalidStateError, isGenevaError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import type { LetterReason, LetterRecord } from '../store/records.ts'
import type { WorkflowFilter } from '../store/store.ts'
import type { ScanPage, ViewFilter } from '../store/view-store.ts'
import type { DiscardOptions } from './dead-letters-list.ts'
import { failedSteps, settleEach } from './failed-steps.ts'
import { type RequestOptions, type ResolveOptions, requestFrom, resolutionFrom } from './request-options.ts'
import { type RequeueOptions, requeueLetter } from './requeue-letter.ts'
import { lower } from './views/look-in-windows.ts'
import { type ViewOptions, viewFilterFrom } from './views/view-options.ts'
import { filterFrom, type StateFilter } from './workflow-list.ts'

export interface BulkFilter {
  readonly workflow?: ConcreteClass<any>
  /** Default: `active`; with `letter` also what has ended, because letters of compensations stay open. */
  readonly state?: StateFilter | readonly StateFilter[]
  /** The step that the workflow stands at, or that has failed. */
  readonly at?: string
  /** The class of the error that a step of it has failed with. */
  readonly error?: string
  /** Only workflows that were started at least so long ago. */
  readonly olderThan?: Duration
  readonly tag?: string
  /** Only workflows that have an open dead letter with this reason. */
  readonly letter?: LetterReason
  /** By names and ids instead, for tools that have no classes: everything else but `letter` and `error` is left aside. */
  readonly where?: ViewOptions
}

export interface BulkOptions extends RequestOptions {
  /** How many at most. Default: all. */
  readonly limit?: number
  /** Counts only. */
  readonly dryRun?: boolean
}

export interface BulkReport {
  /** How many workflows the filter has found. */
  readonly found: number
  /** How many of them were changed; with `dryRun` none. */
  readonly changed: number
  /** Those that refused, with what they said: the first hundred. */
  readonly refused: readonly { readonly id: string; readonly message: string }[]
}

const knownOfFilter = optionNames<BulkFilter>({
  workflow: 0,
  state: 0,
  at: 0,
  error: 0,
  olderThan: 0,
  tag: 0,
  letter: 0,
  where: 0,
})
const knownOfAll = ['limit', 'dryRun'] satisfies (keyof BulkOptions)[]

type Act = (id: string, request: Request) => Promise<void>

const pageSize = 200
/** How many workflows one look for them goes through. */
const lookWindow = 5000
/** How many are changed at the same time. */
const width = 4
const maxRefused = 100
/** What has finished has none, and is most of all there is. */
const statesWithLetters = ['active', 'failed', 'canceled', 'aborted'] as const

/** What `geneva.all(filter)` returns. Nothing is looked for before something is asked of it. */
export class Bulk {
  readonly #open: () => Promise<Engine>
  readonly #definitionOf: (workflow: ConcreteClass<AnyWorkflow>) => WorkflowDefinition
  readonly #filter: BulkFilter

  constructor(
    open: () => Promise<Engine>,
    definitionOf: (workflow: ConcreteClass<AnyWorkflow>) => WorkflowDefinition,
    filter: BulkFilter,
  ) {
    // A misspelled word would otherwise find all that are active.
    refuseUnknownOptions('all', filter, knownOfFilter)
    this.#open = open
    this.#definitionOf = definitionOf
    this.#filter = filter
  }

  async count(): Promise<number> {
    return (await this.#run({ dryRun: true }, async () => {})).found
  }

  async pause(options?: BulkOptions): Promise<BulkReport> {
    const engine = await this.#open()
    return this.#run(options, (id, request) => engine.pause(id, request))
  }

  async resume(options?: BulkOptions): Promise<BulkReport> {
    const engine = await this.#open()
    return this.#run(options, (id, request) => engine.resume(id, request))
  }

  async cancel(options?: BulkOptions): Promise<BulkReport> {
    const engine = await this.#open()
    return this.#run(options, (id, request) => engine.cancel(id, request))
  }

  /** Ends them at once: nothing is undone. */
  async abort(options?: BulkOptions): Promise<BulkReport> {
    const engine = await this.#open()
    return this.#run(options, (id, request) => engine.abort(id, request))
  }

  /** A new attempt at every step that has failed, or at the one that is named. */
  async reattempt(options: BulkOptions & { readonly step?: string } = {}): Promise<BulkReport> {
    const engine = await this.#open()
    const act: Act = (id, request) =>
      this.#forEachFailed(engine, id, options.step, step => engine.reattempt(id, step, request))
    return this.#run(options, act, ['step'])
  }

  /** Leaves out every step that has failed, or the one that is named. */
  async skip(options: BulkOptions & { readonly step?: string } = {}): Promise<BulkReport> {
    const engine = await this.#open()
    const act: Act = (id, request) =>
      this.#forEachFailed(engine, id, options.step, step => engine.skip(id, step, request))
    return this.#run(options, act, ['step'])
  }

  /** Takes every step that has failed as done, or the one that is named. */
  async resolve(options: BulkOptions & ResolveOptions & { readonly step?: string } = {}): Promise<BulkReport> {
    const engine = await this.#open()
    const { step: named, limit, dryRun, ...resolution } = options
    const act: Act = id =>
      this.#forEachFailed(engine, id, named, step => engine.resolve(id, resolutionFrom(step, resolution)))
    return this.#run(options, act, ['step', 'output'])
  }

  /** Requeues every open dead letter. */
  async requeue(options: BulkOptions & RequeueOptions = {}): Promise<BulkReport> {
    const engine = await this.#open()
    const { limit, dryRun, ...each } = options
    const act: Act = async id => {
      const open = async () => (await this.#letters(engine, id)).map(letter => letter.id)
      await settleEach(await open(), letter => requeueLetter(engine, letter, each), open)
    }
    return this.#run(options, act, ['input'])
  }

  /** Gives up every open dead letter for good. */
  async discard(options: BulkOptions & DiscardOptions = {}): Promise<BulkReport> {
    const engine = await this.#open()
    const { then = 'cancel' } = options
    const act: Act = async (id, request) => {
      const letters = await this.#letters(engine, id)
      const open = async () => (await this.#letters(engine, id)).map(letter => letter.id)
      // Without `skip` the others go with the workflow, which the letter of a compensation leaves alone.
      const last = then === 'skip' ? -1 : letters.findIndex(({ kind }) => kind !== 'compensate')
      const asked = last === -1 ? letters : letters.slice(0, last + 1)
      await settleEach(
        asked.map(letter => letter.id),
        letter => engine.discard(letter, then, request),
        open,
      )
    }
    return this.#run(options, act, ['then'])
  }

  /** `others`: what else the verb takes. */
  async #run(options: BulkOptions = {}, act: Act, others: readonly string[] = []): Promise<BulkReport> {
    const request = requestFrom(options, [...others, ...knownOfAll])
    const { limit = Number.POSITIVE_INFINITY, dryRun = false } = options
    if (!(limit > 0)) throw new InvalidArgumentError('The limit of a request to many workflows must be above 0.')
    const report = { found: 0, changed: 0, refused: [] as { id: string; message: string }[] }
    for await (const page of this.#pages(await this.#open())) {
      const ids = page.slice(0, limit - report.found)
      report.found += ids.length
      if (!dryRun) await inTurns(ids, id => changeOne(report, id, () => act(id, request)))
      if (report.found >= limit) break
    }
    return { ...report, refused: report.refused.slice(0, maxRefused) }
  }

  /** Newest first, so that what is started meanwhile is not looked at. */
  async *#pages(engine: Engine): AsyncGenerator<readonly string[]> {
    const { where } = this.#filter
    if (where !== undefined) return yield* this.#pagesBy(engine, where)
    const { workflow, state = this.#usualStates(), at, tag } = this.#filter
    const definition = workflow === undefined ? null : this.#definitionOf(workflow)
    const options = {
      limit: pageSize,
      state,
      ...(at === undefined ? {} : { at }),
      ...(tag === undefined ? {} : { tag }),
    }
    const latest = await this.#latestStart(engine)
    let filter: WorkflowFilter | null = filterFrom(engine.store, definition, options)
    while (filter !== null) {
      const page: Awaited<ReturnType<typeof engine.store.listWorkflows>> = await engine.store.listWorkflows(filter)
      const old = page.filter(({ workflow: { createdAt } }) => createdAt <= latest).map(({ workflow: { id } }) => id)
      yield await this.#withLetter(engine, await this.#withError(engine, old))
      const last: string | undefined = page.at(-1)?.workflow.id
      filter = page.length < pageSize || last === undefined ? null : { ...filter, before: last }
    }
  }

  async *#pagesBy(engine: Engine, where: ViewOptions): AsyncGenerator<readonly string[]> {
    const filter = await viewFilterFrom(engine.store, { state: this.#usualStates(), ...where })
    let before: string | null = null
    do {
      const stretch: ViewFilter = before === null ? filter : { ...filter, before }
      const page: ScanPage = await engine.store.views.scan(stretch, { limit: pageSize, window: lookWindow })
      // Told by the first page, before anything is changed.
      if (page.capped) throw tooMuchToSearch(where)
      const ids = page.found.map(({ workflow }) => workflow.id)
      yield await this.#withLetter(engine, await this.#withError(engine, ids))
      before = lower(page.next, before)
    } while (before !== null)
  }

  #usualStates(): readonly StateFilter[] {
    return this.#filter.letter === undefined ? ['active'] : statesWithLetters
  }

  async #latestStart({ store }: Engine): Promise<number> {
    const { olderThan } = this.#filter
    if (olderThan === undefined) return Number.POSITIVE_INFINITY
    return (await store.now()) - toMilliseconds(olderThan, 'olderThan') * 1000
  }

  async #withError({ store }: Engine, ids: readonly string[]): Promise<readonly string[]> {
    const { error } = this.#filter
    if (error === undefined || ids.length === 0) return ids
    const { workflows } = await store.readiness(ids)
    const failed = workflows.filter(({ latest }) =>
      [...latest.values()].some(ending => ending.state === 'failed' && ending.error?.className === error),
    )
    const found = new Set(failed.map(({ workflow }) => workflow.id))
    return ids.filter(id => found.has(id))
  }

  async #withLetter({ store }: Engine, ids: readonly string[]): Promise<readonly string[]> {
    const { letter } = this.#filter
    if (letter === undefined || ids.length === 0) return ids
    const { workflows } = await store.readiness(ids)
    const open = workflows.filter(({ letters }) => letters.some(({ reason }) => reason === letter))
    const found = new Set(open.map(({ workflow }) => workflow.id))
    return ids.filter(id => found.has(id))
  }

  async #letters({ store }: Engine, workflowId: string): Promise<LetterRecord[]> {
    const { letter } = this.#filter
    const reason = letter === undefined ? {} : { reason: letter }
    return store.listLetters({ workflowId, state: 'open', limit: 1000, ...reason })
  }

  async #forEachFailed(
    engine: Engine,
    id: string,
    step: string | undefined,
    act: (step: string) => Promise<void>,
  ): Promise<void> {
    if (step !== undefined) return act(step)
    const look = async () => {
      const [explanation] = await explainWorkflows(engine, [id])
      const letters = await engine.store.listLetters({ workflowId: id, state: 'open', limit: 1000 })
      return { steps: failedSteps(explanation?.nodes ?? [], letters), state: explanation?.state ?? 'ready' }
    }
    const { steps, state } = await look()
    if (steps.length === 0) throw new InvalidStateError(id, state, 'change a failed step of', 'None has failed.')
    await settleEach(steps, act, async () => (await look()).steps)
  }
}

/** Part of them must not pass for all. */
function tooMuchToSearch({ q = '' }: ViewOptions): InvalidArgumentError {
  return new InvalidArgumentError(
    `More records have an id that begins with ${JSON.stringify(q)} than a search looks through, so this request would not reach all of them. Nothing was done. Search for more of the id, or leave the search out and filter by type, state or tag.`,
  )
}

async function changeOne(
  report: { changed: number; refused: { id: string; message: string }[] },
  id: string,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act()
    report.changed++
  } catch (error) {
    // It has moved on since it was found, was removed, or cannot take what is given. Anything else concerns all of them.
    const codes = ['INVALID_STATE', 'WORKFLOW_NOT_FOUND', 'LETTER_NOT_FOUND', 'INVALID_ARGUMENT'] as const
    if (!codes.some(code => isGenevaError(error, code))) throw error
    if (report.refused.length < maxRefused) report.refused.push({ id, message: (error as Error).message })
  }
}

/** A few at a time; the first that throws ends it, once those beside it are done. */
async function inTurns(ids: readonly string[], act: (id: string) => Promise<void>): Promise<void> {
  const left = [...ids]
  const work = async () => {
    try {
      for (let id = left.shift(); id !== undefined; id = left.shift()) await act(id)
    } catch (error) {
      left.length = 0
      throw error
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: width }, work))
  const broken = ends.find(end => end.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}
