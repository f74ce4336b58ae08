/** Everything that ever happened to one record: its workflows, whatever their class, and their events in one line. */
import type { Store } from '../../store/store.ts'
import { type EventView, eventView } from './attempt-view.ts'
import { heroKeyFrom, type PageOptions } from './view-options.ts'
import { type HeroName, listSummaries, type WorkflowSummary } from './workflow-summary.ts'

export interface HeroPage {
  readonly hero: HeroName
  /** Newest first. */
  readonly workflows: readonly WorkflowSummary[]
  readonly nextCursor: string | null
  /** The newest events of these workflows, newest first. */
  readonly events: readonly EventView[]
}

const eventsShown = 200

export async function heroPage(store: Store, hero: HeroName, options: PageOptions): Promise<HeroPage> {
  const { type, idText } = heroKeyFrom(hero)
  const { items, nextCursor } = await listSummaries(store, { ...options, hero: { type, id: idText } })
  const ids = items.map(({ id }) => id)
  const events = await store.views.eventsOf(ids, { after: 0, limit: eventsShown, newest: true })
  return { hero: { type, id: idText }, workflows: items, nextCursor, events: events.map(eventView) }
}
