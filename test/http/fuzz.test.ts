/** Thousands of random requests, from a seed that is printed when something is wrong. `npm run fuzz` sends more. */
import { describe, expect, it } from 'vitest'
import { fuzzRequests } from '../programs/fuzz-requests.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { everything } from './http-world.ts'

const [database] = databases
const seed = Number(process.env.GENEVA_FUZZ_SEED ?? 20261115)

describe.runIf(database?.name === 'sqlite')('random requests', () => {
  const under = useGeneva(database as (typeof databases)[number], everything)

  it('meet no 5xx, no answer that is not declared, and nothing of what is inside', async () => {
    const { requests, statuses, complaints } = await fuzzRequests(under.geneva, 5000, seed)
    expect(complaints.slice(0, 5), `seed ${seed}`).toEqual([])
    // The generator is worth something only if many requests are let through, and many are not.
    const share = (status: number) => (statuses.get(status) ?? 0) / requests
    expect(share(200)).toBeGreaterThan(0.15)
    expect(share(400)).toBeGreaterThan(0.05)
    expect(statuses.has(409) && statuses.has(404) && statuses.has(415)).toBe(true)
  }, 120_000)
})
