/**
 * Lists of workflows: typed filters, pages by cursor, newest first.
 */

import { type HeroRef, isHeroRef } from '../definition/hero.ts'
import { identifyAnyHero, identifyHero } from '../definition/identify-hero.ts'
import type { StartWhat } from '../definition/start-types.ts'
import type { StepName } from '../definition/step-names.ts'
import type { AnyWorkflow } from '../definition/workflow.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { checkKey } from '../engine/check-key.ts'
import { typesOf } from '../engine/courses.ts'
import { isEnd } from '../engine/end-watch.ts'
import { InvalidArgumentError } from '../errors.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { type HeroKey, type WorkflowState, workflowStates } from '../store/records.ts'
import type { Store, WorkflowFilter, WorkflowSnapshot } from '../store/store.ts'
import type { WorkflowHandle } from './workflow-handle.ts'

/** `active` stands for every state that is not an end. */
export type StateFilter = WorkflowState | 'active'

export interface ListOptions<W extends AnyWorkflow = AnyWorkflow> {
  readonly state?: StateFilter | readonly StateFilter[]
  /** Workflows about this hero: a record or a reference. */
  readonly hero?: StartWhat<W>['hero']
  /** Workflows that stand at this step. */
  readonly at?: StepName<W>
  readonly tag?: string
  /** Page size, 1 to 1,000. Default 100. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly cursor?: string
}

/** Without a class nobody can tell the type of a record, so a hero is given by reference, nor which steps there are. */
export interface ListAnyOptions extends Omit<ListOptions, 'hero' | 'at'> {
  /** Workflows about this hero, of whatever class, also of graphs that were built at run time: `Orders.ref(42)`. */
  readonly hero?: HeroRef
  /** Workflows that stand at a step of this name. */
  readonly at?: string
}

const known = optionNames<ListOptions>({ state: 0, hero: 0, at: 0, tag: 0, limit: 0, cursor: 0 })
const states: readonly WorkflowState[] = workflowStates
const activeStates = states.filter(state => !isEnd(state))

/** One page. Iterating goes on through the pages that follow. */
export class WorkflowPage<W extends AnyWorkflow> implements AsyncIterable<WorkflowHandle<W>> {
  readonly items: readonly WorkflowHandle<W>[]
  /** Give it as `cursor` to get the next page; `null` on the last one. */
  readonly nextCursor: string | null
  readonly #nextPage: (cursor: string) => Promise<WorkflowPage<W>>

  constructor(
    items: readonly WorkflowHandle<W>[],
    nextCursor: string | null,
    nextPage: (cursor: string) => Promise<WorkflowPage<W>>,
  ) {
    this.items = items
    this.nextCursor = nextCursor
    this.#nextPage = nextPage
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WorkflowHandle<W>> {
    let page: WorkflowPage<W> = this
    for (;;) {
      yield* page.items
      if (page.nextCursor === null) return
      page = await this.#nextPage(page.nextCursor)
    }
  }
}

/** Reads one row more than asked for, to know whether there is another page. */
export async function readPage<W extends AnyWorkflow>(
  openStore: () => Store,
  filter: WorkflowFilter,
  wrap: (snapshot: WorkflowSnapshot) => WorkflowHandle<W>,
): Promise<WorkflowPage<W>> {
  const rows = await openStore().listWorkflows({ ...filter, limit: filter.limit + 1 })
  const items = rows.slice(0, filter.limit).map(wrap)
  const cursor = rows.length > filter.limit ? (items.at(-1)?.id ?? null) : null
  return new WorkflowPage(items, cursor, before => readPage(openStore, { ...filter, before }, wrap))
}

export function filterFrom(
  store: Store,
  definition: WorkflowDefinition | null,
  options: ListOptions<any>,
): WorkflowFilter {
  refuseUnknownOptions('The filter of workflows', options, known)
  const { limit = 100, cursor, tag, at, hero } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new InvalidArgumentError(`The page size must be a whole number from 1 to 1000, not ${String(limit)}.`)
  }
  if (cursor !== undefined && !store.isId(cursor)) {
    throw new InvalidArgumentError(`The cursor ${JSON.stringify(cursor)} is not one that a page has given.`)
  }
  return {
    limit,
    ...(definition ? { types: typesOf(definition) } : {}),
    ...(options.state === undefined ? {} : { states: statesFrom(options.state) }),
    ...(hero === undefined ? {} : { hero: heroKeyFor(definition, hero) }),
    ...(at === undefined ? {} : { at: checkKey(at, 'The step') }),
    ...(tag === undefined ? {} : { tag: checkKey(tag, 'The tag') }),
    ...(cursor === undefined ? {} : { before: cursor }),
  }
}

/** By id or by hero, of one class or of any. What cannot be an id finds nothing. */
export async function findOne(
  store: Store,
  definition: WorkflowDefinition | null,
  which: unknown,
): Promise<WorkflowSnapshot | null> {
  const types = definition && typesOf(definition)
  if (typeof which === 'object' && which !== null) {
    refuseUnknownOptions('find', which, ['hero'])
    return store.findByHero(types, heroKeyFor(definition, (which as { hero?: unknown }).hero))
  }
  const found = typeof which === 'string' && store.isId(which) ? await store.findWorkflow(which) : null
  return found && (types === null || types.includes(found.workflow.type)) ? found : null
}

/** Of a class also by its record, and `null` where it may be without one. */
export function heroKeyFor(definition: WorkflowDefinition | null, hero: unknown): HeroKey | null {
  if (definition !== null) return identifyHero(definition, hero)
  if (isHeroRef(hero)) return identifyAnyHero(hero)
  throw new InvalidArgumentError(
    'Without a workflow class a hero is looked for by reference, like Orders.ref(id). With one, also by its record: list(OrderWorkflow, { hero: order }).',
  )
}

export function statesFrom(wanted: StateFilter | readonly StateFilter[]): WorkflowState[] {
  const list = (Array.isArray(wanted) ? wanted : [wanted]) as StateFilter[]
  return list.flatMap(state => {
    if (state === 'active') return activeStates
    if (states.includes(state)) return [state]
    throw new InvalidArgumentError(
      `The state ${JSON.stringify(state)} is not known. Use ${states.join(', ')} or active.`,
    )
  })
}
