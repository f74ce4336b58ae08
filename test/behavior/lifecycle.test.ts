/** Opening, working off what is due, and closing: what a process may do, and what it is told when it may not. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const ended: string[] = []
let onThird = () => {}

class Work extends Workflow<null, { gate?: string; heeds?: boolean }> {
  static {
    this.step('first')
    this.step('second')
  }
  async first() {
    const { gate, heeds } = this.input
    const { signal } = this
    if (gate === undefined) return
    if (heeds) {
      void gates.stop(gate, signal)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(String(signal.reason)))))
    }
    await gates.stop(gate, signal)
    ended.push(gate)
  }
  second() {}
}

class Endless extends Workflow {
  static {
    this.step('again')
  }
  again() {
    if (this.execution.attempt === 3) onThird()
    this.reattempt()
  }
}

forEachDatabase('a Geneva', database => {
  const under = useGeneva(database, { workflows: [Work, Endless] })
  let count = 0
  const newGate = () => `${database.name} ${++count}`

  it('works off everything that is due, tells how much it claimed, and returns', async () => {
    await under.geneva.startMany(Work, [{}, {}, {}])
    const claimed = await under.runDue()
    expect(claimed).toBe(3)
    expect(await under.runDue()).toBe(0)
    expect((await under.geneva.list(Work, { state: 'finished' })).items).toHaveLength(3)
  })

  it('stops working when its time is over', async () => {
    const wf = await under.geneva.start(Endless)
    const hasty = under.another()
    await hasty.migrate()
    const now = performance.now.bind(performance)
    let passed = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
    onTestFinished(() => clock.mockRestore())
    onThird = () => {
      passed = 60_000
    }
    expect(await hasty.runDue({ ...quickly, maxMs: '1 min' })).toBeGreaterThan(0)
    expect((await wf.refresh()).state).toBe('ready')
    expect((await wf.history()).length).toBeGreaterThan(2)
    await wf.cancel()
  })

  it('waits for a running step within the grace time when its time is over', async () => {
    const gate = newGate()
    const wf = await under.geneva.start(Work, { input: { gate } })
    const store = await under.geneva.openedStore()
    const claim = store.claim.bind(store)
    // Its time is over when it has claimed.
    const claims = vi.spyOn(store, 'claim').mockImplementation(async request => {
      const claimed = await claim(request)
      await pause(5)
      return claimed
    })
    const running = under.runDue({ maxMs: 1, grace: '10s' })
    await gates.arrived(gate)
    claims.mockRestore()
    // It sees that in the same turn, and begins to leave.
    await turn()
    gates.open(gate)
    expect(await running).toBe(1)
    expect((await wf.history()).map(execution => [execution.step, execution.state])).toEqual([
      ['first', 'completed'],
      ['second', 'scheduled'],
    ])
    await under.runDue()
  })

  it('lets running steps end when it is closed, and starts no other', async () => {
    const gate = newGate()
    const geneva = under.another()
    await geneva.startWorker({ ...quickly, grace: '10s' })
    const wf = await under.geneva.start(Work, { input: { gate } })
    const signal = await gates.arrived(gate)
    const closing = geneva.close()
    gates.open(gate)
    await closing
    expect(signal.aborted).toBe(false)
    expect((await wf.history()).map(execution => [execution.step, execution.state])).toEqual([
      ['first', 'completed'],
      ['second', 'scheduled'],
    ])
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('aborts a step that outlasts the grace time, with the reason', async () => {
    const gate = newGate()
    const geneva = under.another()
    await geneva.startWorker(quickly)
    const wf = await under.geneva.start(Work, { input: { gate, heeds: true } })
    const signal = await gates.arrived(gate)
    await geneva.close()
    expect(signal.reason).toBe('shutting down')
    const [execution] = await wf.history()
    expect(execution).toMatchObject({ state: 'scheduled', attempt: 1, startedAt: null })
    await wf.cancel()
  })

  it('gives back a step that does not stop at all, the same attempt, and refuses its late result', async () => {
    const gate = newGate()
    const geneva = under.another()
    await geneva.startWorker(quickly)
    const wf = await under.geneva.start(Work, { input: { gate } })
    await gates.arrived(gate)
    await geneva.close()
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'first', state: 'scheduled', attempt: 1 }])
    gates.open(gate)
    await waitFor(() => ended.includes(gate))
    await under.runDue()
    expect((await wf.history()).map(execution => [execution.step, execution.attempt, execution.outcome])).toEqual([
      ['first', 1, 'success'],
      ['second', 1, 'success'],
    ])
    expect(ended.filter(name => name === gate)).toHaveLength(2)
  })

  it('that is closed while it works off what is due stops in good order', async () => {
    const geneva = under.another()
    const wf = await geneva.start(Endless)
    const running = geneva.runDue(quickly)
    const seen = await under.geneva.find(wf.id)
    await waitFor(async () => (await seen?.history())?.[0]?.outcome)
    await geneva.close()
    expect(await running).toBeGreaterThan(0)
    await under.geneva.cancel(wf.id)
    expect((await under.geneva.find(wf.id))?.state).toBe('canceled')
  })

  it('refuses every use once it is closed, also through its handles', async () => {
    const geneva = under.another()
    const wf = await geneva.start(Work, {}, { delay: '1 day' })
    const page = await geneva.list(Work, { limit: 1 })
    await geneva.close()
    await geneva.close()
    const uses: (() => unknown)[] = [
      () => geneva.start(Work, {}),
      () => geneva.startMany(Work, [{}]),
      () => geneva.find(wf.id),
      () => geneva.list(),
      () => geneva.pause(wf.id),
      () => geneva.skip(wf.id, 'first'),
      () => geneva.runDue(),
      () => geneva.startWorker(),
      () => geneva.work(),
      () => geneva.migrate(),
      () => wf.refresh(),
      () => wf.history(),
      () => wf.pause(),
      () => wf.cancel(),
      () => wf.tags(),
      () => wf.input(),
      () => wf.output('first'),
      () => wf.events(),
      () => wf.waitUntilFinished(),
      async () => {
        for await (const item of page) expect(item.id).toBeDefined()
      },
    ]
    for (const use of uses) {
      await expect(Promise.resolve().then(use), use.toString()).rejects.toMatchObject({ code: 'CLOSED' })
    }
    expect(wf.state).toBe('ready')
    await under.geneva.cancel(wf.id)
  })

  it('closes while it is still opening', async () => {
    const geneva = under.another()
    const starting = geneva.start(Work, {}).catch(error => error)
    await geneva.close()
    await starting
    await expect(geneva.list()).rejects.toMatchObject({ code: 'CLOSED' })
  })

  it('works until it is closed', async () => {
    const geneva = under.another()
    const working = geneva.work({ ...quickly, handleSignals: false })
    const wf = await under.geneva.start(Work, {})
    await wf.waitUntilFinished({ timeout: '10s' })
    await geneva.close()
    await working
  })

  it('does not touch an empty database that it must not migrate, and says what to do', async () => {
    const { url } = await database.isolated()
    await using geneva = new Geneva({ database: url, workflows: [Work], migrate: false })
    await expect(geneva.start(Work, {})).rejects.toMatchObject({
      code: 'SCHEMA',
      message: expect.stringContaining('geneva migrate'),
    })
    await using migrating = new Geneva({ database: url, workflows: [Work] })
    await migrating.migrate()
    expect((await geneva.start(Work, {})).state).toBe('ready')
  })
})

it.each([undefined, null, 7, '', 'app.db', 'oracle://x', { url: 7 }])('no database is opened with %o', database => {
  expect(() => new Geneva({ database: database as string })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})
