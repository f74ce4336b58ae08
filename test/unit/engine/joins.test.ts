/** Joins that need not wait for all: the table of fates, what happens to losers, and failures that end a branch only. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Graph, GraphNode, JoinRule } from '../../../src/definition/graph.ts'
import { decideResume } from '../../../src/engine/decide-request.ts'
import { type BranchStanding, fateOfJoin } from '../../../src/engine/joins.ts'
import { graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const standings: readonly BranchStanding[] = ['open', 'succeeded', 'skipped', 'left_out', 'failed']

describe('the fate of a join', () => {
  /** Written out from the rules once more: what can still become of the open branches decides. */
  function expected(rule: 'settled' | { atLeast: number }, branches: readonly BranchStanding[]): string {
    const count = (...wanted: BranchStanding[]) => branches.filter(branch => wanted.includes(branch)).length
    if (count('left_out') === branches.length) return 'left_out'
    if (rule === 'settled') return count('open') > 0 ? 'waits' : 'fires'
    if (count('succeeded') >= rule.atLeast) return 'fires'
    const needed = Math.min(rule.atLeast, count('open', 'succeeded', 'failed'))
    if (count('open') === 0) return count('succeeded') >= needed ? 'fires' : 'lost'
    return count('succeeded', 'open') >= needed ? 'waits' : 'lost'
  }

  const rules = ['settled', { atLeast: 1 }, { atLeast: 2 }, { atLeast: 3 }] as const
  const three = standings.flatMap(a => standings.flatMap(b => standings.map(c => [a, b, c])))

  it.each(rules)('%o: every combination of three branches is decided by the rules', rule => {
    for (const branches of three)
      expect([branches, fateOfJoin(rule, branches)]).toEqual([branches, expected(rule, branches)])
  })

  it('never changes once it has fired, whatever the open branches do', () => {
    const branch = fc.constantFrom(...standings)
    const rule = fc.oneof(fc.constant('settled' as const), fc.record({ atLeast: fc.integer({ min: 1, max: 4 }) }))
    fc.assert(
      fc.property(
        rule,
        fc.array(branch, { minLength: 2, maxLength: 5 }),
        fc.array(branch),
        (given, branches, later) => {
          fc.pre(fateOfJoin(given, branches) === 'fires')
          const ended = branches.map((each, index) => (each === 'open' ? (later[index] ?? 'open') : each))
          expect(fateOfJoin(given, ended)).toBe('fires')
        },
      ),
    )
  })
})

/** a forks to b1 → b2 and to c; the join of both comes before z. */
function race(rule: JoinRule, more: Readonly<Record<string, Partial<GraphNode>>> = {}): Graph {
  return graphOf(
    { a: '', f: 'a', b1: 'f', b2: 'b1', c: 'f', j: 'b2 c', z: 'j' },
    { f: { kind: 'fork' }, j: { kind: 'join', join: { rule, branches: [['b2'], ['c']] } }, ...more },
  )
}

describe('a join of any', () => {
  it('goes on with the first that completes, and ends what is left of the others', () => {
    const wf = new PlayedWorkflow(race({ atLeast: 1 }))
    wf.complete('a')
    wf.complete('c')
    expect(wf.standing).toBe('z scheduled')
    expect(wf.attemptsAt('b1')).toMatchObject([{ state: 'canceled', outcome: 'superseded' }])
    expect(wf.attemptsAt('b2')).toMatchObject([{ state: 'skipped', outcome: 'not_taken' }])
    wf.complete('z')
    expect(wf.workflow).toMatchObject({ state: 'finished', partial: false })
  })

  it('tells what still runs to stop, waits for it at the end, and lets nothing follow from it', () => {
    const wf = new PlayedWorkflow(race({ atLeast: 1 }))
    wf.complete('a')
    wf.begin('b1')
    wf.complete('c')
    expect(wf.standing).toBe('b1 in_progress, z scheduled')
    wf.complete('z')
    expect(wf.workflow).toMatchObject({ state: 'ready', finishing: true })
    wf.complete('b1')
    expect(wf.workflow.state).toBe('finished')
    expect(wf.attemptsAt('b1')).toMatchObject([{ state: 'completed', outcome: 'superseded' }])
    expect(wf.rows.size).toBe(0)
  })

  it('does without a branch that fails, whatever its policy, while another may still complete', () => {
    for (const action of ['pause', 'cancel', 'rollback', 'dlq'] as const) {
      const wf = new PlayedWorkflow(race({ atLeast: 1 }))
      wf.complete('a')
      wf.report(['b1', threw({ action })])
      expect(wf.workflow.state).toBe('ready')
      expect(wf.standing).toBe('c scheduled')
      wf.complete('c')
      wf.complete('z')
      expect(wf.workflow.state).toBe('finished')
    }
  })

  it('fails with the last branch, whose policy acts then', () => {
    const wf = new PlayedWorkflow(race({ atLeast: 1 }))
    wf.complete('a')
    wf.report(['b1', threw({ action: 'cancel' })])
    wf.report(['c', threw({ action: 'pause' })])
    expect(wf.workflow).toMatchObject({ state: 'paused', pauseCause: 'exception' })
    wf.ask((draft, plan) => decideResume(draft, { by: null, reason: null }, plan))
    expect(wf.standing).toBe('b1 scheduled, c scheduled')
    wf.complete('c')
    expect(wf.standing).toBe('z scheduled')
  })
})

describe('a settled join', () => {
  it('goes on when all have ended in whatever way, and marks the workflow as partial', () => {
    const wf = new PlayedWorkflow(race('settled'))
    wf.complete('a')
    wf.report(['c', threw({ action: 'pause' })])
    expect(wf.standing).toBe('b1 scheduled')
    wf.complete('b1')
    wf.complete('b2')
    expect(wf.standing).toBe('z scheduled')
    wf.complete('z')
    expect(wf.workflow).toMatchObject({ state: 'finished', partial: true })
  })

  it('also goes on when the last thing to happen is a failure', () => {
    const wf = new PlayedWorkflow(race('settled'))
    wf.complete('a')
    wf.complete('c')
    wf.report(['b1', threw({ action: 'rollback' })])
    expect(wf.standing).toBe('z scheduled')
    expect(wf.attemptsAt('b2')).toMatchObject([{ outcome: 'not_taken' }])
  })

  it('without a failure leaves no mark', () => {
    const wf = new PlayedWorkflow(race('settled'))
    for (const node of ['a', 'c', 'b1', 'b2', 'z']) wf.complete(node)
    expect(wf.workflow).toMatchObject({ state: 'finished', partial: false })
  })
})

describe('a join inside a branch of another', () => {
  const nested = graphOf(
    { f: '', g: 'f', x: 'g', y: 'g', inner: 'x y', c: 'f', outer: 'inner c', z: 'outer' },
    {
      f: { kind: 'fork' },
      g: { kind: 'fork' },
      inner: { kind: 'join', join: { rule: { atLeast: 1 }, branches: [['x'], ['y']] } },
      outer: { kind: 'join', join: { rule: { atLeast: 1 }, branches: [['inner'], ['c']] } },
    },
  )

  it('that is lost ends its branch of the outer one only', () => {
    const wf = new PlayedWorkflow(nested)
    wf.complete('f')
    wf.report(['x', threw({ action: 'pause' })])
    wf.report(['y', threw({ action: 'pause' })])
    expect(wf.workflow.state).toBe('ready')
    wf.complete('c')
    expect(wf.standing).toBe('z scheduled')
  })
})
