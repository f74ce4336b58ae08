/**
 * The durable record of events as an endless loop, from a position that the reader keeps: at least once, in order, whichever
 * process wrote them. It asks the database from time to time, and at once when this process has written something.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import type { EventPage, EventRead, Store } from '../store/store.ts'
import type { EventBus } from './event-bus.ts'
import { fromStored } from './event-from.ts'
import type { EventName, GenevaEvent } from './events.ts'
import { checkEventType } from './subscribe.ts'

export interface EventsOptions<K extends EventName = EventName> {
  /** The position of the last event that was dealt with. `'now'`: what comes from now on. Left out: from the beginning. */
  readonly after?: string
  /** Only these types. */
  readonly types?: readonly K[]
  /** Only events of the workflow with this id. */
  readonly workflow?: string
  /** How often the database is asked while nothing comes. Default one second. */
  readonly poll?: Duration
  /** Ends the loop. */
  readonly signal?: AbortSignal
}

const pageSize = 500
const defaultPollMs = 1000
/** While something that comes next is not committed yet. */
const soonMs = 10

export interface TailParts {
  readonly store: Store
  readonly bus: EventBus
  /** True once the instance is closed: then the loop ends. */
  isClosed(): boolean
}

/** Checked at once, so that a mistake is thrown where it was made and not in the loop. */
export function checkEventsOptions({ after, types, workflow, poll }: EventsOptions): void {
  if (after !== undefined && after !== 'now' && !/^\d{1,16}$/.test(String(after))) {
    throw new InvalidArgumentError(
      `${JSON.stringify(after)} is no position. Pass the \`position\` of an event, 'now', or leave \`after\` out.`,
    )
  }
  for (const type of types ?? []) checkEventType(type)
  if (workflow !== undefined && typeof workflow !== 'string') {
    throw new InvalidArgumentError('The `workflow` of events is the id of one, as a text.')
  }
  if (poll !== undefined) toMilliseconds(poll, 'The poll of events')
}

export async function* tailEvents(
  open: () => Promise<TailParts>,
  options: EventsOptions,
): AsyncGenerator<GenevaEvent, void, undefined> {
  const { store, bus, isClosed } = await open()
  const { signal } = options
  const pollMs = options.poll === undefined ? defaultPollMs : toMilliseconds(options.poll, 'The poll of events')
  const bell = new Bell()
  const stopListening = bus.onCommit(() => bell.ring())
  const onAbort = () => bell.ring()
  signal?.addEventListener('abort', onAbort)
  const isOver = () => isClosed() || signal?.aborted === true
  try {
    let read = await firstRead(store, options)
    while (!isOver()) {
      const page = await readPage(store, read)
      for (const event of page?.events ?? []) {
        yield fromStored(event)
        if (isOver()) return
      }
      if (page !== null) read = { ...read, after: page.position, memory: page.memory }
      // Also where the database answers at once, others get their turn.
      if (page?.next === 'at once') await nextTurn()
      else await bell.wait(page?.next === 'soon' ? soonMs : pollMs)
    }
  } finally {
    stopListening()
    signal?.removeEventListener('abort', onAbort)
  }
}

async function firstRead(store: Store, { after, types, workflow }: EventsOptions): Promise<EventRead> {
  if (workflow !== undefined && !store.isId(workflow)) {
    throw new InvalidArgumentError(`${JSON.stringify(workflow)} is no id of a workflow.`)
  }
  return {
    after: after === 'now' ? await store.eventsUntilNow() : Number(after ?? 0),
    limit: pageSize,
    memory: null,
    ...(types === undefined ? {} : { types }),
    ...(workflow === undefined ? {} : { workflowId: workflow }),
  }
}

/** `null` while the database is away: it is asked again. */
async function readPage(store: Store, read: EventRead): Promise<EventPage | null> {
  try {
    return await store.readEvents(read)
  } catch (error) {
    if (store.isLasting(error)) throw error
    return null
  }
}

/** Wakes who waits; one that rings while nobody waits is heard by the next. */
class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  wait(ms: number): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = null
        this.#rung = false
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#wake = done
      if (this.#rung) done()
    })
  }
}
