/** Who waits for a locked workflow holds a connection, so few wait for all. */
import { expect, it } from 'vitest'
import type { Database } from '../../../src/store/sql/dialect.ts'
import { LockLines } from '../../../src/store/sql/lock-lines.ts'
import { gate } from '../../support/wait-for.ts'

const inVain = new Error('locked')

function linesOf(limit: number) {
  const dialect = { manyWriters: true, waitedInVain: (error: unknown) => error === inVain }
  return new LockLines({ dialect, poolUse: () => ({ used: 0, waiting: 0, limit }) } as unknown as Database)
}

/** Tries at changes that are held until the test lets them go. */
function held() {
  const begun: { readonly of: string; end(): void; fail(error: Error): void }[] = []
  const work = (of: string) => async () => {
    const over = gate<Error | null>()
    begun.push({ of, end: () => over.open(null), fail: error => over.open(error) })
    const error = await over.passed
    if (error !== null) throw error
    return of
  }
  return { begun, work }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

it('of those who want the same workflow two are under way, and the others follow in the order in which they asked', async () => {
  const lines = linesOf(10)
  const { begun, work } = held()
  const all = ['a', 'b', 'c', 'd'].map(of => lines.through('1', work(of)))
  for (let index = 0; index < 4; index++) {
    await turn()
    expect(begun.map(({ of }) => of)).toEqual(['a', 'b', 'c', 'd'].slice(0, index + 2))
    begun[index]?.end()
  }
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
})

it('when one has waited in vain so have all behind it, and who comes next may try', async () => {
  const lines = linesOf(10)
  const { begun, work } = held()
  const [first, second, ...behind] = ['a', 'b', 'c', 'd'].map(of => lines.through('1', work(of)).catch(error => error))
  await turn()
  begun[0]?.fail(inVain)
  expect(await Promise.all([first, ...behind])).toEqual([inVain, inVain, inVain])
  expect(begun).toHaveLength(2)
  const next = lines.through('1', work('e'))
  await turn()
  for (const each of begun) each.end()
  expect(await Promise.all([second, next])).toEqual(['b', 'e'])
})

it('any other error is that of one alone', async () => {
  const lines = linesOf(10)
  const { begun, work } = held()
  const [first, ...others] = ['a', 'b', 'c'].map(of => lines.through('1', work(of)).catch(error => error))
  await turn()
  begun[0]?.fail(new Error('refused'))
  expect(await first).toEqual(new Error('refused'))
  await turn()
  for (const each of begun) each.end()
  expect(await Promise.all(others)).toEqual(['b', 'c'])
})

it('however many workflows are wanted, three connections are left to others', async () => {
  const lines = linesOf(5)
  const { begun, work } = held()
  const all = ['1', '2', '3', '4'].map(id => lines.through(id, work(id)))
  await turn()
  expect(begun.map(({ of }) => of)).toEqual(['1', '2'])
  for (let index = 0; index < 4; index++) {
    begun[index]?.end()
    await turn()
  }
  expect(await Promise.all(all)).toEqual(['1', '2', '3', '4'])
})
