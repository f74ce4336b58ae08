/**
 * One saga played move by move against the pure engine, and what must be true of it after every move and at its end. What
 * is not so throws; nothing here knows how the engine decides.
 */
import type { Graph } from '../../../src/definition/graph.ts'
import { decideRequeue } from '../../../src/engine/dead-letters.ts'
import { decideDecision, decideSignal } from '../../../src/engine/decide-message.ts'
import {
  decideAbort,
  decideCancel,
  decidePause,
  decideReattempt,
  decideResolve,
  decideResume,
  decideSkip,
} from '../../../src/engine/decide-request.ts'
import { isEnd } from '../../../src/engine/end-watch.ts'
import { undoSlot } from '../../../src/engine/rollback.ts'
import type { StepReport } from '../../../src/engine/step-report.ts'
import { cameIn } from '../../../src/engine/stored-input.ts'
import { isGenevaError } from '../../../src/errors.ts'
import type { ActiveExecution } from '../../../src/store/records.ts'
import { completed, threw } from './facts.ts'
import { PlayedWorkflow } from './played-workflow.ts'
import { auditEnd, auditMove } from './saga-audit.ts'

const asked = { by: 'ann', reason: 'because' }

export type SagaMove =
  | { readonly kind: 'report'; readonly which: number; readonly what: readonly number[] }
  | { readonly kind: 'begin' | 'lose' | 'timer' | 'undo'; readonly which: number }
  | { readonly kind: 'pause' | 'resume' | 'cancel' | 'abort'; readonly which: number }
  | {
      readonly kind: 'skip' | 'resolve' | 'reattempt' | 'signal' | 'confirm' | 'reject' | 'requeue'
      readonly which: number
    }

const again = { ...threw({ action: 'pause' }), retryMs: 0 } as StepReport

/** Most end well, so that runs come far. */
export const calm: readonly StepReport[] = [
  ...Array.from({ length: 10 }, () => completed),
  { kind: 'skip', by: 'flow_control', reason: null },
  { kind: 'reattempt', waitMs: 0, rewind: false, reason: null },
  again,
  { ...threw({ action: 'pause' }), timedOut: true } as StepReport,
  threw({ action: 'pause' }),
  threw({ action: 'skip' }),
  threw({ action: 'reattempt', limit: 2, then: 'rollback' }),
  { kind: 'released' },
  { kind: 'pause', hold: false, reason: null },
]

export const wild: readonly StepReport[] = [
  ...calm,
  threw({ action: 'rollback' }),
  threw({ action: 'rollback' }),
  threw({ action: 'cancel' }),
  threw({ action: 'dlq' }),
  threw({ action: 'dlq' }),
  { kind: 'cancel', by: 'flow_control', reason: null },
  { kind: 'finish', output: null, reason: null },
]

const undoReports: readonly StepReport[] = [
  completed,
  completed,
  completed,
  again,
  threw({ action: 'pause' }),
  { kind: 'reattempt', waitMs: 0, rewind: false, reason: null },
  { kind: 'released' },
  { ...threw({ action: 'pause' }), unknown: true } as StepReport,
]

export class SagaRun {
  readonly wf: PlayedWorkflow
  readonly #reports: readonly StepReport[]
  #declared = false
  /** What was done, for whoever reads a failure. */
  readonly log: string[] = []

  constructor(graph: Graph, reports: readonly StepReport[]) {
    this.#reports = reports
    this.wf = new PlayedWorkflow(graph)
  }

  act(move: SagaMove): void {
    const { wf } = this
    const { kind, which } = move
    if (kind === 'report') this.#report(which, move.what)
    else if (kind === 'undo') this.#undo(which)
    else if (kind === 'begin' || kind === 'lose') {
      const node = pick(this.running(), which)?.node
      if (node !== undefined) this.#do(`${kind} ${node}`, () => (kind === 'begin' ? wf.begin(node) : wf.lose(node)))
    } else if (kind === 'timer') {
      const slot = pick(this.timers(), which)
      if (slot !== undefined) this.#do(`timer ${slot}`, () => wf.fire(slot))
    } else this.ask(kind, which)
    auditMove(wf)
  }

