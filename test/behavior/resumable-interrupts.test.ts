/**
 * Fifty items, interrupted at every possible point: after each checkpoint, and between each body and its checkpoint. No
 * item is lost; one is seen twice only between its body and its checkpoint, and with a transaction never.
 */
import { beforeAll, expect, it } from 'vitest'
import { type Iteration, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { type GenevaUnderTest, quickly, useGeneva } from '../support/use-geneva.ts'
import { type Gate, gate, waitFor } from '../support/wait-for.ts'

const fifty = Array.from({ length: 50 }, (_, index) => index + 1)

/** `before` the body of an item is after the checkpoint of the one before it; 51 is after the last one. */
interface Point {
  readonly at: number
  readonly when: 'before' | 'inside' | 'after'
}

const before: readonly Point[] = [...fifty, 51].map(at => ({ at, when: 'before' }))
const inside: readonly Point[] = fifty.map(at => ({ at, when: 'inside' }))
const after: readonly Point[] = fifty.map(at => ({ at, when: 'after' }))

interface Interrupted extends Point {
  readonly how: 'suspend' | 'throw' | 'hang'
  readonly inTransactions: boolean
}

/** Items in the order in which they were done, by workflow. */
const seen = new Map<string, number[]>()
const interrupted = new Set<string>()
/** Where hanging steps wait; what they get is what becomes of them. */
let hanging: Gate<'go on' | 'die'> = gate()
let hung = 0

class Fifty extends Workflow<null, Interrupted> {
  static {
    this.onException('reattempt')
    this.resumableStep('items')
  }
  async items(iter: Iteration<number>) {
    const mine = seen.get(this.id) ?? []
    seen.set(this.id, mine)
    for await (const item of iter.over(fifty)) {
      await this.#come({ at: item, when: 'before' }, iter)
      // Far from the point nothing can go wrong, and commits take time.
      if (this.input.inTransactions && Math.abs(item - this.input.at) <= 2) {
        await iter.transaction(async tx => {
          await tx.query(`insert into done_items (workflow_id, item) values (${this.id}, ${item})`)
          await this.#come({ at: item, when: 'inside' }, iter)
        })
      } else {
        mine.push(item)
      }
      await this.#come({ at: item, when: 'after' }, iter)
    }
    await this.#come({ at: 51, when: 'before' }, iter)
  }
  /** Once in the life of the workflow, at the place that it was told. */
  async #come({ at, when }: Point, iter: Iteration<number>): Promise<void> {
    const { input } = this
    if (input.when !== when || input.at !== at || interrupted.has(this.id)) return
    interrupted.add(this.id)
    if (input.how === 'suspend') await iter.suspend()
    if (input.how === 'throw') throw new Error('interrupted')
    if (input.how === 'hang') {
      // What was done before is durable, as if it had been some time ago.
      await iter.checkpoint()
      hung++
      if ((await hanging.passed) === 'die') throw new Error('its process is gone')
    }
  }
}

forEachDatabase('fifty items interrupted at every point', database => {
  const under = useGeneva(database, { workflows: [Fifty] })
  beforeAll(async () => {
    const plain = await connectPlainly(database.name, under.url)
    await plain.query('create table done_items (workflow_id bigint not null, item integer not null)')
    await plain.close()
    seen.clear()
    interrupted.clear()
  })

  function start(points: readonly Point[], how: Interrupted['how'], inTransactions = false) {
    return under.geneva.startMany(
      Fifty,
      points.map(point => ({ input: { ...point, how, inTransactions } })),
    )
  }

  /** Another process takes up all that is left, and everything ends. */
  async function finishElsewhere(workflows: readonly WorkflowHandle<Fifty>[]): Promise<void> {
    const another = under.another()
    await another.startWorker({ ...quickly, concurrency: 200 })
    await forAll(workflows, wf => wf.waitUntilFinished({ timeout: '20s' }))
    await another.close()
  }

  it('by itself, with suspend: what has no checkpoint is done again', async () => {
    const workflows = await start([...before, ...after], 'suspend')
    await under.runDue({ concurrency: 200 })
    await forAll(workflows, async wf => {
      expect(seen.get(wf.id)).toEqual(await expected(wf))
      expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: 'success' }])
    })
  })

  it('by an error: the next attempt goes on where the cursor was', async () => {
    const workflows = await start([...before, ...after], 'throw')
    await under.runDue({ concurrency: 200 })
    await forAll(workflows, async wf => {
      expect(seen.get(wf.id)).toEqual(await expected(wf))
      expect(await wf.history()).toMatchObject([
        { attempt: 1, outcome: 'reattempted_by_exception' },
        { attempt: 2, outcome: 'success' },
      ])
    })
  })

  it('by the death of the process: another goes on from the last checkpoint', async () => {
    const workflows = await start([...before, ...after], 'hang')
    const dead = await hangAll(under, workflows)
    await dead.lose()
    await finishElsewhere(workflows)
    await forAll(workflows, async wf => {
      expect(seen.get(wf.id)).toEqual(await expected(wf))
      expect(await wf.history()).toMatchObject([
        { attempt: 1, outcome: 'recovered' },
        { attempt: 2, outcome: 'success' },
      ])
    })
    await dead.end('die')
  })

  it('by a shutdown: the item under way is finished, and nothing is done twice', async () => {
    const workflows = await start([...before.slice(0, 50), ...after], 'hang')
    const leaving = await hangAll(under, workflows)
    await leaving.end('go on')
    await forAll(workflows, async wf => {
      const { at } = await wf.input()
      expect(seen.get(wf.id)).toEqual(fifty.slice(0, at))
      expect(await wf.currentExecutions()).toMatchObject([{ state: 'suspended', attempt: 1 }])
    })
    await finishElsewhere(workflows)
    for (const wf of workflows) expect(seen.get(wf.id)).toEqual(fifty)
  })

  it('in transactions, by an error: everything exactly once', async () => {
    const workflows = await start(inside, 'throw', true)
    await under.runDue({ concurrency: 200 })
    expect(await allItems(workflows)).toEqual(workflows.map(() => fifty))
  })

  it('in transactions, by a death that was none: everything exactly once, though two are at it', async () => {
    const workflows = await start([...before, ...after], 'hang', true)
    const dead = await hangAll(under, workflows)
    await dead.lose()
    // Those who lost their claims go on at the same time.
    const ended = dead.end('go on')
    await finishElsewhere(workflows)
    await ended
    expect(await allItems(workflows)).toEqual(workflows.map(() => fifty))
  })

  /** An item that was interrupted between its body and its checkpoint is there twice, any other once. */
  async function expected(wf: WorkflowHandle<Fifty>): Promise<number[]> {
    const { at, when } = await wf.input()
    return when === 'after' ? [...fifty.slice(0, at), ...fifty.slice(at - 1)] : fifty
  }

  /** The rows of the application, and the items that were done without, by workflow and in order. */
  async function allItems(workflows: readonly WorkflowHandle<Fifty>[]): Promise<number[][]> {
    const plain = await connectPlainly(database.name, under.url)
    const rows = await plain.query('select workflow_id, item from done_items')
    await plain.close()
    return workflows.map(({ id }) => {
      const written = rows.filter(row => String(row.workflow_id) === id).map(row => Number(row.item))
      expect(written.length).toBeGreaterThanOrEqual(2)
      return [...written, ...(seen.get(id) ?? [])].toSorted((first, second) => first - second)
    })
  }
})

