/** What a worker runs, and who is told to stop. */
import { describe, expect, it } from 'vitest'
import type { ClaimedExecution } from '../../../src/store/records.ts'
import type { HeldExecution } from '../../../src/store/store.ts'
import { RunningSteps } from '../../../src/worker/running-steps.ts'
import { facts, row } from '../engine/facts.ts'

const claimed = (id: string): ClaimedExecution => ({
  execution: row({ id, workflowId: id }),
  workflow: facts({}).workflow,
  input: null,
})

const held = (id: string, more: Partial<HeldExecution> = {}): HeldExecution => ({
  workflowId: id,
  slot: '',
  id,
  fence: 5,
  stopping: false,
  pausing: false,
  ...more,
})

describe('a request to shut down', () => {
  it('interrupts what runs, what begins only now, and what runs on in the place of another', () => {
    const running = new RunningSteps()
    const before = running.add(claimed('1'))
    running.interruptAll('shutting down')
    const after = running.add(claimed('2'))
    expect([before.interruption, after.interruption]).toEqual(['shutting down', 'shutting down'])
    running.goOn(before, claimed('3'))
    expect(before.interruption).toBe('shutting down')
    expect([before, after].some(step => step.signal.aborted)).toBe(false)
  })
})

describe('the answer to a heartbeat', () => {
  it('interrupts steps of paused workflows without aborting them', () => {
    const running = new RunningSteps()
    const step = running.add(claimed('1'))
    running.compare(running.snapshot(), [held('1', { pausing: true })])
    expect(step.interruption).toBe('paused')
    expect(step.signal.aborted).toBe(false)
  })

  it('is forgotten with the next step in the same place', () => {
    const running = new RunningSteps()
    const step = running.add(claimed('1'))
    running.compare(running.snapshot(), [held('1', { pausing: true })])
    running.goOn(step, claimed('2'))
    expect(step.interruption).toBeNull()
  })

  it.each([
    ['canceled', [held('1', { stopping: true })]],
    ['claim lost', [held('1', { fence: 6 })]],
    ['claim lost', []],
  ])('interrupts and aborts what is %s', (reason, answer) => {
    const running = new RunningSteps()
    const step = running.add(claimed('1'))
    running.compare(running.snapshot(), answer)
    expect(step.interruption).toBe(reason)
    expect(step.signal.reason).toBe(reason)
  })

  it('leaves alone a step that is reporting, or that has begun since', () => {
    const running = new RunningSteps()
    const step = running.add(claimed('1'))
    const known = running.snapshot()
    step.reporting = true
    running.compare(known, [])
    running.goOn(step, claimed('2'))
    running.compare(known, [])
    expect(step.interruption).toBeNull()
  })
})

it('the first reason to stop is the one that counts', () => {
  const running = new RunningSteps()
  const step = running.add(claimed('1'))
  running.compare(running.snapshot(), [held('1', { pausing: true })])
  running.stopAll('shutting down')
  expect(step.interruption).toBe('paused')
  expect(step.signal.reason).toBe('shutting down')
})
