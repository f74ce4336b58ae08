/** What a process does while the database writes a start whose first step begins at once. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startClaimed } from '../../../src/client/start-claimed.ts'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { Courses } from '../../../src/engine/courses.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { storedForm } from '../../../src/engine/stored-form.ts'
import type { StartOrder, StartResult } from '../../../src/store/store.ts'

const job = defineJob('work', () => 1)

function fan(width: number) {
  return buildGraph(w => {
    w.node('first', { job })
    w.fanOut(Array(width).keys(), { name: index => `branch ${index}`, job })
    w.node('last', { job })
  }).freeze('2026-11-17T00:00:00Z')
}

/** An engine with room for a step, or without, whose store answers when it is told to. */
function opened({ hasRoom }: { readonly hasRoom: boolean }) {
  let answer: (results: StartResult[]) => void = () => {}
  const answered = new Promise<StartResult[]>(resolve => {
    answer = resolve
  })
  const wanted: number[] = []
  const place = { workerId: 'w1', revision: 0, begin: () => {}, giveUp: () => {} }
  const engine = {
    store: { start: () => answered },
    courses: new Courses({} as never, { definitions: [] } as never),
    openings: { keepPlaces: (rows: readonly unknown[]) => rows.map(row => (row !== null && hasRoom ? place : null)) },
    ends: { noteWork: () => {} },
    ids: {
      ensure: async (count: number) => {
        wanted.push(count)
        throw new Error('the database is away')
      },
    },
  }
  return { engine: engine as unknown as Engine, wanted, answer }
}

function order(width: number): StartOrder {
  const frozen = fan(width)
  const [first = ''] = Object.keys(frozen.nodes)
  const row = { node: first, kind: 'forward', state: 'scheduled', due: { inMs: 0 }, progress: { runs: 0 }, fence: 0 }
  return { type: '', first: [row], taken: null, formerTypes: [], graph: storedForm(frozen) } as unknown as StartOrder
}

it('ids for what follows the first step are fetched meanwhile, and if that fails nobody is disturbed', async () => {
  const { engine, wanted, answer } = opened({ hasRoom: true })
  const started = startClaimed(engine, [order(30)], {})
  await turn()
  await turn()
  expect(wanted).toEqual([30])
  answer([])
  expect(await started).toEqual([])
})

it('nothing is fetched for what another process may begin', async () => {
  const { engine, wanted, answer } = opened({ hasRoom: false })
  const started = startClaimed(engine, [order(30)], {})
  await turn()
  await turn()
  answer([])
  await started
  expect(wanted).toEqual([])
})
