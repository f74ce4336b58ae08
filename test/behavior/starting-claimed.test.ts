/** Workflows that start beside a worker with room begin there at once; nothing is jumped, and nothing is lost. */
import { expect, it, vi } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

class Five extends Workflow<null, { note?: string }> {
  static {
    for (const name of ['one', 'two', 'three', 'four', 'five'] as const) this.step(name)
  }
  one() {
    return this.input.note ?? null
  }
  two() {}
  three() {}
  four() {}
  async five() {
    return { last: await this.output(this.one) }
  }
}

let release = () => {}
let held = Promise.resolve()

class Slow extends Workflow {
  static {
    this.step('hold')
  }
  hold() {
    return held
  }
}

class Later extends Workflow {
  static {
    this.step('first', { wait: '1 hour' })
  }
  first() {}
}

class Sent extends Workflow {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {}
}

const shout = defineJob('shout', async (args: { word: string }) => args.word.toUpperCase())

const rare = { poll: 60_000, concurrency: 2, grace: 0 }

forEachDatabase('a workflow that starts beside a worker', database => {
  const under = useGeneva(database, { workflows: [Five, Slow, Later, Sent], jobs: [shout], worker: rare })
  const typesOf = async (id: string) =>
    ((await (await under.geneva.find(id))?.events()) ?? []).map(({ type, node }) => `${type} ${node ?? ''}`.trim())

  it('begins there without having stood in line', async () => {
    const workflow = await under.geneva.start(Five, { input: { note: 'hello' } })
    expect(await workflow.waitUntilFinished({ timeout: '20s' })).toEqual({ last: 'hello' })
    const events = await typesOf(workflow.id)
    expect(events.slice(0, 3)).toEqual(['workflow.started', 'step.started one', 'step.completed one'])
    expect(events).not.toContain('step.scheduled one')
  })

  it('begins there without having stood in line, also when it is a graph', async () => {
    const read = vi.spyOn(await under.geneva.openedStore(), 'frozenGraphs')
    const workflow = await under.geneva.startGraph(
      under.geneva.build(w => {
        w.node('only', { job: shout, args: { word: 'hello' } })
      }),
    )
    expect(await workflow.waitUntilFinished({ timeout: '20s' })).toBe('HELLO')
    const types = (await workflow.events()).map(({ type }) => type)
    expect(types).toEqual(['workflow.started', 'step.started', 'step.completed', 'workflow.finished'])
    // It was known where it started.
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
  })

  it('is known at its end as a look would show it', async () => {
    const workflow = await under.geneva.start(Five)
    await workflow.waitUntilFinished({ timeout: '20s' })
    const found = await under.geneva.find(workflow.id)
    const facts = ({ state, createdAt, finishedAt, type }: typeof workflow) => ({ state, createdAt, finishedAt, type })
    expect(found).not.toBeNull()
    expect(facts(workflow)).toEqual(facts(found as typeof workflow))
    const history = await workflow.history()
    expect(history.map(({ step }) => step)).toEqual(['one', 'two', 'three', 'four', 'five'])
    const times = history.flatMap(({ startedAt, endedAt }) => [startedAt?.getTime() ?? 0, endedAt?.getTime() ?? 0])
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(await workflow.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
  })

  it('takes no more room than there is, and what finds none is claimed later', async () => {
    held = new Promise(resolve => {
      release = resolve
    })
    const all = await under.geneva.startMany(
      Slow,
      Array.from({ length: 5 }, () => ({})),
    )
    const started = await Promise.all(all.map(async ({ id }) => (await typesOf(id)).includes('step.scheduled hold')))
    expect(started.filter(scheduled => !scheduled)).toHaveLength(2)
    release()
    await Promise.all(all.map(workflow => workflow.waitUntilFinished({ timeout: '20s' })))
  })

  it('waits where it has to: for its time, and for a queue that is paused', async () => {
    const later = await under.geneva.start(Later)
    expect(await typesOf(later.id)).toContain('step.scheduled first')
    await under.geneva.queues.pause('mail')
    const mail = await under.geneva.start(Sent)
    expect(await typesOf(mail.id)).toContain('step.scheduled send')
    await under.geneva.queues.resume('mail')
    await mail.waitUntilFinished({ timeout: '20s' })
  })

  it('goes to other workers when this one was declared dead meanwhile', async () => {
    const another = under.another()
    const lost = await another.startWorker(rare)
    const store = await another.openedStore()
    const real = store.start.bind(store)
    const spy = vi.spyOn(store, 'start').mockImplementation(async (orders, call) => {
      const owner = orders[0]?.first[0]?.owner
      if (owner) await (await under.geneva.openedStore()).retireWorker(owner)
      return real(orders, call)
    })
    const workflow = await another.start(Five)
    spy.mockRestore()
    expect(await typesOf(workflow.id)).toContain('step.scheduled one')
    // Another may be about to claim it, in vain or not: on PostgreSQL all hear of it.
    await waitFor(async () => {
      await under.geneva.runDue({ workflowId: workflow.id })
      return (await workflow.refresh()).state === 'finished'
    })
    const { findings } = await under.geneva.doctor({ workflow: workflow.id })
    expect(findings).toEqual([])
    await lost.stop()
  })
})
