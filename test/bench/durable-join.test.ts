/** The queues that we are compared with get a join that keeps what a join must keep: else they would do less than we do. */
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { databases } from '../support/databases.ts'

interface Join {
  prepare(): Promise<void>
  begin(id: number, width: number): Promise<void>
  end(id: number, jobs: readonly string[]): Promise<boolean>
}

// It is a program of the peers, which have their own packages, and is not compiled with ours.
const program = new URL('../../bench/peers/durable-join.mjs', import.meta.url).href
const { DurableJoin } = (await import(program)) as { DurableJoin: new (pool: pg.Pool) => Join }

async function withPool(url: string, work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  try {
    await work(pool)
  } finally {
    await pool.end()
  }
}

const jobs = Array.from({ length: 100 }, (_, index) => `job ${index}`)

describe.each(databases.filter(({ name }) => name === 'postgres'))('the join of queues on $name', database => {
  it('tells one of those that end that they were the last, whoever ends when', async () => {
    const { url } = await database.isolated()
    await withPool(url, async pool => {
      const join = new DurableJoin(pool)
      await join.prepare()
      await join.begin(1, jobs.length)
      const answers = await Promise.all(jobs.map(job => join.end(1, [job])))
      expect(answers.filter(Boolean)).toHaveLength(1)
    })
  })

  it('counts a job once, however often it is delivered, and after a restart as well', async () => {
    const { url } = await database.isolated()
    await withPool(url, async pool => {
      const join = new DurableJoin(pool)
      await join.prepare()
      await join.begin(1, 3)
      expect(await join.end(1, ['a', 'b'])).toBe(false)
      expect(await join.end(1, ['a', 'b'])).toBe(false)
    })
    await withPool(url, async pool => {
      const again = new DurableJoin(pool)
      await again.begin(1, 3)
      expect(await again.end(1, ['b'])).toBe(false)
      expect(await again.end(1, ['c'])).toBe(true)
    })
  })
})
