/** Lists and requests to many go down the ids. Where a look says to go on at a place that is not below, they stop and say so. */
import { expect, it } from 'vitest'
import { Bulk } from '../../../src/client/bulk.ts'
import { countWorkflows, listSummaries } from '../../../src/client/views/workflow-summary.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import type { Store } from '../../../src/store/store.ts'

/** A store whose looks end at these places, one after the other. */
function storeThatEndsAt(places: readonly string[]): Store {
  const left = [...places]
  const next = () => left.shift() ?? null
  const views = {
    scan: async () => ({ found: [], next: next(), capped: false }),
    count: async () => ({ count: 0, next: next(), capped: false }),
    idBounds: async () => ({ before: null, from: null }),
    asides: async () => new Map(),
  }
  return { views } as unknown as Store
}

const uuids = ['019c0000-0000-7000-8000-00000000000b', '019c0000-0000-7000-8000-00000000000a']

const looks: readonly [string, (store: Store) => Promise<unknown>][] = [
  ['a list', store => listSummaries(store, {})],
  ['a count', store => countWorkflows(store, {})],
  [
    'a request to many',
    store => {
      const engine = { store } as unknown as Engine
      const definitionOf = () => {
        throw new Error('no class was asked for')
      }
      return new Bulk(async () => engine, definitionOf, { where: {} }).count()
    },
  ],
]

it.each(looks)('%s ends with an error when it would go on where it began, or above', async (_, look) => {
  const error = expect.objectContaining({ code: 'INVARIANT' })
  await expect(look(storeThatEndsAt(['100', '100']))).rejects.toEqual(error)
  await expect(look(storeThatEndsAt(['99', '100']))).rejects.toEqual(error)
  await expect(look(storeThatEndsAt(uuids.toReversed()))).rejects.toEqual(error)
})

it.each(looks)('%s goes on below', async (_, look) => {
  await look(storeThatEndsAt(['1000', '999', '99', '8']))
  await look(storeThatEndsAt(uuids))
})
