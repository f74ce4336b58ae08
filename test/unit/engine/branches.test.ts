/** Ways that are taken and ways that are not: conditions, forks, joins and save points, as the engine walks them. */
import { describe, expect, it } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import type { GraphNode } from '../../../src/definition/graph.ts'
import { Workflow } from '../../../src/index.ts'
import { graphOf } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const when = (condition: string, value: boolean): Partial<GraphNode> => ({ guard: { condition, when: value } })
const answers = (result: boolean) => ({ kind: 'completed', output: String(result), result }) as const

describe('a condition', () => {
  const graph = graphOf(
    { a: '', c: 'a', yes1: 'c', yes2: 'yes1', no: 'c', after: 'c yes2 no' },
    { c: { kind: 'condition' }, yes1: when('c', true), no: when('c', false) },
  )

  it('lets the way run that it chose, and leaves out the other, before what comes after both', () => {
    const wf = new PlayedWorkflow(graph)
    wf.complete('a')
    wf.report(['c', answers(true)])
    expect(wf.standing).toBe('yes1 scheduled')
    wf.complete('yes1')
    wf.complete('yes2')
    expect(wf.standing).toBe('after scheduled')
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.attemptsAt('no')).toMatchObject([{ state: 'skipped', outcome: 'not_taken' }])
    expect(wf.counters.size).toBe(0)
  })

  it('leaves out everything on the way that it did not choose, at once', () => {
    const wf = new PlayedWorkflow(graph)
    wf.complete('a')
    wf.report(['c', answers(false)])
    expect(wf.standing).toBe('no scheduled')
    expect(wf.story).toBe('a completed, c completed, yes1 skipped, yes2 skipped')
    wf.complete('no')
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
  })

  it('that is the last of a workflow ends it when nothing is taken', () => {
    const wf = new PlayedWorkflow(graphOf({ c: '', yes: 'c' }, { c: { kind: 'condition' }, yes: when('c', true) }))
    wf.report(['c', answers(false)])
    expect(wf.workflow.state).toBe('finished')
  })

  it('inside a way that is not taken is left out with it, and so is all behind it', () => {
    const nested = graphOf(
      { c: '', d: 'c', x: 'd', y: 'd', behind: 'd x y', after: 'c behind' },
      {
        c: { kind: 'condition' },
        d: { kind: 'condition', ...when('c', true) },
        x: when('d', true),
        y: when('d', false),
      },
    )
    const wf = new PlayedWorkflow(nested)
    wf.report(['c', answers(false)])
    expect(wf.story).toBe('c completed, d skipped, x skipped, y skipped, behind skipped')
    expect(wf.standing).toBe('after scheduled')
  })

  it('keeps a node out that also waits for something else, also when that comes later', () => {
    const both = graphOf(
      { c: '', x: '', yes: 'c x', after: 'c yes' },
      { c: { kind: 'condition' }, yes: when('c', true) },
    )
    const wf = new PlayedWorkflow(both)
    wf.report(['c', answers(false)])
    expect(wf.standing).toBe('x scheduled, after scheduled')
    wf.complete('x')
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.attemptsAt('yes')).toHaveLength(1)
  })
})

describe('a branch of a class that is not taken', () => {
  class Order extends Workflow {
    static {
      this.task('quote', { dependsOn: [] })
      this.condition('asks', () => false, {
        then: b => {
          b.inline('pack', () => {})
          b.inline('ship', { alsoDependsOn: 'quote' }, () => {})
          b.inline('track', () => {})
        },
      })
      this.step('close')
    }
    quote() {}
    close() {}
  }

  it.each(['before', 'after'])('is left out whole, also what depends on a step outside that ends %s', when => {
    const wf = new PlayedWorkflow(definitionOf(Order).graph)
    if (when === 'before') wf.complete('quote')
    wf.report(['asks', answers(false)])
    if (when === 'after') wf.complete('quote')
    expect(wf.standing).toBe('close scheduled')
    for (const node of ['pack', 'ship', 'track']) {
      expect(wf.attemptsAt(node)).toMatchObject([{ state: 'skipped', outcome: 'not_taken' }])
    }
    wf.complete('close')
    expect(wf.workflow.state).toBe('finished')
  })
})

describe('what only a node depends on that is not taken', () => {
  const graph = graphOf(
    { c: '', x1: '', x2: 'x1', yes: 'c x2', after: 'c yes' },
    { c: { kind: 'condition' }, yes: when('c', true) },
  )

  it('is waited for by the end of the workflow, though by no step', () => {
    const wf = new PlayedWorkflow(graph)
    wf.report(['c', answers(false)])
    wf.complete('after')
    expect(wf.workflow.state).toBe('ready')
    wf.complete('x1')
    expect(wf.standing).toBe('x2 scheduled')
    expect(wf.workflow.state).toBe('ready')
    wf.complete('x2')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.counters.size).toBe(0)
  })

  it('ends the workflow no earlier and no later when the node is taken', () => {
    const wf = new PlayedWorkflow(graph)
    wf.complete('x1')
    wf.complete('x2')
    wf.report(['c', answers(true)])
    expect(wf.standing).toBe('yes scheduled')
    wf.complete('yes')
    wf.complete('after')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.counters.size).toBe(0)
  })

  it('is waited for once where several nodes depend on it', () => {
    const both = graphOf(
      { c: '', x: '', yes: 'c x', no: 'c x', after: 'c yes no' },
      { c: { kind: 'condition' }, yes: when('c', true), no: when('c', false) },
    )
    for (const result of [true, false]) {
      const wf = new PlayedWorkflow(both)
      wf.report(['c', answers(result)])
      expect(wf.standing).toBe('x scheduled')
      wf.complete('x')
      wf.complete(result ? 'yes' : 'no')
      wf.complete('after')
      expect(wf.workflow.state).toBe('finished')
      expect(wf.counters.size).toBe(0)
    }
  })
})

describe('a fork', () => {
  const graph = graphOf(
    { a: '', f: 'a', b1: 'f', c: 'f', b2: 'c', 'f#join': 'b1 c b2', after: 'f#join' },
    {
      f: { kind: 'fork' },
      c: { kind: 'condition' },
      b2: when('c', true),
      'f#join': { kind: 'join', join: { rule: 'all', branches: [['b1'], ['c', 'b2']] } },
    },
  )

  it('is passed at once, and its join when every branch has ended', () => {
    const wf = new PlayedWorkflow(graph)
    wf.complete('a')
    expect(wf.standing).toBe('b1 scheduled, c scheduled')
    wf.report(['c', answers(true)])
    wf.complete('b1')
    expect(wf.standing).toBe('b2 scheduled')
    wf.complete('b2')
    expect(wf.standing).toBe('after scheduled')
    expect(wf.story).toBe('a completed, f completed, c completed, b1 completed, b2 completed, f#join completed')
  })

  it('whose branch takes nothing is joined all the same', () => {
    const wf = new PlayedWorkflow(graph)
    wf.complete('a')
    wf.report(['c', answers(false)], ['b1', answers(true)])
    expect(wf.standing).toBe('after scheduled')
  })
})