async function forAll(
  workflows: readonly WorkflowHandle<Fifty>[],
  look: (wf: WorkflowHandle<Fifty>) => Promise<unknown>,
): Promise<void> {
  await Promise.all(workflows.map(look))
}

let isAfterCheckpoint = true
const arrived: string[] = []

/** Loses its worker in every run: after the first checkpoint of it, or before. */
class Unlucky extends Workflow {
  static {
    this.resumableStep('walk', { checkpoint: 'each' })
  }
  async walk(iter: Iteration<number>) {
    let items = 0
    for await (const item of iter.over([1, 2, 3, 4, 5, 6])) {
      if (items++ === (isAfterCheckpoint ? 1 : 0)) {
        arrived.push(`${item}`)
        await hanging.passed
      }
    }
  }
}

forEachDatabase('a resumable step that loses its worker again and again', database => {
  const under = useGeneva(database, { workflows: [Unlucky] })

  it.each([
    [true, 'comes to its end, because each time it gets further', ['2', '3', '4', '5', '6']],
    [false, 'is given up when it never gets to a checkpoint', ['1', '1', '1']],
  ])('(after a checkpoint: %s) %s', async (after, _, places) => {
    isAfterCheckpoint = after
    arrived.length = 0
    const wf = await under.geneva.start(Unlucky)
    const store = await under.geneva.openedStore()
    const workers = []
    for (const [index, place] of places.entries()) {
      hanging = gate()
      const doomed = under.another()
      workers.push({ doomed, worker: await doomed.startWorker({ ...quickly, heartbeat: '5s' }), gate: hanging })
      await waitFor(() => arrived.length === index + 1)
      expect(arrived.at(-1)).toBe(place)
      const [row] = await store.activeExecutions(wf.id)
      await store.retireWorker(row?.owner ?? '')
    }
    await waitFor(async () => {
      // The others look for work that was left behind as well, and what one of them holds is passed over.
      await under.runDue()
      return (await wf.refresh()).state === (after ? 'finished' : 'dlq')
    })
    const outcomes = (await wf.history()).map(({ outcome, error }) => [outcome, error?.className])
    const lost = ['recovered', undefined]
    expect(outcomes).toEqual(
      after
        ? [...places.map(() => lost), ['success', undefined]]
        : [lost, lost, ['dead_lettered', 'CrashLimitError'], [null, undefined]],
    )
    for (const each of workers) each.gate.open('die')
    for (const each of workers) await each.doomed.close()
  })
})

/** A worker in which all of them hang where they were told to. */
async function hangAll(under: GenevaUnderTest, workflows: readonly WorkflowHandle<Fifty>[]) {
  hanging = gate()
  hung = 0
  const doomed = under.another()
  const worker = await doomed.startWorker({ ...quickly, concurrency: workflows.length, grace: '20s', heartbeat: '5s' })
  await waitFor(() => hung === workflows.length, 20_000)
  return {
    /** Everybody else takes it for dead from now on. */
    async lose() {
      const store = await under.geneva.openedStore()
      const [row] = await store.activeExecutions(workflows[0]?.id ?? '')
      await store.retireWorker(row?.owner ?? '')
    },
    async end(fate: 'go on' | 'die') {
      const stopped = worker.stop()
      hanging.open(fate)
      await stopped
      await doomed.close()
    },
  }
}
