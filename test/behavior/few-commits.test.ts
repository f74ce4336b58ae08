/** What an idle workflow costs its database, counted at the driver. */
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Five extends Workflow {
  static {
    for (const name of ['one', 'two', 'three', 'four', 'five'] as const) this.step(name)
  }
  one() {}
  two() {}
  three() {}
  four() {}
  five() {}
}

class Diamond extends Workflow {
  static {
    this.step('first')
    this.task('left', { dependsOn: ['first'] })
    this.task('right', { dependsOn: ['first'] })
    this.task('last', { dependsOn: ['left', 'right'] })
  }
  first() {}
  left() {}
  right() {}
  last() {
    return 'done'
  }
}

const idle = defineJob('idle', async () => {})

/** Whoever reads first and writes then begins to look at the rows of the workflow. */
const looks = (text: string) => /^select w\.id as w_id.* for no key update$/s.test(text)

/** Hears what goes out by each connection while something happens. What goes out together has a text together. */
async function hearWhile(happens: () => Promise<void>, hear: (client: pg.Client, texts: readonly string[]) => void) {
  const real = pg.Client.prototype.query
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [given] = args as [string | { text: string }]
    hear(this, (typeof given === 'string' ? given : given.text).split(';\n'))
    return Reflect.apply(real, this, args)
  } as never)
  await happens().finally(() => spy.mockRestore())
}

async function sentWhile(happens: () => Promise<void>): Promise<string[]> {
  const all: string[] = []
  await hearWhile(happens, (_, texts) => all.push(...texts))
  return all
}

// Where the driver is asked for each statement in turn; what is sent is the same on all three.
for (const database of databases.filter(({ name }) => name === 'postgres')) {
  const under = useGeneva(database, {
    workflows: [Five, Diamond],
    jobs: [idle],
    worker: { poll: 60_000, concurrency: 40 },
  })

  it('an idle workflow of five steps takes at most seven commits, and one round trip for each step', async () => {
    const run = async () => void (await (await under.geneva.start(Five)).waitUntilFinished())
    // Names of statements and ids are at hand after the first.
    await run()
    const all: string[] = []
    /** Whether the transaction that is open on a connection has written something. */
    const open = new Map<pg.Client, boolean>()
    let commits = 0
    await hearWhile(run, (client, texts) => {
      all.push(...texts)
      // It is one transaction unless one is open.
      const writes = texts.some(text => /^(with s0 as \()?(insert|update|delete) /.test(text))
      if (texts.some(text => text.startsWith('begin'))) open.set(client, false)
      if (open.has(client) && writes) open.set(client, true)
      // One that has written nothing, after a look for work, costs the log nothing.
      if (texts.includes('commit')) {
        if (open.get(client)) commits++
        open.delete(client)
      } else if (!open.has(client) && writes) commits++
    })
    expect(commits).toBeGreaterThan(4)
    expect(commits).toBeLessThanOrEqual(7)
    expect(all.filter(looks)).toEqual([])
  })

  it('branches that end together are reported together, and nobody looks at what their worker knows', async () => {
    let id = ''
    const texts = await sentWhile(async () => {
      const workflow = await under.geneva.start(Diamond)
      id = workflow.id
      expect(await workflow.waitUntilFinished()).toBe('done')
    })
    expect(texts.filter(looks)).toEqual([])
    // One report for each of `first`, both branches, and `last`.
    expect(texts.filter(text => /insert into geneva_drive_step_executions/.test(text))).toHaveLength(3)
    expect(await (await under.geneva.find(id))?.verifyHistory()).toBeNull()
  })

  it('branches that are reported in parts are counted, and nobody looks at what this process has recorded of them', async () => {
    const graph = under.geneva.build(flow => {
      const first = flow.node('first', { job: idle })
      const all = flow.fanOut(Array(200).fill(null), { name: (_, n) => `b${n}`, job: idle, dependsOn: first })
      flow.node('last', { job: idle, dependsOn: all })
    })
    let id = ''
    const texts = await sentWhile(async () => {
      const workflow = await under.geneva.startGraph(graph)
      id = workflow.id
      await workflow.waitUntilFinished()
    })
    const workflow = await under.geneva.find(id)
    expect(texts.filter(looks)).toEqual([])
    // Most branches had to stand in line for one of the places.
    expect((await workflow?.events())?.filter(({ type }) => type === 'step.scheduled').length).toBeGreaterThan(100)
    expect(texts.filter(text => /update geneva_drive_fan_ins/.test(text)).length).toBeGreaterThan(2)
    expect(await workflow?.verifyHistory()).toBeNull()
  })
}
