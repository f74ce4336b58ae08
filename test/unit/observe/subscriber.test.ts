/** A subscriber: one event at a time, in order, outside of the caller's turn, and never more behind than it may be. */
import { describe, expect, it } from 'vitest'
import { EventsDroppedError } from '../../../src/errors.ts'
import { maxBehind, Subscriber } from '../../../src/observe/subscriber.ts'
import type { CommittedEvent } from '../../../src/store/event-store.ts'
import { gate } from '../../support/wait-for.ts'

function events(count: number, from = 0): CommittedEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    event: { workflowId: String(from + index), type: 'workflow.healed' },
    workflowType: 'Sample',
    at: 0,
  }))
}

function listening(handle: (id: number) => unknown) {
  const errors: unknown[] = []
  const subscription = {
    accepts: () => true,
    handle: (event: { readonly workflowId: string }) => handle(Number(event.workflowId)),
  }
  return { errors, subscriber: new Subscriber(subscription, error => errors.push(error)) }
}

describe('a subscriber', () => {
  it('is not called while events are offered, and then in order', async () => {
    const heard: number[] = []
    const { subscriber } = listening(id => heard.push(id))
    subscriber.offer(events(3))
    subscriber.offer(events(2, 3))
    expect(heard).toEqual([])
    await subscriber.idle()
    expect(heard).toEqual([0, 1, 2, 3, 4])
  })

  it('hears the next event when it is done with the one before', async () => {
    const first = gate()
    const heard: number[] = []
    const { subscriber } = listening(id => {
      heard.push(id)
      return id === 0 ? first.passed : null
    })
    subscriber.offer(events(2))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(heard).toEqual([0])
    first.open()
    await subscriber.idle()
    expect(heard).toEqual([0, 1])
  })

  it('goes on after it has thrown or rejected, and the errors are told', async () => {
    const { subscriber, errors } = listening(id => {
      if (id === 0) throw new Error('thrown')
      return id === 1 ? Promise.reject(new Error('rejected')) : null
    })
    subscriber.offer(events(3))
    await subscriber.idle()
    expect(errors).toMatchObject([{ message: 'thrown' }, { message: 'rejected' }])
  })

  it('loses the oldest events when it is too far behind, and is told how many', async () => {
    const first = gate()
    const heard: number[] = []
    const { subscriber, errors } = listening(id => {
      heard.push(id)
      return id === 0 ? first.passed : null
    })
    subscriber.offer(events(1))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    for (let from = 1; from <= maxBehind + 500; from += 500) subscriber.offer(events(500, from))
    first.open()
    await subscriber.idle()
    expect(heard.length).toBe(1 + maxBehind)
    expect(heard.slice(0, 2)).toEqual([0, 501])
    expect(errors).toMatchObject([{ code: 'EVENTS_DROPPED', count: 500 }])
    expect(errors[0]).toBeInstanceOf(EventsDroppedError)
  })

  it('may be less far behind where events carry much', async () => {
    const first = gate()
    const heard: number[] = []
    const { subscriber, errors } = listening(id => {
      heard.push(id)
      return id === 0 ? first.passed : null
    })
    const large = JSON.stringify('x'.repeat(40_000))
    const heavy = events(2000).map(item => ({ ...item, event: { ...item.event, payload: large } }))
    subscriber.offer(heavy.slice(0, 1))
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    subscriber.offer(heavy.slice(1))
    first.open()
    await subscriber.idle()
    expect(heard).toHaveLength(1 + maxBehind / 10)
    expect(errors).toMatchObject([{ code: 'EVENTS_DROPPED', count: 999 }])
  })

  it('hears nothing more once it has ended', async () => {
    const heard: number[] = []
    const { subscriber } = listening(id => heard.push(id))
    subscriber.offer(events(3))
    subscriber.end()
    await subscriber.idle()
    expect(heard).toEqual([])
  })
})
