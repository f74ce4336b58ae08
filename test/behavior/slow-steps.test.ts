/** A step that takes its time: nothing else waits for it, neither what its worker claimed with it nor the branch beside it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { Hog } from '../programs/hogging-worker.ts'
import { forEachDatabase } from '../support/databases.ts'
import { spawnProgram } from '../support/spawn-program.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()

class Parcel extends Workflow<null, { gate?: string }> {
  static {
    this.step('pack')
    this.step('ship')
    this.step('thank')
  }
  async pack() {
    if (this.input.gate) await gates.stop(this.input.gate, this.signal)
  }
  ship() {}
  thank() {}
}

class Branches extends Workflow<null, { gate: string }> {
  static {
    this.step('begin')
    this.task('slow', { dependsOn: 'begin' })
    this.task('quick', { dependsOn: 'begin' })
    this.task('quicker', { dependsOn: 'quick', retry: { attempts: 2, backoff: 'fixed', delay: 0, jitter: false } })
    this.task('quickest', { dependsOn: 'quicker' })
    this.task('join', { dependsOn: ['slow', 'quickest'] })
  }
  begin() {}
  async slow() {
    await gates.stop(this.input.gate, this.signal)
  }
  quick() {}
  quicker() {
    if (this.execution.attempt === 1) throw new Error('not at once')
  }
  quickest() {}
  join() {
    return 'together'
  }
}

/** Computes for long, but lets go of the thread now and then. */
class Crunch extends Workflow<null, { gate: string }> {
  static {
    this.step('compute')
  }
  async compute() {
    const { gate } = this.input
    const opened = gates.stop(gate, this.signal).then(() => true)
    while (!(await Promise.race([opened, nextTurn()]))) compute()
  }
}

function compute(): void {
  const until = performance.now() + 5
  while (performance.now() < until);
}

function nextTurn(): Promise<false> {
  return new Promise(resolve => setImmediate(resolve, false))
}

const some = Array.from({ length: 12 }, () => ({ input: {} }))

forEachDatabase('a slow step', database => {
  const under = useGeneva(database, { workflows: [Parcel, Branches, Crunch] })

  it.each([50, 2])(
    'never delays another workflow, also one that was claimed with it, where a worker has %s places',
    async concurrency => {
      const gate = `${database.name} ${concurrency} parcel`
      const [slow, ...others] = await under.geneva.startMany(Parcel, [{ input: { gate } }, ...some])
      const worker = await under.geneva.startWorker({ ...quickly, concurrency })
      await gates.arrived(gate)
      for (const other of others) await other.waitUntilFinished({ timeout: '20s' })
      const late = await under.geneva.startMany(Parcel, some)
      for (const other of late) await other.waitUntilFinished({ timeout: '20s' })
      expect(await slow?.currentExecutions()).toMatchObject([{ step: 'pack', state: 'in_progress', attempt: 1 }])
      // What others see in the database is what counts, not what this process believes.
      const seen = await under.another().all({ workflow: Parcel, state: 'active' }).count()
      expect(seen, 'the slow one alone is left').toBe(1)
      gates.open(gate)
      await slow?.waitUntilFinished({ timeout: '20s' })
      await worker.stop()
    },
  )

  it('never delays the branch beside it, retries included; only what depends on both waits', async () => {
    const gate = `${database.name} branches`
    const wf = await under.geneva.start(Branches, { input: { gate } })
    const worker = await under.geneva.startWorker(quickly)
    await gates.arrived(gate)
    const ended = async () =>
      (await wf.history()).filter(row => row.endedAt !== null).map(row => `${row.step} ${row.attempt} ${row.state}`)
    await waitFor(async () => (await ended()).includes('quickest 1 completed'))
    expect((await ended()).toSorted()).toEqual([
      'begin 1 completed',
      'quick 1 completed',
      'quicker 1 failed',
      'quicker 2 completed',
      'quickest 1 completed',
    ])
    const { nodes, state, decision } = await wf.explain()
    expect([state, decision]).toEqual(['performing', 'processing'])
    expect(nodes.find(({ id }) => id === 'join')?.openParents).toEqual(['slow'])
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'slow', state: 'in_progress' }])
    gates.open(gate)
    expect(await wf.waitUntilFinished({ timeout: '20s' })).toBe('together')
    await worker.stop()
  })

  it('never delays others in its process while it computes, as long as it lets go of the thread now and then', async () => {
    const gate = `${database.name} crunch`
    const busy = await under.geneva.start(Crunch, { input: { gate } })
    const worker = await under.geneva.startWorker(quickly)
    await gates.arrived(gate)
    const others = await under.geneva.startMany(Parcel, some.slice(0, 4))
    for (const other of others) await other.waitUntilFinished({ timeout: '30s' })
    expect((await busy.refresh()).state).toBe('performing')
    gates.open(gate)
    await busy.waitUntilFinished({ timeout: '20s' })
    await worker.stop()
  })

  it('that holds the thread of its process delays no other process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'geneva-hog-'))
    const stop = join(folder, 'stop')
    // No worker of this process has its code, or it would hold the thread of the test.
    const hog = await under.another({ workflows: [Hog] }).start(Hog, { input: { stop } })
    const program = spawnProgram('hogging-worker', [under.url])
    await program.nextMessage((message: { hogging?: string }) => message.hogging === hog.id, 30_000)
    const worker = await under.geneva.startWorker({ ...quickly, queues: ['default'] })
    const others = await under.geneva.startMany(Parcel, some)
    for (const other of others) await other.waitUntilFinished({ timeout: '30s' })
    expect(await hog.currentExecutions()).toMatchObject([{ step: 'hold', state: 'in_progress', attempt: 1 }])
    writeFileSync(stop, '')
    await hog.waitUntilFinished({ timeout: '30s' })
    expect((await hog.history()).map(({ attempt, state }) => [attempt, state])).toEqual([[1, 'completed']])
    await worker.stop()
    program.kill('SIGTERM')
    await program.exited
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)
})
