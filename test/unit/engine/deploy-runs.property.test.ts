/**
 * Random sagas that are played for a while, meet a deploy of another random saga with the same names, and are played on: with
 * joins, people, rollbacks and dead letters on the way. Whatever happens, no workflow is left that nothing brings to its end. A
 * failing run is printed and can be replayed.
 */
import fc from 'fast-check'
import { it } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Graph } from '../../../src/definition/graph.ts'
import { decideDecision, decideSignal } from '../../../src/engine/decide-message.ts'
import { decideResume, decideSkip } from '../../../src/engine/decide-request.ts'
import { isEnd } from '../../../src/engine/end-watch.ts'
import { heal, mustHeal } from '../../../src/engine/heal.ts'
import { undoSlot } from '../../../src/engine/rollback.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { anySaga, type SagaPlan, sagaClass } from '../../simulation/saga-plan.ts'
import { threw } from './facts.ts'
import { move, reports } from './saga-moves.ts'
import { calm, pick, type SagaMove, SagaRun, wild } from './saga-runs.ts'

const asked = { by: 'ann', reason: 'because' }
const anyMove: fc.Arbitrary<SagaMove> = fc.oneof(
  reports(20),
  move(6, 'undo'),
  move(4, 'begin', 'lose'),
  move(4, 'signal', 'confirm'),
  move(2, 'reject', 'timer'),
  move(2, 'pause', 'resume', 'resume', 'requeue'),
  move(2, 'skip', 'resolve', 'reattempt'),
  move(1, 'cancel'),
)
const moves = fc.array(anyMove, { maxLength: 20 })

const nothing = () => {}
const code = { body: nothing, test: () => true, undo: nothing }

function graphOfPlan(plan: SagaPlan, onMissingStep: 'pause' | 'skip'): Graph {
  const { graph } = definitionOf(sagaClass(plan, 'Sample', code))
  return new Graph({ ...graph.data, onMissingStep })
}

/** With GENEVA_RUNS a developer plays as many as they like, and others each time; without it always the same. */
const numRuns = Number(process.env.GENEVA_RUNS ?? 400)
const seed = process.env.GENEVA_RUNS === undefined ? { seed: 20_261_116 } : {}

it.each([
  ['calm', calm],
  ['wild', wild],
] as const)('every saga that meets a deploy can be brought to its end: %s', { timeout: 600_000 }, (_, reports) => {
  const missing = fc.constantFrom('pause' as const, 'skip' as const)
  fc.assert(
    fc.property(anySaga, anySaga, missing, fc.tuple(moves, moves), (first, second, onMissingStep, [before, after]) => {
      const run = new SagaRun(graphOfPlan(first, onMissingStep), reports)
      try {
        for (const next of before) run.act(next)
        run.log.push('deploy')
        run.wf.deploy(graphOfPlan(second, onMissingStep))
        for (const next of after) run.act(next)
        bringToEnd(run)
      } catch (error) {
        throw new Error(`${(error as Error).stack}\n${run.log.join('\n')}\nhistory: ${run.wf.story}`)
      }
    }),
    { numRuns, ...seed, includeErrorInReport: true } as never,
  )
})

function bringToEnd(run: SagaRun): void {
  const { wf } = run
  for (let round = 0; !isEnd(wf.workflow.state) || wf.rows.has(undoSlot); round++) {
    run.log.push(`  ${wf.workflow.state}: ${wf.standing}`)
    if (round === 500) throw new Error(`it does not come to its end: ${wf.workflow.state}, ${wf.standing}`)
    const before = wf.record.length
    goOn(run, round)
    if (wf.record.length === before) throw new Error(`it is stuck: ${wf.workflow.state}, ${wf.standing}`)
  }
}

/** What a worker, a sweep and people would do. */
function goOn(run: SagaRun, round: number): void {
  const { wf } = run
  const next = pick(run.running(), round)
  const waiting = [...wf.rows.values()].find(row => row.kind === 'forward' && row.state === 'waiting')
  if (wf.rows.has(undoSlot)) wf.undo()
  else if (wf.workflow.generation < wf.generation && sweep(run)) return
  else if (next) wf.report([next.node, reportOn(run, next.node, round)])
  else if (wf.workflow.state === 'paused') settle(run)
  else if (wf.workflow.state === 'dlq') run.ask('requeue', 0)
  else if (waiting) answer(run, waiting)
}

function sweep({ wf }: SagaRun): boolean {
  const before = wf.record.length
  wf.ask((draft, plan) => {
    if (mustHeal(draft, plan)) heal(draft, plan)
  })
  return wf.record.length > before
}

/** The newest code says what becomes of what it has lost. */
function reportOn(run: SagaRun, node: string, round: number): StepReport {
  const { graph } = run.wf
  if (graph.find(node) === null) return threw({ action: graph.data.onMissingStep === 'skip' ? 'skip' : 'pause' })
  return run.success(run.wf.rowOf(node), round % 2 === 0)
}

/** Whoever finds it paused skips what the code has lost, and resumes the rest. */
function settle({ wf }: SagaRun): void {
  const lost = [...wf.history].filter(({ execution, state }) => {
    const isLast = wf.attemptsAt(execution.node).at(-1)?.execution.id === execution.id
    return execution.kind === 'forward' && state === 'failed' && isLast && wf.graph.find(execution.node) === null
  })
  const [node] = lost.filter(({ execution }) => ![...wf.rows.values()].some(row => row.node === execution.node))
  wf.ask((draft, plan) => {
    if (node) decideSkip(draft, node.execution.node, asked, plan)
    else decideResume(draft, asked, plan)
  })
}

function answer({ wf }: SagaRun, { node, id }: ActiveExecution): void {
  const kind = wf.graph.find(node)?.kind
  if (kind !== 'human' && kind !== 'signal') throw new Error(`nobody can answer ${node}, which the code has lost`)
  const by = wf.decisions.some(decision => decision.executionId === id && decision.by === 'ann') ? 'bob' : 'ann'
  wf.ask((draft, plan) => {
    if (kind === 'human') decideDecision(draft, plan, node, { by, decision: 'confirmed', comment: null, data: null })
    else decideSignal(draft, plan, node, { payload: null, by: null, key: null })
  })
}
