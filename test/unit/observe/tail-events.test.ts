/** Where the loop over the record of events begins and ends while the database is away. */
import { expect, it } from 'vitest'
import { EventBus } from '../../../src/observe/event-bus.ts'
import { type EventsOptions, tailEvents } from '../../../src/observe/tail-events.ts'
import type { EventRead } from '../../../src/store/event-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { ErrorListener } from '../../../src/worker/error-listener.ts'

const newest = 500

/** A record of five hundred events in a database that is away at the first so many questions about its end. */
function recordThatIsAway(failures: number) {
  const reads: number[] = []
  const asked = { lastEvent: 0, settled: 0 }
  const store = {
    isId: () => true,
    isLasting: () => false,
    observe: () => {},
    lastEvent: async () => {
      asked.lastEvent++
      if (asked.lastEvent <= failures) throw new Error('Connection terminated unexpectedly')
      return newest
    },
    settleEvents: async ({ upTo }: { readonly upTo: number }) => {
      asked.settled++
      return { settled: upTo, memory: null }
    },
    readEvents: async ({ after }: EventRead) => {
      reads.push(after)
      const events = after < newest ? [eventOf(newest)] : []
      return { events, position: newest, memory: null, next: 'later' }
    },
  } as unknown as Store
  const source = { closed: false, open: async () => ({ engine: { store } }) }
  const bus = new EventBus(new ErrorListener(() => {}))
  const follow = (options: EventsOptions) => tailEvents(source, bus, { poll: '1 ms', ...options })
  return { follow, reads, asked, source, bus }
}

function eventOf(id: number) {
  return { id: String(id), workflowId: '1', workflowType: 'Order', type: 'workflow.finished', at: 0, payload: null }
}

it('a loop from now on repeats no old event, also if the database is away when it begins', async () => {
  const { follow, reads } = recordThatIsAway(1)
  const over = new AbortController()
  const heard: (string | null)[] = []
  const following = (async () => {
    for await (const { position } of follow({ after: 'now', signal: over.signal })) heard.push(position)
  })()
  await expect.poll(() => reads.length).toBeGreaterThan(0)
  over.abort()
  await following
  expect(reads[0]).toBe(newest)
  expect(heard).toEqual([])
})

it('a loop over what is there tells it, also if the database is away when it begins', async () => {
  const { follow } = recordThatIsAway(3)
  const heard: (string | null)[] = []
  for await (const { position } of follow({ follow: false })) heard.push(position)
  expect(heard).toEqual(['500'])
})

it('a loop that is ended while the database is away reads nothing', async () => {
  const { follow, reads, asked } = recordThatIsAway(Number.POSITIVE_INFINITY)
  const over = new AbortController()
  const following = (async () => {
    for await (const _ of follow({ after: 'now', signal: over.signal }));
  })()
  await expect.poll(() => asked.lastEvent).toBeGreaterThan(2)
  over.abort()
  await following
  expect(reads).toEqual([])
})
