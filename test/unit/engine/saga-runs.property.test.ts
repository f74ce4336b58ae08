/**
 * Random sagas, played with random reports, deaths, requests and decisions: whatever happens, nothing is left active in an
 * ended workflow, what was done beyond the boundary is undone once, in reverse and one at a time, joins fire once, every
 * decision counts once, and every run can be brought to its end. A failing run is printed and can be replayed.
 */
import fc from 'fast-check'
import { it } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { anySaga, sagaClass } from '../../simulation/saga-plan.ts'
import { move, reports } from './saga-moves.ts'
import { calm, type SagaMove, SagaRun, wild } from './saga-runs.ts'

const plainMove: fc.Arbitrary<SagaMove> = fc.oneof(
  reports(20),
  move(6, 'undo'),
  move(4, 'begin', 'lose'),
  move(4, 'signal', 'confirm'),
  move(1, 'reject', 'timer'),
  move(2, 'pause', 'resume', 'resume', 'requeue'),
  move(1, 'skip', 'resolve', 'reattempt'),
)
const wildMove: fc.Arbitrary<SagaMove> = fc.oneof(
  { weight: 30, arbitrary: plainMove },
  move(3, 'cancel', 'timer', 'reject'),
  move(1, 'abort'),
)

const nothing = () => {}
const code = { body: nothing, test: () => true, undo: nothing }

/** With GENEVA_RUNS a developer plays as many as they like, and others each time; without it always the same. */
const numRuns = Number(process.env.GENEVA_RUNS ?? 400)
const seed = process.env.GENEVA_RUNS === undefined ? { seed: 20_261_115 } : {}

it.each([
  ['without anybody who stops it', plainMove, calm],
  ['that fails, or is canceled or aborted', wildMove, wild],
] as const)(
  'every run of every saga %s keeps what sagas promise, and comes to its end',
  { timeout: 600_000 },
  (_, anyMove, reports) => {
    fc.assert(
      fc.property(anySaga, fc.array(anyMove, { maxLength: 40 }), (plan, moves) => {
        const run = new SagaRun(definitionOf(sagaClass(plan, 'Sample', code)).graph, reports)
        try {
          for (const next of moves) run.act(next)
          run.bringToEnd()
        } catch (error) {
          throw new Error(`${(error as Error).stack}\n${run.log.join('\n')}\nhistory: ${run.wf.story}`)
        }
      }),
      { numRuns, ...seed, includeErrorInReport: true } as never,
    )
  },
)
