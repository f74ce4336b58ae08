/** Emitting: what is kept with the attempt, and what is refused before anything is written. */
import { describe, expect, it } from 'vitest'
import { emit, maxEventsPerRun, mistakeInEventName, reservedPrefixes } from '../../../src/definition/emit.ts'
import type { EmittedEvent, StepContext } from '../../../src/definition/step-context.ts'

function context(hasEnded = false): StepContext {
  const execution = { id: '2', node: 'ship', attempt: 1, idempotencyKey: 'key' }
  const emitted: EmittedEvent[] = []
  const addEvent = (event: EmittedEvent) => emitted.push(event)
  return { workflowId: '1', execution, emitted, hasEnded, addEvent } as unknown as StepContext
}

describe('emit', () => {
  it('keeps events in order, encoded as they are at that moment', () => {
    const step = context()
    const payload = { orderId: 1 }
    emit(step, 'order.shipped', payload)
    payload.orderId = 2
    emit(step, 'order.noted', undefined)
    expect(step.emitted).toEqual([
      { type: 'order.shipped', payload: '{"orderId":1}' },
      { type: 'order.noted', payload: 'null' },
    ])
  })

  it('refuses what cannot be stored, and what is too large', () => {
    expect(() => emit(context(), 'order.shipped', { on: () => {} })).toThrow(/payload of order\.shipped/)
    expect(() => emit(context(), 'order.shipped', 'x'.repeat(70_000))).toThrow(/payload of order\.shipped/)
  })

  it('refuses more than a run may emit', () => {
    const step = context()
    for (let i = 0; i < maxEventsPerRun; i++) emit(step, 'order.shipped', i)
    expect(() => emit(step, 'order.shipped', 0)).toThrow(/more than 1000 events/)
  })

  it('refuses events after the end, when nobody would write them', () => {
    const step = context(true)
    expect(() => emit(step, 'order.shipped', 1)).toThrow(
      /Step ship of workflow 1 emits order\.shipped after it has ended/,
    )
  })
})

describe('the name of an event', () => {
  it.each(['order.shipped', 'a.b.c', 'Order_2.was-shipped', 'été.fini'])('%s is fine', name => {
    expect(mistakeInEventName(name)).toBeNull()
  })

  it.each([
    'shipped',
    '.shipped',
    'order.',
    'order..shipped',
    'order shipped.now',
    'a.\0',
    `a.${'b'.repeat(200)}`,
    '',
    7,
  ])('%j is refused', name => {
    expect(mistakeInEventName(name)).not.toBeNull()
  })

  it.each([...reservedPrefixes, 'Step.'])('with %s belongs to the engine', prefix => {
    expect(mistakeInEventName(`${prefix}mine`)).toMatch(/kept for the engine/)
  })
})
