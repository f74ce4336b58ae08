/** The ancestry hash: covers node, attempt and parents, whatever their order. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ancestryHash, ancestryOf } from '../../../src/engine/ancestry.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe('the hash of an execution', () => {
  it('is SHA-256 over the node, the attempt and the sorted hashes of its parents', () => {
    expect(ancestryHash('a', 1, [])).toBe(sha256('a:1'))
    expect(ancestryHash('d', 2, ['bb', 'aa'])).toBe(sha256('d:2:aa:bb'))
  })

  it('differs with the node, the attempt, a parent, and the attempt of a parent', () => {
    const first = ancestryHash('a', 1, [])
    const second = ancestryHash('a', 2, [])
    const hashes = [
      ancestryHash('b', 1, [first]),
      ancestryHash('c', 1, [first]),
      ancestryHash('b', 2, [first]),
      ancestryHash('b', 1, [second]),
      ancestryHash('b', 1, []),
      ancestryHash('b', 1, [first, second]),
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('does not depend on the order in which parents ended, and leaves the given list alone', () => {
    const given = ['z', 'a', 'm']
    expect(ancestryHash('d', 1, given)).toBe(ancestryHash('d', 1, ['a', 'm', 'z']))
    expect(given).toEqual(['z', 'a', 'm'])
  })
})

it('an execution keeps the ids of its parents, so that its hash can be computed again', () => {
  const parents = [
    { id: '12', ancestry: { hash: 'bb' } },
    { id: '11', ancestry: { hash: 'aa' } },
  ]
  expect(ancestryOf('d', 1, parents)).toEqual({ hash: ancestryHash('d', 1, ['aa', 'bb']), parents: ['12', '11'] })
})
