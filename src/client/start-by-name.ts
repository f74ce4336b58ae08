/** Starts a workflow by the stored name of its class: for tools that know names and have no classes. */
import { decodeHeroId, type HeroId, type HeroRef } from '../definition/hero.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { refuseUnknownStart, type StartOptions } from '../engine/start-orders.ts'
import { HeroTypeError } from '../errors.ts'
import type { Store } from '../store/store.ts'

export interface NamedStart {
  /** An id given as text is taken as what ids of this type of hero have been so far. */
  readonly hero?: { readonly type: string; readonly id: HeroId }
  readonly input?: unknown
}

export type NamedStartOptions = Pick<
  StartOptions,
  'idempotencyKey' | 'tags' | 'delay' | 'at' | 'deadline' | 'allowMultiple' | 'by' | 'reason'
>

/** What `start` takes, with the hero as a reference. Throws `HeroTypeError` for a type that the class does not declare. */
export async function whatFromNames(
  store: Store,
  definition: WorkflowDefinition,
  what: NamedStart,
): Promise<{ readonly hero?: HeroRef; readonly input?: unknown }> {
  refuseUnknownStart(`startByName(${definition.type})`, what, {})
  const { hero, input } = what
  const rest = input === undefined ? {} : { input }
  if (hero === undefined) return rest
  const heroType = definition.heroTypes.find(({ type }) => type === hero.type)
  if (heroType === undefined) {
    const types = definition.heroTypes.map(({ type }) => type).join(', ')
    throw new HeroTypeError(
      `${definition.type} does not accept heroes of type ${hero.type}${types === '' ? '' : `, only ${types}`}.`,
    )
  }
  return { ...rest, hero: heroType.ref(await idOf(store, hero)) }
}

async function idOf(store: Store, { type, id }: { readonly type: string; readonly id: HeroId }): Promise<HeroId> {
  if (typeof id !== 'string' || !/^-?\d{1,20}$/.test(id)) return id
  const kind = await store.views.heroIdKind(type)
  return kind === null ? id : decodeHeroId(id, kind)
}
