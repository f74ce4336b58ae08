/** What many workflows leave that go on together is what each of them would leave alone, word for word. */
import { expect, it } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import type { EndedExecution, EventRecord } from '../../src/store/records.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import '../types/register.ts'

class Plain extends Workflow {
  static {
    for (const step of ['one', 'two', 'three', 'four'] as const) this.step(step)
  }
  one() {}
  two() {
    return { sum: 3 }
  }
  three() {}
  four() {}
}

class Talking extends Workflow {
  static {
    this.step('one')
    this.step('two', { skipIf: () => true })
    this.step('three')
  }
  one() {
    this.emit('order.noted', 'here')
  }
  two() {}
  three() {}
}

/** Without what is different each time: ids become places, times become those of the rows that they tell of. */
function told(events: readonly EventRecord[], rows: readonly EndedExecution[]) {
  return events.map(({ id, workflowId, executionId, at, since, ...rest }) => {
    const row = rows.find(other => other.id === executionId)
    return {
      ...rest,
      row: row?.node,
      // A clock may be too coarse to tell the one from the other.
      isInTime: at === (rest.type === 'step.started' ? row?.startedAt : row?.endedAt),
      sinceStart: since === row?.startedAt,
    }
  })
}

const idle = defineJob('idle', async () => {})

forEachDatabase('events of many at once', database => {
  const worker = { poll: 5, concurrency: 200 }
  const under = useGeneva(database, { workflows: [Plain, Talking], jobs: [idle], worker })

  /** One step, so many behind it, and one behind all of those: its events, by the names of its nodes. */
  async function fanOf(width: number) {
    const graph = under.geneva.build(w => {
      w.node('first', { job: idle })
      w.fanOut(Array(width).fill(null), { name: (_, index) => `branch ${index}`, job: idle })
      w.node('last', { job: idle })
    })
    const workflow = await under.geneva.startGraph(graph)
    await workflow.waitUntilFinished()
    const { id } = workflow
    const store = await under.geneva.openedStore()
    expect(await (await under.geneva.find(id))?.verifyHistory()).toBeNull()
    return told(await store.events(id), await store.history(id)).map(({ node, row, ...rest }) => ({
      ...rest,
      isAboutItsRow: row === node,
    }))
  }

  async function run(...classes: (typeof Plain | typeof Talking)[]) {
    const started = await Promise.all(classes.map(type => under.geneva.start(type)))
    await Promise.all(started.map(workflow => workflow.waitUntilFinished()))
    const store = await under.geneva.openedStore()
    return Promise.all(
      started.map(async ({ id }) => {
        expect(await (await under.geneva.find(id))?.verifyHistory()).toBeNull()
        const rows = await store.history(id)
        return { rows, events: told(await store.events(id), rows) }
      }),
    )
  }

  it('are the same, in the same order, and say what history says', async () => {
    const [alone] = await run(Plain)
    expect(alone?.events).toHaveLength(10)
    for (const { events, rows } of await run(...Array(60).fill(Plain))) {
      expect(events).toEqual(alone?.events)
      expect(rows.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4])
      expect(rows.slice(1).map(({ ancestry }) => ancestry.parents)).toEqual(rows.slice(0, -1).map(({ id }) => [id]))
      expect(rows.map(({ ancestry }) => ancestry.hash)).toEqual(alone?.rows.map(({ ancestry }) => ancestry.hash))
    }
  })

  it('are the same beside others that have more to say', async () => {
    const [alone, other] = await run(Plain, Talking)
    const both = Array.from({ length: 40 }, (_, index) => (index % 2 ? Plain : Talking))
    for (const [index, { events }] of (await run(...both)).entries()) {
      expect(events).toEqual((index % 2 ? alone : other)?.events)
    }
  })

  it('of branches that begin and end together are what each leaves beside few', async () => {
    const few = await fanOf(3)
    const many = await fanOf(100)
    const ofBranch = (events: typeof few, index: number) =>
      events.flatMap(({ nodeName, ...rest }) => (nodeName === `branch ${index}` ? [rest] : []))
    expect(ofBranch(few, 0).map(({ type }) => type)).toEqual(['step.started', 'step.completed'])
    for (let index = 0; index < 100; index++) expect(ofBranch(many, index)).toEqual(ofBranch(few, 0))
    const others = (events: typeof few) => events.filter(({ nodeName }) => !String(nodeName).startsWith('branch'))
    expect(others(many)).toEqual(others(few))
    // Nobody begins before what it depends on has ended.
    const order = many.map(({ nodeName, type }) =>
      String(nodeName).startsWith('branch') ? type : `${nodeName} ${type}`,
    )
    expect(order.indexOf('first step.completed')).toBeLessThan(order.indexOf('step.started'))
    expect(order.lastIndexOf('step.completed')).toBeLessThan(order.indexOf('last step.started'))
  })
})
