/** What is told is acted on at once after a rest, and otherwise gathered until the rest is over. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Gathering } from '../../../src/primitives/gathering.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const restMs = 20

function gather(): { gathering: Gathering<string>; acted: string[][] } {
  const acted: string[][] = []
  const gathering = new Gathering<string>(async words => {
    acted.push([...words])
    return restMs
  })
  return { gathering, acted }
}

it('acts on the first word before the call returns, and once on all that come during the rest', async () => {
  const { gathering, acted } = gather()
  gathering.tell('one')
  expect(acted).toEqual([['one']])
  for (let count = 0; count < 100; count++) gathering.tell(count % 2 ? 'one' : 'two')
  await vi.advanceTimersByTimeAsync(restMs - 1)
  expect(acted).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(acted).toEqual([['one'], ['two', 'one']])
})

it('acts at once again when nothing came during the rest', async () => {
  const { gathering, acted } = gather()
  gathering.tell('one')
  await vi.advanceTimersByTimeAsync(restMs)
  gathering.tell('two')
  expect(acted).toEqual([['one'], ['two']])
})

it('does nothing more once it is closed', async () => {
  const { gathering, acted } = gather()
  gathering.tell('one')
  gathering.tell('two')
  gathering.close()
  await vi.advanceTimersByTimeAsync(10 * restMs)
  gathering.tell('three')
  expect(acted).toEqual([['one']])
})
