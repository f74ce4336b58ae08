/** What follows a step in several branches begins at once in the worker that recorded it, as far as it has room. */
import { expect, it, vi } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const running = { now: 0, most: 0 }

const work = defineJob('work', async ({ n }: { n: number }) => {
  running.now++
  running.most = Math.max(running.most, running.now)
  await new Promise(resolve => setTimeout(resolve, 20))
  running.now--
  return n
})
const idle = defineJob('idle', async () => {})
const mailed = defineJob('mailed', { queue: 'mail' }, async () => {})

class Branches extends Workflow {
  static {
    this.step('first')
    this.task('left', { dependsOn: ['first'] })
    this.task('right', { dependsOn: ['first'] })
  }
  first() {}
  left() {}
  right() {}
}

class Items extends Workflow {
  static {
    this.step('first')
    this.each('item', { items: () => [1, 2, 3, 4, 5, 6], concurrency: 3 })
    this.step('last')
  }
  first() {}
  item(value: number) {
    return value * 10
  }
  last() {}
}

/** Two slow steps that only a step needs which is not taken. */
class Needless extends Workflow {
  static open = () => {}
  static ran: string[] = []
  static {
    this.task('fetch', { dependsOn: [] })
    this.task('convert', { dependsOn: ['fetch'] })
    this.condition('asks', () => false, { then: b => b.task('attach', { dependsOn: ['convert'] }) })
    this.step('send')
  }
  async fetch() {
    await new Promise<void>(resolve => {
      Needless.open = resolve
      setTimeout(resolve, 10_000)
    })
    Needless.ran.push('fetch')
  }
  async convert() {
    Needless.ran.push('convert')
    return 'converted'
  }
  async attach() {
    Needless.ran.push('attach')
  }
  async send() {
    Needless.ran.push('send')
    return 'sent'
  }
}

forEachDatabase('branches', database => {
  const roomy = { poll: 60_000, concurrency: 4, grace: 0, queues: ['default', 'mail'] }
  const under = useGeneva(database, {
    workflows: [Branches, Items, Needless],
    jobs: [work, idle, mailed],
    worker: roomy,
  })

  const eventsOf = async (id: string) => (await (await under.geneva.find(id))?.events()) ?? []
  const begun = async (id: string) =>
    (await eventsOf(id)).filter(({ type }) => type === 'step.started').map(({ node }) => node)
  const queued = async (id: string) =>
    (await eventsOf(id)).filter(({ type }) => type === 'step.scheduled').map(({ node }) => node)

  it('of a class begin without having stood in line', async () => {
    const workflow = await under.geneva.start(Branches)
    await workflow.waitUntilFinished({ timeout: '20s' })
    expect((await begun(workflow.id)).toSorted()).toEqual(['first', 'left', 'right'])
    expect(await queued(workflow.id)).toEqual([])
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
    expect(await workflow.verifyHistory()).toBeNull()
  })

  it('of a wide graph take the room that there is and no more; the rest is claimed, and each runs once', async () => {
    running.most = 0
    const graph = under.geneva.build(flow => {
      const start = flow.node('begin', { job: idle, args: {}, dependsOn: null })
      const all = flow.fanOut(
        Array.from({ length: 30 }, (_, n) => n),
        {
          name: n => `w_${n}`,
          job: work,
          args: n => ({ n }),
          dependsOn: [start],
        },
      )
      flow.node('end', { job: idle, args: {}, dependsOn: all })
    })
    const workflow = await under.geneva.startGraph(graph)
    await workflow.waitUntilFinished({ timeout: '20s' })
    expect(running.most).toBe(4)
    // Those for which there was no room; the first of all begins where it is started.
    expect((await queued(workflow.id)).length).toBe(26)
    const nodes = await begun(workflow.id)
    expect(nodes.length).toBe(32)
    expect(new Set(nodes).size).toBe(32)
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
  })

  it('of an each begin as many as it may run at once, and each item runs once', async () => {
    const workflow = await under.geneva.start(Items)
    await workflow.waitUntilFinished({ timeout: '20s' })
    const items = Array.from({ length: 6 }, (_, index) => `item/${index}`)
    // Those that had to wait for a place among the items stand in line when they get one, and are claimed.
    expect(await queued(workflow.id)).toEqual([])
    expect((await begun(workflow.id)).toSorted()).toEqual(['first', 'item', ...items, 'last'].toSorted())
    expect(await workflow.output('item')).toEqual([10, 20, 30, 40, 50, 60])
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
    expect(await workflow.verifyHistory()).toBeNull()
  })

  it('of a queue that is paused stand in line', async () => {
    await under.geneva.queues.pause('mail')
    let letter = ''
    const graph = under.geneva.build(flow => {
      const start = flow.node('begin', { job: idle, args: {}, dependsOn: null })
      flow.node('left', { job: idle, args: {}, dependsOn: [start] })
      letter = flow.node('letter', { job: mailed, args: {}, dependsOn: [start] }).id
    })
    const workflow = await under.geneva.startGraph(graph)
    await expect.poll(async () => (await begun(workflow.id)).length, { timeout: 20_000 }).toBe(2)
    expect(await queued(workflow.id)).toContain(letter)
    expect(await begun(workflow.id)).not.toContain(letter)
    await under.geneva.queues.resume('mail')
    await workflow.waitUntilFinished({ timeout: '20s' })
    expect((await begun(workflow.id)).length).toBe(3)
  })

  it('that nobody needs any more are waited for all the same before the workflow has ended', async () => {
    Needless.ran = []
    const workflow = await under.geneva.start(Needless)
    const stateOf = async (name: string) =>
      (await under.geneva.nodesWithState(workflow.id)).find(node => node.name === name)?.state
    await vi.waitFor(async () => expect(await stateOf('send')).toBe('completed'), { timeout: 8_000 })
    expect(await stateOf('attach')).toBe('not_taken')
    expect((await workflow.refresh()).state).toBe('performing')
    Needless.open()
    const told = await workflow.waitUntilFinished({ timeout: '20s' })
    expect(Needless.ran).toEqual(['send', 'fetch', 'convert'])
    expect(await stateOf('convert')).toBe('completed')
    // Whoever asks again hears the same.
    expect(await (await under.geneva.find(workflow.id))?.waitUntilFinished()).toBe(told)
    expect((await under.geneva.doctor({ workflow: workflow.id })).findings).toEqual([])
    expect(await workflow.verifyHistory()).toBeNull()
  })
})
