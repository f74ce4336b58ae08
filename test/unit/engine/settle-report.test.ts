/** Of a report whose claim is gone: whether it was recorded, and only the answer was lost. */
import { describe, expect, it } from 'vitest'
import { IdPool, IdReserve } from '../../../src/engine/id-pool.ts'
import { settleReport } from '../../../src/engine/settle-report.ts'
import type { EndedState, Outcome } from '../../../src/store/records.ts'
import { chain, completed, facts, finished, planFor, requestOn, row } from './facts.ts'

const mine = row()
const reserve = new IdReserve({ takeIds: async count => Array.from({ length: count }, (_, index) => `${index + 90}`) })

type End = readonly [EndedState, Outcome]

/** The row stands in history with that end, under the name of the worker that had claimed it. */
function found([state, outcome]: End, active: readonly ReturnType<typeof row>[] = []) {
  return { ...facts({ active }), ended: new Map([[mine.id, { owner: 'worker', state, outcome }]]) }
}

const request = (ids = new IdPool(reserve)) => requestOn(mine, facts({}).workflow, { ids, repeated: true })

/** What `finished` has written of the step in a workflow that is like that. */
const written = (situation: Parameters<typeof facts>[0]) => [
  finished(facts({ ...situation, active: [mine] }), mine, completed, { plan: planFor(chain('a', 'b')) }).change,
]

const theirs: readonly End[] = [
  ['failed', 'recovered'],
  ['failed', 'unknown'],
  ['failed', 'dead_lettered'],
  ['failed', 'compensation_failed'],
  ['skipped', 'stopped'],
  ['canceled', 'superseded'],
]

describe('a report that comes again', () => {
  it.each([
    ['completed', 'success'],
    ['completed', 'superseded'],
    ['rolled_back', 'success'],
    ['failed', 'reattempted_by_exception'],
  ] as const)('was recorded where the row has ended %s with %s, which only its worker can say', (...end) => {
    expect(settleReport(found(end), request(), 'worker').kind).toBe('recorded')
  })

  it.each(theirs)('has come too late where the row may have been ended by others: %s with %s', (...end) => {
    expect(settleReport(found(end), request(), 'worker').kind).toBe('refused')
  })

  it('was recorded in spite of such an end where what follows has the id that it was to have', async () => {
    const ids = new IdPool(reserve)
    await ids.fill(1)
    const [id = ''] = ids.ids
    const next = row({ id, attempt: 2, state: 'paused', owner: null })
    expect(settleReport(found(['failed', 'dead_lettered'], [next]), request(ids), 'worker').kind).toBe('recorded')
  })
})

describe('a commit without an answer', () => {
  it.each([
    ['completed', 'success'],
    ['compensating', 'success'],
    ['rolled_back', 'success'],
    ['failed', 'success'],
  ] as const)(
    'has happened where the row has the outcome that was written, also if a rollback has left it %s',
    (...end) => {
      expect(settleReport(found(end), request(), 'worker', written({})).kind).toBe('recorded')
    },
  )

  it.each(theirs)('has not happened where others have ended the row meanwhile: %s with %s', (...end) => {
    expect(settleReport(found(end), request(), 'worker', written({})).kind).toBe('refused')
  })

  it('is told by the state where others end a row with the same outcome', () => {
    const finishing = written({ finishing: true })
    expect(finishing[0]?.endings).toMatchObject([{ state: 'completed', outcome: 'superseded' }])
    expect(settleReport(found(['completed', 'superseded']), request(), 'worker', finishing).kind).toBe('recorded')
    expect(settleReport(found(['canceled', 'superseded']), request(), 'worker', finishing).kind).toBe('refused')
  })
})
