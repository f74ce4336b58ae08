/** An `each` in a branch of a join that need not wait for all: an item that has failed for good ends the branch. */
import { describe, expect, it } from 'vitest'
import type { Graph, GraphNode, JoinRule } from '../../../src/definition/graph.ts'
import { decideRequeue } from '../../../src/engine/dead-letters.ts'
import { decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const request = { by: null, reason: null }
const three: StepReport = { kind: 'items', items: ['0', '1', '2'] }
const skips: StepReport = { kind: 'skip', by: 'flow_control', reason: null }
const any = { atLeast: 1 }

/** f forks to mail, which has items, and to c; the join of both comes before z. */
function mailing(rule: JoinRule, mail: Partial<GraphNode> = {}): Graph {
  return graphOf(
    { f: '', mail: 'f', c: 'f', j: 'mail c', z: 'j' },
    { f: { kind: 'fork' }, mail: { kind: 'each', ...mail }, j: joining(rule, 'mail', 'c') },
  )
}

function joining(rule: JoinRule, ...ends: string[]): Partial<GraphNode> {
  return { kind: 'join', join: { rule, branches: ends.map(end => [end]) } }
}

function begun(graph: Graph): PlayedWorkflow {
  const wf = new PlayedWorkflow(graph)
  wf.complete('f')
  wf.report(['mail', three])
  return wf
}

describe('a settled join', () => {
  it('waits for the other items when one has failed, and goes on when they have ended', () => {
    const wf = begun(mailing('settled'))
    wf.complete('c')
    wf.report(['mail/0', threw({ action: 'pause' })])
    expect(wf.standing).toBe('mail waiting, mail/1 scheduled, mail/2 scheduled')
    wf.complete('mail/1')
    wf.report(['mail/2', skips])
    expect(wf.standing).toBe('z scheduled')
    expect(wf.attemptsAt('mail')).toMatchObject([{ state: 'canceled', outcome: 'superseded' }])
    wf.complete('z')
    expect(wf.workflow).toMatchObject({ state: 'finished', partial: true })
  })

  it('goes on when the last item fails, and when the other branch ends last', () => {
    const wf = begun(mailing('settled'))
    wf.complete('mail/0', 'mail/1')
    wf.report(['mail/2', threw({ action: 'rollback' })])
    expect(wf.standing).toBe('mail waiting, c scheduled')
    wf.complete('c')
    expect(wf.standing).toBe('z scheduled')
    const other = begun(mailing('settled'))
    other.complete('c', 'mail/0', 'mail/1')
    other.report(['mail/2', threw({ action: 'rollback' })])
    expect(other.standing).toBe('z scheduled')
  })

  it.each(['pause', 'cancel', 'rollback', 'dlq'] as const)(
    'lets an item that fails leave its place to the next, whatever its policy: %s',
    action => {
      const wf = begun(mailing('settled', { concurrency: 1 }))
      expect(wf.standing).toContain('mail/0 scheduled, mail/1 waiting, mail/2 waiting')
      wf.complete('c')
      wf.report(['mail/0', threw({ action })])
      expect(wf.standing).toContain('mail/1 scheduled, mail/2 waiting')
      wf.complete('mail/1')
      wf.report(['mail/2', threw({ action })])
      expect(wf.standing).toBe('z scheduled')
    },
  )

  it('goes on when a person skips what was left of the items', () => {
    const wf = begun(mailing('settled'))
    wf.complete('c', 'mail/1')
    wf.report(['mail/0', threw({ action: 'pause' })])
    wf.ask((draft, plan) => decideSkip(draft, 'mail/2', request, plan))
    expect(wf.standing).toBe('z scheduled')
  })

  it('of which an inner join has lost its items goes on', () => {
    const edges = { f: '', g: 'f', mail: 'g', y: 'g', k: 'mail y', c: 'f', j: 'k c', z: 'j' }
    const fork: Partial<GraphNode> = { kind: 'fork' }
    const nodes = { f: fork, g: fork, mail: { kind: 'each' as const }, k: joining(any, 'mail', 'y') }
    const wf = begun(graphOf(edges, { ...nodes, j: joining('settled', 'k', 'c') }))
    wf.complete('c', 'mail/1', 'mail/2')
    wf.report(['mail/0', threw({ action: 'pause' })])
    expect(wf.standing).toBe('mail waiting, y scheduled')
    wf.report(['y', threw({ action: 'pause' })])
    expect(wf.standing).toBe('z scheduled')
  })
})

describe('a join of any', () => {
  it('goes on with the other branch, and ends what is left of the items', () => {
    const wf = begun(mailing(any))
    wf.begin('mail/1')
    wf.report(['mail/0', threw({ action: 'pause' })])
    expect(wf.workflow.state).toBe('ready')
    wf.complete('c')
    expect(wf.standing).toBe('mail/1 in_progress, z scheduled')
    wf.complete('mail/1')
    expect(wf.attemptsAt('mail/1')).toMatchObject([{ state: 'completed', outcome: 'superseded' }])
    wf.complete('z')
    expect(wf.workflow).toMatchObject({ state: 'finished', partial: false })
  })

  it.each([
    ['pause', 'paused'],
    ['cancel', 'canceled'],
    ['rollback', 'failed'],
    ['dlq', 'dlq'],
  ] as const)('is lost when the last branch it had is one whose item fails: %s', (action, state) => {
    const wf = begun(mailing(any))
    wf.report(['c', threw({ action: 'pause' })])
    wf.complete('mail/1', 'mail/2')
    wf.report(['mail/0', threw({ action })])
    expect(wf.workflow.state).toBe(state)
  })

  it.each([
    ['pause', 'paused'],
    ['cancel', 'canceled'],
    ['rollback', 'failed'],
    ['dlq', 'dlq'],
  ] as const)('that is lost later lets the policy of the item act then: %s', (action, state) => {
    const wf = begun(mailing(any))
    wf.complete('mail/1', 'mail/2')
    wf.report(['mail/0', threw({ action })])
    expect(wf.workflow.state).toBe('ready')
    wf.report(['c', skips])
    expect(wf.workflow.state).toBe(state)
  })

  it('that is lost gets its items again when the workflow is resumed', () => {
    const wf = begun(mailing(any, { concurrency: 1 }))
    wf.report(['c', threw({ action: 'pause' })])
    wf.report(['mail/0', threw({ action: 'pause' })])
    expect(wf.standing).toContain('mail/1 scheduled')
    wf.complete('mail/1')
    wf.complete('mail/2')
    expect(wf.workflow.state).toBe('paused')
    wf.ask((draft, plan) => decideResume(draft, request, plan))
    wf.complete('mail/0')
    expect(wf.standing).toBe('z scheduled')
  })

  /** mail/0 was done without and has left its place, before a skip loses the join and its letter is opened. */
  function givenUpLate(): PlayedWorkflow {
    const wf = begun(mailing(any, { concurrency: 1 }))
    wf.report(['mail/0', threw({ action: 'dlq' })])
    wf.begin('mail/1')
    wf.report(['c', skips])
    expect(wf.standing).toBe('mail waiting, mail/1 in_progress, mail/2 waiting, mail/0 paused')
    return wf
  }

  function requeue(wf: PlayedWorkflow): void {
    const [letterId = ''] = wf.letters.keys()
    wf.ask((draft, plan) => decideRequeue(draft, { letterId, request, input: null }, plan))
  }

  it('that is lost later gives no place to an item that is requeued while others have it', () => {
    const wf = givenUpLate()
    requeue(wf)
    expect(wf.standing).toBe('mail waiting, mail/1 in_progress, mail/2 waiting, mail/0 waiting')
    wf.complete('mail/1')
    expect(wf.standing).toBe('mail waiting, mail/2 waiting, mail/0 scheduled')
    wf.complete('mail/0')
    wf.complete('mail/2')
    expect(wf.standing).toBe('z scheduled')
  })

  it('that is lost later lets no more items go than have a place when it was held meanwhile', () => {
    const wf = givenUpLate()
    wf.complete('mail/1')
    expect(wf.standing).toBe('mail waiting, mail/2 waiting, mail/0 paused')
    requeue(wf)
    expect(wf.standing).toBe('mail waiting, mail/2 waiting, mail/0 scheduled')
    wf.complete('mail/0')
    wf.complete('mail/2')
    expect(wf.standing).toBe('z scheduled')
  })

  it('that is lost later lets an item go that is requeued before another which has failed like it', () => {
    const wf = begun(mailing(any, { concurrency: 1 }))
    wf.report(['mail/0', threw({ action: 'dlq' })])
    wf.report(['mail/1', threw({ action: 'dlq' })])
    wf.complete('mail/2')
    wf.report(['c', skips])
    expect(wf.standing).toBe('mail waiting, mail/0 paused, mail/1 paused')
    requeue(wf)
    expect(wf.standing).toBe('mail waiting, mail/0 scheduled, mail/1 paused')
    requeue(wf)
    expect(wf.standing).toBe('mail waiting, mail/0 scheduled, mail/1 waiting')
    wf.complete('mail/0')
    wf.complete('mail/1')
    expect(wf.standing).toBe('z scheduled')
  })
})
