/** Resumable steps whose process ends: another one goes on from the last checkpoint, and counts every item once. */
import { expect, it } from 'vitest'
import { type Duration, Geneva, type Iteration, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { openAccess, type PlainAccess } from '../programs/harness/plain-access.ts'
import {
  createItemTable,
  type DoneItem,
  doneItems,
  Import,
  insertItem,
  Million,
  resumableWorkflows,
} from '../programs/harness/resumable-workflows.ts'
import type { ResumableWorkerConfig } from '../programs/resumable-worker.ts'
import { forEachDatabase, forEachDatabaseAtOnce, forEachServerAtOnce, type TestDatabase } from '../support/databases.ts'
import { type Program, spawnProgram } from '../support/spawn-program.ts'
import { waitFor } from '../support/wait-for.ts'
import { startLossyProxy } from './lossy-proxy.ts'

const hundred = Array.from({ length: 100 }, (_, index) => index + 1)

/** A database with the table of done items, a client to start workflows with, and worker processes. */
class ItemWorld {
  readonly geneva: Geneva
  readonly access: PlainAccess
  readonly url: string
  readonly #programs: Program[] = []

  constructor(url: string, access: PlainAccess) {
    this.url = url
    this.access = access
    this.geneva = new Geneva({ database: url, workflows: resumableWorkflows })
  }

  static async open(database: TestDatabase): Promise<ItemWorld> {
    const { url } = await database.isolated()
    const world = new ItemWorld(url, await openAccess(url))
    await createItemTable(world.access)
    await world.geneva.migrate()
    return world
  }

  async worker(lease: Duration): Promise<Program> {
    const config: ResumableWorkerConfig = { url: this.url, options: { lease, poll: 50, concurrency: 5 } }
    const program = spawnProgram('resumable-worker', [JSON.stringify(config)])
    this.#programs.push(program)
    await program.nextMessage((message: { ready?: number }) => message.ready !== undefined)
    return program
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) program.kill()
    await Promise.all(this.#programs.map(program => program.exited))
    await this.geneva.close()
    await this.access.close()
  }
}

async function finished(wf: WorkflowHandle<any>, ms = 20_000): Promise<void> {
  await waitFor(async () => (await wf.refresh()).state === 'finished', ms).catch(async error => {
    throw new Error(`${error.message}\n${JSON.stringify([wf.state, await wf.history()])}`)
  })
}

forEachDatabaseAtOnce('a resumable step', database => {
  it('whose process is killed goes on from its last checkpoint', async () => {
    await using world = await ItemWorld.open(database)
    const plain = await world.geneva.start(Import, { input: { inTransactions: false, ms: 3 } })
    const exact = await world.geneva.start(Import, { input: { inTransactions: true, ms: 3 } })
    const victim = await world.worker(500)
    await victim.nextMessage((message: { item?: number }) => message.item === 20)
    victim.kill()
    await victim.exited
    const reached = await doneItems(world.access)
    const survivor = await world.worker(500)
    for (const wf of [plain, exact]) {
      await finished(wf)
      const began = await survivor.nextMessage<{ began: string; at: number }>(message => message.began === wf.id)
      const mine = (rows: readonly DoneItem[]) => rows.filter(row => row.workflowId === wf.id)
      const before = mine(reached).length
      // What was done and not yet written down is done once more; in a transaction nothing is.
      const twice = wf === exact || began.at === before ? [] : [before]
      expect(began).toMatchObject({ at: before - twice.length, resumed: true })
      const after = mine(await doneItems(world.access))
      expect(after.map(({ item }) => item)).toEqual([...hundred, ...twice].toSorted((one, other) => one - other))
      expect(after.filter(({ pid }) => pid === victim.pid)).toHaveLength(before)
      expect(await wf.history()).toMatchObject([
        { attempt: 1, outcome: 'recovered' },
        { attempt: 2, outcome: 'success' },
      ])
    }
  })
})

forEachDatabase('a resumable step', database => {
  it('over a million items is stopped by SIGTERM within a second, and goes on elsewhere with the next item', async () => {
    await using world = await ItemWorld.open(database)
    const wf = await world.geneva.start(Million)
    const first = await world.worker('20s')
    await first.nextMessage((message: { count?: number }) => message.count !== undefined)
    const asked = performance.now()
    first.kill('SIGTERM')
    expect(await first.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - asked).toBeLessThan(1000)
    const { run } = await first.nextMessage<Run>(message => message.run !== undefined)
    expect(run.from).toBe(0)
    expect(run.count).toBeLessThan(1_000_000)
    const [row] = await (await world.geneva.openedStore()).activeExecutions(wf.id)
    expect(row).toMatchObject({ state: 'suspended', attempt: 1, progress: { cursor: `${run.count}` } })
    const second = await world.worker('20s')
    await finished(wf)
    const { run: rest } = await second.nextMessage<Run>(message => message.run !== undefined)
    expect(rest).toEqual({ from: run.count, count: 1_000_000 - run.count })
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
  })
})

interface Run {
  readonly run: { readonly from: number; readonly count: number }
}

forEachServerAtOnce('the transaction of an item', database => {
  it('is carried out once, though the answer to its commit is lost again and again', async () => {
    await using world = await ItemWorld.open(database)
    const proxy = await startLossyProxy(world.url, () => 5)
    const geneva = new Geneva({ database: proxy.url, workflows: resumableWorkflows, onError: () => {} })
    const wf = await world.geneva.start(Import, { input: { inTransactions: true, ms: 0 } })
    const worker = await geneva.startWorker({ lease: '20s', poll: 50 })
    // On MariaDB each lost answer costs a connection and a rest before that: eleven seconds in all where nothing else runs.
    await finished(wf, 50_000)
    expect((await doneItems(world.access)).map(({ item }) => item)).toEqual(hundred)
    expect(proxy.lost).toBeGreaterThan(15)
    await worker.stop()
    await geneva.close()
    await proxy.close()
  })

  /** Nothing is claimed or renewed meanwhile. */
  const quiet = { lease: '2 minutes', poll: '2 minutes' } as const
  /** Longer than a single statement is tried. */
  const awayMs = 7000

  it('is carried out once, though the database is away after its commit', { timeout: 40_000 }, async () => {
    await using world = await ItemWorld.open(database)
    let begun = 0
    class Counting extends Tens {
      static {
        this.resumableStep('items', { onException: 'reattempt' })
      }
      override before() {
        begun++
      }
    }
    const loss = { awayMs, of: /done_items/ }
    const proxy = await startLossyProxy(world.url, () => (begun === 5 && proxy.lost === 0 ? 1 : 0), loss)
    const geneva = new Geneva({ database: proxy.url, workflows: [Counting], onError: () => {} })
    const beside = new Geneva({ database: world.url, workflows: [Counting] })
    const wf = await beside.start(Counting)
    await geneva.startWorker(quiet)
    await finished(wf, 30_000)
    expect((await doneItems(world.access)).map(({ item }) => item)).toEqual(ten)
    expect([begun, proxy.lost]).toEqual([10, 1])
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    await Promise.all([geneva.close(), beside.close()])
    await proxy.close()
  })

  it('waits while the database is away before it has begun', { timeout: 40_000 }, async () => {
    await using world = await ItemWorld.open(database)
    class Waiting extends Tens {
      static {
        this.resumableStep('items')
      }
      override before(item: number) {
        if (item === 5) proxy.away(awayMs)
      }
    }
    const proxy = await startLossyProxy(world.url, () => 0)
    const geneva = new Geneva({ database: proxy.url, workflows: [Waiting], onError: () => {} })
    const beside = new Geneva({ database: world.url, workflows: [Waiting] })
    const wf = await beside.start(Waiting)
    await geneva.startWorker(quiet)
    await finished(wf, 30_000)
    expect((await doneItems(world.access)).map(({ item }) => item)).toEqual(ten)
    expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    await Promise.all([geneva.close(), beside.close()])
    await proxy.close()
  })
})

const ten = Array.from({ length: 10 }, (_, index) => index + 1)

abstract class Tens extends Workflow {
  abstract before(item: number): void

  async items(iter: Iteration<number>) {
    for await (const item of iter.over(ten)) {
      this.before(item)
      await iter.transaction(tx => tx.query(insertItem('done_items', this.id, item)))
    }
  }
}
