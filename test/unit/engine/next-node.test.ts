/** Which node comes next: what a resume would run again, else what nothing is planned for yet and may still run. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { GraphNode } from '../../../src/definition/graph.ts'
import { decidePause, decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import { goBack } from '../../../src/engine/go-back.ts'
import { nextNode } from '../../../src/engine/next-node.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { chain, completed, diamond, graphOf, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'

const asked = { by: 'ann', reason: 'because' }
const failing = threw({ action: 'pause' })
const when = (condition: string, value: boolean): Partial<GraphNode> => ({ guard: { condition, when: value } })
const answers = (result: boolean) => ({ kind: 'completed', output: String(result), result }) as const

function next(wf: PlayedWorkflow): string | null {
  let found: string | null = null
  wf.ask((draft, plan) => {
    found = nextNode(draft, plan)
  })
  return found
}

const resume = (wf: PlayedWorkflow) => wf.ask((draft, plan) => decideResume(draft, asked, plan))

describe('in a chain', () => {
  it('it is the step after the one that is scheduled, runs or is held, and none behind the last', () => {
    const wf = new PlayedWorkflow(chain('a', 'b', 'c'))
    expect(next(wf)).toBe('b')
    wf.begin('a')
    expect(next(wf)).toBe('b')
    wf.complete('a')
    wf.ask(draft => decidePause(draft, asked))
    expect([wf.standing, next(wf)]).toEqual(['b paused', 'c'])
    resume(wf)
    wf.complete('b')
    expect(next(wf)).toBeNull()
    wf.complete('c')
    expect([wf.workflow.state, next(wf)]).toEqual(['finished', null])
  })

  it.each<[string, StepReport]>([
    ['has failed', failing],
    ['has paused the workflow itself', { kind: 'pause', hold: false, reason: null }],
  ])('it is the step that %s, which a resume runs again', (_, report) => {
    const wf = new PlayedWorkflow(chain('a', 'b'))
    wf.report(['a', report])
    expect(next(wf)).toBe('a')
    resume(wf)
    expect([wf.standing, next(wf)]).toEqual(['a scheduled', 'b'])
  })

  it('it is the step after one that was given up: its next attempt is held already', () => {
    const wf = new PlayedWorkflow(chain('a', 'b'))
    wf.report(['a', threw({ action: 'dlq' })])
    expect([wf.standing, next(wf)]).toEqual(['a paused', 'b'])
  })

  it('it is none while the workflow winds down, or has been declared finished while it was paused', () => {
    const canceled = new PlayedWorkflow(chain('a', 'b'))
    canceled.begin('a')
    canceled.workflow = { ...canceled.workflow, state: 'rolling_back' }
    expect(next(canceled)).toBeNull()
    const finished = new PlayedWorkflow(chain('a', 'b'))
    finished.begin('a')
    finished.ask(draft => decidePause(draft, asked))
    finished.report(['a', { kind: 'finish', output: null, reason: null }])
    expect([finished.workflow.state, next(finished)]).toEqual(['paused', null])
  })
})

describe('in a graph', () => {
  it('it is a node that has failed, though others have ended after it', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['b', failing])
    expect([wf.standing, next(wf)]).toEqual(['c scheduled', 'b'])
    wf.complete('c')
    expect([wf.workflow.state, next(wf)]).toEqual(['paused', 'b'])
    resume(wf)
    expect([wf.standing, next(wf)]).toEqual(['b scheduled', 'd'])
  })

  it('of several that have failed it is the first in the order of the graph, not of time', () => {
    const wf = new PlayedWorkflow(diamond)
    wf.complete('a')
    wf.report(['c', failing])
    wf.report(['b', failing])
    expect(next(wf)).toBe('b')
    wf.ask((draft, plan) => decideSkip(draft, 'b', asked, plan))
    expect(next(wf)).toBe('c')
  })

  it('it is what is to come, though the latest row has nothing behind it', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', e: 'a', z: 'e', leaf: 'a' }))
    wf.complete('a')
    expect([wf.standing, next(wf)]).toEqual(['e scheduled, leaf scheduled', 'z'])
    wf.complete('e')
    expect(next(wf)).toBeNull()
  })

  it('parents come before children, in whatever order they were declared', () => {
    const wf = new PlayedWorkflow(graphOf({ last: 'second', second: 'first', first: 'entry', entry: '' }))
    expect(next(wf)).toBe('first')
  })

  it('it is told by its name where that is not its id', () => {
    const graph = graphOf({ n1: '', n2: 'n1' }, { n1: { name: 'fetch' }, n2: { name: 'store' } })
    const wf = new PlayedWorkflow(graph)
    expect(next(wf)).toBe('store')
    wf.report(['n1', failing])
    expect(next(wf)).toBe('fetch')
  })

  it('it is not one that a deploy has added behind the point that was reached', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', z: 'a' }))
    wf.complete('a')
    wf.begin('z')
    wf.deploy(graphOf({ a: '', late: 'a', z: 'late' }))
    expect(next(wf)).toBeNull()
  })

  it('that has failed and that the code has lost it is that one', () => {
    const wf = new PlayedWorkflow(graphOf({ a: '', b: 'a' }))
    wf.report(['a', failing])
    wf.deploy(graphOf({ b: '' }))
    expect(next(wf)).toBe('a')
  })
})

describe('with conditions', () => {
  const graph = graphOf(
    { c: '', yes1: 'c', yes2: 'yes1', no1: 'c', no2: 'no1', after: 'yes2 no2' },
    { c: { kind: 'condition' }, yes1: when('c', true), no1: when('c', false) },
  )

  it('it is never a node of the branch that was not taken', () => {
    const wf = new PlayedWorkflow(graph)
    expect(next(wf)).toBe('yes1')
    wf.report(['c', answers(false)])
    expect([wf.standing, next(wf)]).toEqual(['no1 scheduled', 'no2'])
    wf.complete('no1')
    expect(next(wf)).toBe('after')
    wf.complete('no2')
    expect(next(wf)).toBeNull()
  })
})

describe('with a join of any', () => {
  const graph = graphOf(
    { b1: '', b2: 'b1', c: '', j: 'b2 c', z: 'j' },
    { j: { kind: 'join', join: { rule: { atLeast: 1 }, branches: [['b2'], ['c']] } } },
  )

  it('it is neither what has failed and can be done without, nor what comes behind that in its branch', () => {
    const wf = new PlayedWorkflow(graph)
    wf.report(['b1', failing])
    expect([wf.standing, next(wf)]).toEqual(['c scheduled', 'j'])
    wf.complete('c')
    expect([wf.standing, next(wf)]).toEqual(['z scheduled', null])
  })

  it('it is what has failed once the join is lost', () => {
    const wf = new PlayedWorkflow(graph)
    wf.report(['b1', failing])
    wf.report(['c', failing])
    expect([wf.workflow.state, next(wf)]).toEqual(['paused', 'b1'])
  })
})

describe('with the items of a node', () => {
  const graph = graphOf({ all: '', after: 'all' }, { all: { kind: 'each', concurrency: 2 } })
  const items: StepReport = { kind: 'items', items: Array.from({ length: 12 }, (_, index) => String(index)) }

  it('it is what comes after the node, and never an item that waits for its place', () => {
    const wf = new PlayedWorkflow(graph)
    wf.report(['all', items])
    expect(next(wf)).toBe('after')
  })

  it('it is the item that has failed, of several the one with the lowest number', () => {
    const wf = new PlayedWorkflow(graph)
    wf.report(['all', items])
    for (let index = 0; index < 12; index++)
      wf.report([`all/${index}`, index === 11 || index === 2 ? failing : completed])
    expect([wf.workflow.state, next(wf)]).toEqual(['paused', 'all/2'])
    wf.ask((draft, plan) => decideSkip(draft, 'all/2', asked, plan))
    expect(next(wf)).toBe('all/11')
  })
})

describe('after somebody has sent the workflow back', () => {
  it('what earlier rounds have done is still to come', () => {
    const wf = new PlayedWorkflow(chain('a', 'b', 'c', 'd'))
    wf.complete('a')
    wf.complete('b')
    wf.ask((draft, plan) => {
      const [row] = draft.rows()
      if (row) draft.end(row, 'canceled', 'rejected')
      goBack(draft, plan, { from: 'c', to: 'b', request: asked })
    })
    expect([wf.standing, next(wf)]).toEqual(['b scheduled', 'c'])
    wf.complete('b')
    expect(next(wf)).toBe('d')
  })
})

describe('in any graph', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const anyGraph = fc.array(fc.nat({ max: 63 }), { minLength: 1, maxLength: 6 }).map(masks => {
    const parents = (mask: number, index: number) => names.slice(0, index).filter((_, before) => (mask >> before) & 1)
    return graphOf(Object.fromEntries(masks.map((mask, index) => [names[index] ?? '', parents(mask, index).join(' ')])))
  })
  const anyTurns = fc.array(fc.record({ which: fc.nat({ max: 20 }), fails: fc.boolean() }), { maxLength: 12 })

  it('a resume runs what has failed and is next, and what is pending and next gets its turn', () => {
    fc.assert(
      fc.property(anyGraph, anyTurns, (graph, turns) => {
        const wf = new PlayedWorkflow(graph)
        for (const { which, fails } of turns) {
          const open = [...wf.rows.values()]
          const row = open[which % Math.max(1, open.length)]
          if (row !== undefined) wf.report([row.node, fails ? failing : completed])
          const found = next(wf)
          const before = found === null ? [] : wf.attemptsAt(found)
          const hasRow = [...wf.rows.values()].some(({ node }) => node === found)
          expect(hasRow, 'it has no row').toBe(false)
          if (wf.workflow.state === 'paused') {
            expect(before.at(-1)?.state, 'what has failed comes first').toBe('failed')
            resume(wf)
            expect(wf.rowOf(found ?? '').state).toBe('scheduled')
          } else if (found === null) {
            const seen = new Set([
              ...wf.history.map(({ execution }) => execution.node),
              ...open.map(({ node }) => node),
            ])
            expect(
              graph.nodes.every(({ id }) => seen.has(id) || wf.rowOf(id)),
              'nothing is left',
            ).toBe(true)
          } else if (before.length === 0) {
            const reached = [...wf.rows.values()].map(({ node }) => node)
            const done = wf.history.map(({ execution }) => execution.node)
            expect([...reached, ...done]).toEqual(expect.arrayContaining([...graph.node(found).dependsOn]))
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
