/** A step that ends its own process: it is given up after three crashes, and its neighbours are spared. */
import { expect, it } from 'vitest'
import type { WorkflowHandle } from '../../src/index.ts'
import { EarlyKiller, FiveSteps, Killer } from '../programs/harness/load-workflows.ts'
import { forEachDatabaseAtOnce } from '../support/databases.ts'
import { waitFor } from '../support/wait-for.ts'
import { CrashWorld, shortLease } from './crash-world.ts'

const neighbours = 8
/** Each crash costs a lease and a new process. */
const slow = { timeout: 120_000 }

/** One worker after the other, until one of them lives: it has only given the step up. */
async function crashesUntilGivenUp(world: CrashWorld, killer: WorkflowHandle<any>): Promise<number> {
  let crashes = 0
  for (; (await killer.refresh()).state !== 'dlq'; crashes++) {
    expect(crashes).toBeLessThan(5)
    // Not so short that a busy machine loses leases of the living.
    const worker = await world.worker({ options: { ...shortLease, lease: 1500 }, bodyMs: [5, 20] })
    const givenUp = waitFor(async () => (await killer.refresh()).state === 'dlq', 20_000)
    await Promise.race([worker.exited, givenUp])
    if (killer.state === 'dlq') break
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' })
  }
  return crashes
}

forEachDatabaseAtOnce('a step that kills its process', database => {
  it('is given up after three crashes, while what was claimed with it finishes', slow, async () => {
    await using world = await CrashWorld.open(database)
    const killer = await world.geneva.start(Killer)
    await world.startLoad(neighbours)
    expect(await crashesUntilGivenUp(world, killer)).toBe(3)

    const history = (await killer.history()).map(row => [row.step, row.attempt, row.outcome, row.error?.className])
    expect(history).toEqual([
      ['prepare', 1, 'success', undefined],
      ['shoot', 1, 'recovered', undefined],
      ['shoot', 2, 'recovered', undefined],
      ['shoot', 3, 'dead_lettered', 'CrashLimitError'],
      ['shoot', 4, null, undefined],
    ])
    expect(await killer.currentExecutions()).toMatchObject([{ step: 'shoot', attempt: 4, state: 'paused' }])
    expect(await world.geneva.deadLetters()).toMatchObject([{ step: 'shoot', attempt: 3, reason: 'crash_limit' }])

    await waitFor(async () => (await world.geneva.list(FiveSteps, { state: 'active' })).items.length === 0)
    const finished = await world.geneva.list(FiveSteps, { state: 'finished' })
    expect(finished.items).toHaveLength(neighbours)
    const { history: rows, journal } = await world.rows()
    const suffered = rows.filter(row => row.workflowId !== killer.id && row.outcome === 'recovered')
    // Claimed in the same batch, the first crash met them too, and none was counted more than once.
    expect(suffered.length).toBeGreaterThan(0)
    expect(journal.filter(entry => entry.tooLate)).toEqual([])
    expect(await world.geneva.doctor()).toMatchObject({ findings: [], workflows: neighbours + 1 })
  })

  it('before a call that is made once is given up as well, and was never called', slow, async () => {
    await using world = await CrashWorld.open(database)
    const killer = await world.geneva.start(EarlyKiller)
    await world.startLoad(neighbours)
    expect(await crashesUntilGivenUp(world, killer)).toBe(3)
    expect((await killer.history()).map(row => [row.attempt, row.outcome, row.error?.className])).toEqual([
      [1, 'dead_lettered', 'CrashLimitError'],
      [2, null, undefined],
    ])
    expect(await world.geneva.deadLetters()).toMatchObject([{ step: 'shoot', attempt: 1, reason: 'crash_limit' }])
    await waitFor(async () => (await world.geneva.list(FiveSteps, { state: 'active' })).items.length === 0)
    expect((await world.geneva.list(FiveSteps, { state: 'finished' })).items).toHaveLength(neighbours)
    const { journal } = await world.rows()
    expect(journal.filter(entry => entry.step === 'shoot')).toEqual([])
    expect((await world.geneva.doctor()).findings).toEqual([])
  })
})
