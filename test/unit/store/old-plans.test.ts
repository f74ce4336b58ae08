/** Plans are thrown away soon after a connection was opened, and less and less often. */
import { expect, it } from 'vitest'
import { plansAreOld } from '../../../src/store/postgres/old-plans.ts'

it('each connection throws its plans away a few times, further and further apart', () => {
  const [one, other] = [{}, {}]
  const renewed = Array.from({ length: 5000 }, (_, index) => (plansAreOld(one) ? index + 1 : 0)).filter(Boolean)
  expect(renewed).toEqual([3, 10, 30, 100, 300, 1000, 3000])
  expect([plansAreOld(other), plansAreOld(other), plansAreOld(other)]).toEqual([false, false, true])
})
