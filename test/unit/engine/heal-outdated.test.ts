/** What is asked for when a worker looks for workflows that go by older code. */
import { expect, it } from 'vitest'
import type { Engine } from '../../../src/engine/engine.ts'
import { healOutdated } from '../../../src/engine/heal-outdated.ts'
import { IdReserve } from '../../../src/engine/id-pool.ts'
import type { ChangeCall } from '../../../src/store/store.ts'
import { facts } from './facts.ts'

function engineWith(generations: Readonly<Record<string, number>>) {
  const asked: [string, number][][] = []
  const engine = {
    courses: { generationOf: (type: string) => generations[type] ?? 0 },
    store: {
      findOutdated: async (found: ReadonlyMap<string, number>) => {
        asked.push([...found])
        return []
      },
    },
  } as unknown as Engine
  return { engine, asked }
}

it('only classes whose code has changed can have left anything behind', async () => {
  const { engine, asked } = engineWith({ Old: 3, New: 1 })
  expect(await healOutdated(engine, ['Old', 'New'], 10)).toEqual({ found: 0, passed: 0 })
  expect(asked).toEqual([[['Old', 3]]])
})

it('where no code has changed nobody looks through all that waits', async () => {
  const { engine, asked } = engineWith({ New: 1, Newer: 1 })
  expect(await healOutdated(engine, ['New', 'Newer'], 10)).toEqual({ found: 0, passed: 0 })
  expect(asked).toEqual([])
})

it('one that somebody has locked is waited for by nobody, and looked for again', async () => {
  const calls: ChangeCall[] = []
  const { workflow } = facts({})
  const store = {
    findOutdated: async () => [workflow],
    change: async (_: unknown, __: unknown, call: ChangeCall) => {
      calls.push(call)
      return []
    },
  }
  const engine = {
    store,
    ids: new IdReserve({ takeIds: async () => [] }),
    courses: { generationOf: () => 2, of: async () => new Map() },
    ends: { noteAll: () => {} },
  } as unknown as Engine
  expect(await healOutdated(engine, ['Old'], 10)).toEqual({ found: 1, passed: 1 })
  expect(calls).toMatchObject([{ passesLocked: true }])
})
