/** One execution, one owner: whoever lost a claim can neither report nor begin, however it came to lose it. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Contest, Contestants } from '../programs/harness/contest.ts'
import { Blocker, LongStep } from '../programs/harness/load-workflows.ts'
import { stopRun } from '../programs/harness/stop-run.ts'
import { type DatabaseName, forEachDatabase, forEachDatabaseAtOnce, forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import type { Program } from '../support/spawn-program.ts'
import { waitFor } from '../support/wait-for.ts'
import { CrashWorld, shortLease } from './crash-world.ts'
import { useRacers } from './use-racers.ts'

const claimRounds = 50
const stops = 3

forEachDatabase('two workers at the same instant', database => {
  const race = useRacers(database)

  it('share out what is due: each execution is claimed once, and both get some', async () => {
    const shares = [0, 0]
    for (let round = 0; round < claimRounds; round++) {
      const heroes = ['a', 'b', 'c'].map(name => ({ hero: Contestants.ref(`${name}${round}`) }))
      const started = await race.geneva.startMany(Contest, heroes)
      const due = (await Promise.all(started.map(wf => wf.currentExecutions()))).flat().map(row => row.id)
      const results = await race.round('claim')
      const claimed = results.flatMap(result => result.claimed ?? [])
      expect(claimed.sort()).toEqual(due.sort())
      for (const [racer, { claimed: own = [] }] of results.entries()) shares[racer] = (shares[racer] ?? 0) + own.length
    }
    // If one always came too late, they have not raced.
    expect(Math.min(...shares)).toBeGreaterThan(0)
  })
})

forEachDatabaseAtOnce('two workers', database => {
  it('run every step of a load once, and both take part', async () => {
    await using world = await CrashWorld.open(database)
    const options = { lease: '30s', poll: 5, concurrency: 4 } as const
    await Promise.all([world.worker({ options, bodyMs: [0, 10] }), world.worker({ options, bodyMs: [0, 10] })])
    await world.startLoad(40)
    await world.allEnded()
    expect(await world.findings()).toEqual([])
    const journal = await world.journal()
    expect(journal).toHaveLength(200)
    expect(new Set(journal.map(entry => entry.pid)).size).toBe(2)
  })
})

/** A file has one writer: whoever is stopped in mid-transaction keeps all others from it. */
async function stopBetweenWrites(worker: Program, kind: DatabaseName, url: string): Promise<void> {
  worker.kill('SIGSTOP')
  if (kind !== 'sqlite') return
  const plain = await connectPlainly(kind, url)
  await waitFor(async () => {
    try {
      await plain.query('begin immediate')
      await plain.query('rollback')
      return true
    } catch {
      worker.kill('SIGCONT')
      await pause(7)
      worker.kill('SIGSTOP')
      return false
    }
  }, 60_000)
  await plain.close()
}

forEachDatabaseAtOnce('a worker that lost its lease', database => {
  it('has its late result refused, when it was stopped in mid-step and another has done the work', {
    timeout: 60_000,
  }, async () => {
    const { url } = await database.isolated()
    const report = await stopRun({ url, rounds: stops, leaseMs: 500, say: () => {} })
    expect(report.findings).toEqual([])
    expect(report.rounds).toBe(stops)
  })

  it('begins no step that it had claimed before, when a computation kept it from renewing', async () => {
    await using world = await CrashWorld.open(database)
    const other = await world.worker()
    await stopBetweenWrites(other, database.name, world.url)
    const blocked = await world.geneva.start(Blocker, { input: { ms: 4000 } })
    const wf = await world.geneva.start(LongStep, { input: { ms: 0, onAbort: 'ignore' } })
    const worker = await world.worker({ options: { ...shortLease, heartbeatThread: false } })
    await worker.nextMessage((message: { blocking?: string }) => message.blocking === blocked.id)
    other.kill('SIGCONT')
    await wf.waitUntilFinished({ timeout: '20s' })
    await blocked.waitUntilFinished({ timeout: '20s' })
    await worker.nextMessage((message: { went?: string }) => message.went === blocked.id)
    worker.kill('SIGTERM')
    await worker.exited
    const journal = (await world.journal()).filter(entry => entry.workflowId === wf.id)
    expect(journal.map(entry => [entry.step, entry.attempt, entry.pid, entry.tooLate])).toEqual([
      ['linger', 2, other.pid, false],
      ['after', 1, other.pid, false],
    ])
  })
})

forEachServerAtOnce('a worker that stands still inside a transaction', database => {
  it('does not keep its work from others', async () => {
    await using world = await CrashWorld.open(database)
    // There before it stands still, so that it has all that time.
    const other = await world.worker()
    other.kill('SIGSTOP')
    const worker = await world.worker({ stallMs: 9000, options: { ...shortLease, heartbeatThread: false } })
    const wf = await world.geneva.start(LongStep, { input: { ms: 0, onAbort: 'ignore' } })
    await worker.nextMessage((message: { stalling?: string }) => message.stalling === wf.id)
    other.kill('SIGCONT')
    await wf.waitUntilFinished({ timeout: '8s' })
    worker.kill('SIGTERM')
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    const history = (await wf.history()).map(row => [row.step, row.attempt, row.outcome])
    expect(history).toEqual([
      ['linger', 1, 'recovered'],
      ['linger', 2, 'success'],
      ['after', 1, 'success'],
    ])
    const journal = (await world.journal()).map(entry => [entry.step, entry.attempt, entry.pid])
    expect(journal).toEqual([
      ['linger', 1, worker.pid],
      ['linger', 2, other.pid],
      ['after', 1, other.pid],
    ])
  })
})