  #do(what: string, doIt: () => unknown): void {
    this.log.push(`${what}  [${this.wf.workflow.state}: ${this.wf.standing}]`)
    doIt()
  }

  #report(which: number, what: readonly number[]): void {
    const open = this.running()
    const rows = new Map(
      what.flatMap((number, index) => {
        const row = pick(open, which + index)
        return row === undefined ? [] : [[row.node, this.#reportOn(row, number)] as const]
      }),
    )
    if (rows.size === 0) return
    this.#declared ||= [...rows.values()].some(report => report.kind === 'finish')
    const said = [...rows].map(([node, report]) => `${node} ${describe(report)}`).join(' + ')
    this.#do(said, () => this.wf.report(...rows))
  }

  /** Odd numbers speak for a condition that is true. */
  #reportOn(row: ActiveExecution, number: number): StepReport {
    const report = this.#reports[number % this.#reports.length] ?? completed
    // Before a node waits, its code is not called.
    const isCalled = !this.#waits(row) || cameIn(row.input) !== null
    if (report !== completed && (isCalled || !['finish', 'reattempt'].includes(report.kind))) return report
    return this.success(row, number % 2 === 1)
  }

  #waits({ node }: ActiveExecution): boolean {
    const kind = this.wf.graph.find(node)?.kind
    return kind === 'human' || kind === 'signal'
  }

  success(row: ActiveExecution, result = true): StepReport {
    const kind = this.wf.graph.find(row.node)?.kind
    if (kind === 'condition') return { kind: 'completed', output: String(result), result }
    if (kind !== 'human' && kind !== 'signal') return completed
    const came = cameIn(row.input)
    if (came === null) return { kind: 'wait' }
    if (came.came === 'nothing') return { ...threw({ action: 'skip' }), timedOut: true } as StepReport
    return kind === 'human' ? { kind: 'completed', output: null, confirmed: true } : completed
  }

  #undo(which: number): void {
    const row = this.wf.rows.get(undoSlot)
    if (row === undefined) return
    const report = undoReports[which % (undoReports.length + 1)]
    if (report === undefined) this.#do(`undo ${row.node} lost`, () => this.wf.loseUndo())
    else this.#do(`undo ${row.node} ${describe(report)}`, () => this.wf.undo(report))
  }

  /** What the state does not allow is refused and changes nothing. */
  ask(kind: string, which: number): boolean {
    const { wf } = this
    const nodes = wf.graph.nodes.filter(node => node.kind !== 'signal' || kind !== 'confirm')
    const waiting = [...wf.rows.values()].filter(row => row.kind === 'forward').map(row => row.node)
    const node = pick(which % 3 === 0 ? nodes.map(({ id }) => id) : waiting, which) ?? ''
    const letter = pick([...wf.letters.keys()], which) ?? ''
    const by = which % 2 === 0 ? 'ann' : 'bob'
    const decision = { by, comment: null, data: null }
    // Nobody can take a condition as done without its answer.
    const answer = wf.graph.find(node)?.kind === 'condition' ? String(which % 2 === 1) : null
    let granted = true
    this.#do(`${kind} ${node}${letter && ` letter ${letter}`} by ${by}`, () => {
      try {
        wf.ask((draft, plan) => {
          if (kind === 'pause') decidePause(draft, asked)
          if (kind === 'resume') decideResume(draft, asked, plan)
          if (kind === 'cancel') decideCancel(draft, asked, plan)
          if (kind === 'abort') decideAbort(draft, asked, plan)
          if (kind === 'skip') decideSkip(draft, node, asked, plan)
          if (kind === 'resolve') decideResolve(draft, { node, request: asked, output: answer }, plan)
          if (kind === 'reattempt') decideReattempt(draft, node, asked, plan)
          if (kind === 'signal') decideSignal(draft, plan, node, { payload: null, by, key: null })
          if (kind === 'confirm') decideDecision(draft, plan, node, { ...decision, decision: 'confirmed' })
          if (kind === 'reject') decideDecision(draft, plan, node, { ...decision, decision: 'rejected' })
          if (kind === 'requeue') decideRequeue(draft, { letterId: letter, request: asked, input: null }, plan)
        })
      } catch (error) {
        granted = false
        if (!isGenevaError(error, 'INVALID_STATE') && !isGenevaError(error, 'ALREADY_DECIDED')) throw error
      }
    })
    this.log.push(granted ? '   granted' : '   refused')
    return granted
  }

  running(): ActiveExecution[] {
    const isOpen = this.wf.workflow.state === 'ready'
    const states = isOpen ? ['scheduled', 'in_progress', 'suspended'] : ['in_progress']
    return [...this.wf.rows.values()].filter(({ kind, state }) => kind === 'forward' && states.includes(state))
  }

  timers(): string[] {
    return [...this.wf.rows.values()]
      .filter(({ kind, state }) => kind === 'timer' && state === 'scheduled')
      .map(r => r.slot)
  }

  /** Whatever can go on does so without trouble, until the workflow has ended. */
  bringToEnd(): void {
    const { wf } = this
    for (let round = 0; !isEnd(wf.workflow.state) || wf.rows.has(undoSlot); round++) {
      if (round === 500) throw new Error(`it does not come to its end: ${wf.workflow.state}, ${wf.standing}`)
      const before = wf.record.length
      this.#goOn(round)
      auditMove(wf)
      if (wf.record.length === before) throw new Error(`it is stuck: ${wf.workflow.state}, ${wf.standing}`)
    }
    auditEnd(wf, this.#declared)
  }

  #goOn(round: number): void {
    const { wf } = this
    const next = pick(this.running(), round)
    const waiting = [...wf.rows.values()].find(row => row.kind === 'forward' && row.state === 'waiting')
    if (wf.rows.has(undoSlot)) this.#do('undo', () => wf.undo())
    else if (next) this.#do(`complete ${next.node}`, () => wf.report([next.node, this.success(next, round % 2 === 0)]))
    else if (wf.workflow.state === 'paused') this.ask('resume', 0)
    else if (wf.workflow.state === 'dlq') this.ask('requeue', 0)
    else if (waiting) this.#answer(waiting)
  }

  #answer({ node, id }: ActiveExecution): void {
    const { wf } = this
    const isHuman = wf.graph.find(node)?.kind === 'human'
    const by = wf.decisions.some(decision => decision.executionId === id && decision.by === 'ann') ? 'bob' : 'ann'
    const decision = { by, decision: 'confirmed' as const, comment: null, data: null }
    this.#do(`answer ${node}`, () =>
      wf.ask((draft, plan) => {
        if (isHuman) decideDecision(draft, plan, node, decision)
        else decideSignal(draft, plan, node, { payload: null, by: null, key: null })
      }),
    )
  }
}

export function pick<T>(all: readonly T[], index: number): T | undefined {
  return all.length === 0 ? undefined : all[index % all.length]
}

function describe(report: StepReport): string {
  if (report.kind === 'threw') return `threw ${report.retryMs === null ? report.policy.action : 'and retries'}`
  return report.kind === 'completed' && report.result !== undefined ? String(report.result) : report.kind
}
