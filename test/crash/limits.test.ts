/** Limits hold while workers are killed: what a dead one held counts until it is taken over, and then no longer. */
import { expect, it } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { openAccess } from '../programs/harness/plain-access.ts'
import { Limited, limitedOptions, mostInQueue, mostOfKey } from '../programs/limited-worker.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { type Program, spawnProgram } from '../support/spawn-program.ts'
import { waitFor } from '../support/wait-for.ts'

const options = { lease: 1000, poll: 20, concurrency: 10 }
const tenants = ['a', 'a', 'a', 'b', 'c']
const load = 45

interface Seen {
  readonly running?: number
  readonly ofKey?: number
}

forEachDatabaseAtOnce('limits, while workers are killed,', database => {
  it('are never exceeded, and all work gets done', { timeout: 90_000 }, async () => {
    const isolated = await database.isolated()
    const access = await openAccess(isolated.url)
    const table = access.table('running_now')
    await access.query(
      `create table ${table} (execution varchar(60) not null, pid bigint not null, tenant varchar(20) not null)`,
    )
    await using geneva = new Geneva({ ...limitedOptions, database: isolated.url })
    await geneva.startMany(
      Limited,
      Array.from({ length: load }, (_, index) => ({ input: { tenant: tenants[index % tenants.length] ?? 'a' } })),
    )
    const programs: Program[] = []
    const begin = async () => {
      const program = spawnProgram('limited-worker', [JSON.stringify({ url: isolated.url, options })])
      programs.push(program)
      await program.nextMessage((message: { ready?: number }) => message.ready !== undefined)
    }
    const seen = () =>
      programs.flatMap(program => program.messages as Seen[]).filter(each => each.running !== undefined)
    const begun = [begin(), begin(), begin()]
    await Promise.all(begun)
    for (let kills = 1; kills <= 2; kills++) {
      await waitFor(() => seen().length >= kills * 25, 30_000)
      const victim = programs[kills - 1]
      victim?.kill()
      await victim?.exited
      // Long before anybody takes over what it ran: until then its places are taken.
      await access.query(`delete from ${table} where pid = ${victim?.pid}`)
      begun.push(begin())
    }
    await Promise.all(begun)
    const ended = async () => (await geneva.list(Limited, { state: 'finished', limit: load })).items.length
    await waitFor(async () => (await ended()) === load, 40_000)
    expect(Math.max(...seen().map(each => each.running ?? 0))).toBe(mostInQueue)
    expect(Math.max(...seen().map(each => each.ofKey ?? 0))).toBe(mostOfKey)
    expect(seen().length).toBeGreaterThanOrEqual(3 * load)
    expect(programs.flatMap(program => program.messages).filter(each => 'error' in (each as object))).toEqual([])
    for (const program of programs) program.kill()
    await Promise.all(programs.map(program => program.exited))
    await access.close()
    await isolated.drop()
  })
})
