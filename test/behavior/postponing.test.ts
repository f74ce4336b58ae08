/** A hook or a step that says: not now. The same attempt begins anew later, and nothing loops meanwhile. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, type Iteration, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

let closed = false
let ran: string[] = []
let asked = 0
let wanted = true

class Shop extends Workflow {
  static {
    this.beforeEach((wf, step) => {
      asked++
      if (closed && step.name === 'deliver') wf.postpone('5 min', 'the shop is closed')
    })
    this.step('pack')
    this.step('deliver', { retry: 2 })
  }
  pack() {
    ran.push('pack')
  }
  deliver() {
    ran.push(`deliver ${this.execution.attempt}`)
  }
}

class Copy extends Workflow {
  static {
    this.resumableStep('rows')
  }
  async rows(iter: Iteration<number>) {
    for await (const row of iter.over(['a', 'b', 'c'])) {
      if (row === 'b' && closed) this.postpone('5 min')
      ran.push(row)
    }
  }
}

/** A hook has it wait. Whether it is wanted may change meanwhile. */
class Late extends Workflow {
  static {
    this.beforeEach(wf => {
      if (closed) wf.postpone('5 min')
    })
    this.resumableStep('rows', { if: () => wanted })
  }
  async rows(iter: Iteration<number>) {
    ran.push(iter.resumed ? 'resumed' : 'first')
  }
}

class Swallowing extends Workflow {
  static {
    this.step('go')
  }
  go() {
    if (!closed) return
    try {
      this.postpone('5 min')
    } catch {
      ran.push('swallowed')
    }
  }
}

class Never extends Workflow {
  static {
    this.step('go')
  }
  go() {
    this.postpone(0)
  }
}

/** Its hook has steps and what undoes them alike wait for the shop. */
class Returned extends Workflow {
  static {
    this.beforeEach((wf, step) => {
      if (closed && step.name === 'deliver') wf.postpone('15 min', 'the shop is closed')
    })
    this.step('deliver', { compensate: { step: 'collect', retry: 1 } })
    this.step('thank', { wait: '1 day' })
  }
  deliver() {
    ran.push('deliver')
  }
  collect() {
    ran.push(`collect ${this.execution.attempt}`)
  }
  thank() {}
}

const knock = defineJob('knock', async (_args: object, job) => {
  if (closed) job.postpone('5 min', 'nobody is there')
  ran.push('knock')
})

forEachDatabase('a step that is postponed', database => {
  const under = useGeneva(database, { workflows: [Shop, Copy, Late, Swallowing, Never, Returned], jobs: [knock] })
  beforeEach(async () => {
    closed = true
    ran = []
    asked = 0
    wanted = true
    await under.setClock(0)
  })

  it('by a hook waits on the same row with the same attempt, and its hook is not asked again before', async () => {
    const wf = await under.geneva.start(Shop)
    await under.runDue()
    const [before] = await wf.currentExecutions()
    expect(before).toMatchObject({ step: 'deliver', state: 'scheduled', attempt: 1 })
    expect([asked, await under.runDue()]).toEqual([2, 0])
    expect((await wf.explain()).sentence).toMatch(/^Step deliver waits until .*, for 4 minutes more\.$/)
    await under.setClock(301_000)
    await under.runDue()
    const [again] = await wf.currentExecutions()
    expect([again?.id, again?.attempt, asked]).toEqual([before?.id, 1, 3])
    closed = false
    await under.setClock(602_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(ran).toEqual(['pack', 'deliver 1'])
    expect((await wf.history()).map(({ step, attempt }) => [step, attempt])).toEqual([
      ['pack', 1],
      ['deliver', 1],
    ])
    const why = (await wf.events()).filter(event => event.reason === 'the shop is closed')
    expect(why.map(({ from, to }) => [from, to])).toEqual([
      ['in_progress', 'scheduled'],
      ['in_progress', 'scheduled'],
    ])
  })

  it('while its workflow is paused is held, and keeps its time', async () => {
    const wf = await under.geneva.start(Shop)
    await under.runDue()
    await wf.pause()
    await under.setClock(301_000)
    expect(await under.runDue()).toBe(0)
    closed = false
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('goes on where it was, if it is resumable', async () => {
    const wf = await under.geneva.start(Copy)
    await under.runDue()
    expect(await wf.currentExecutions()).toMatchObject([{ state: 'suspended', attempt: 1 }])
    expect(await under.runDue()).toBe(0)
    closed = false
    await under.setClock(301_000)
    await under.runDue()
    expect([(await wf.refresh()).state, ran]).toEqual(['finished', ['a', 'b', 'c']])
  })

  it.each([
    [true, ['first'], 'success'],
    [false, [], 'skipped_by_condition'],
  ])(
    'by a hook has not begun, if it is resumable: it is asked whether it is wanted (%s)',
    async (answer, runs, end) => {
      const wf = await under.geneva.start(Late)
      await under.runDue()
      expect(await wf.currentExecutions()).toMatchObject([{ state: 'suspended', attempt: 1 }])
      closed = false
      wanted = answer
      await under.setClock(301_000)
      await under.runDue()
      expect(ran).toEqual(runs)
      expect(await wf.history()).toMatchObject([{ attempt: 1, outcome: end }])
    },
  )

  it('is postponed even if it swallows what was thrown', async () => {
    const wf = await under.geneva.start(Swallowing)
    await under.runDue()
    expect([ran, (await wf.refresh()).state]).toEqual([['swallowed'], 'ready'])
    await wf.cancel()
  })

  it('may be the job of a graph', async () => {
    const wf = await under.geneva.startGraph(under.geneva.build(w => w.node('knock', { job: knock, args: {} })))
    await under.runDue()
    expect(await wf.currentExecutions()).toMatchObject([{ state: 'scheduled', attempt: 1 }])
    closed = false
    await under.setClock(301_000)
    await under.runDue()
    expect([(await wf.refresh()).state, ran]).toEqual(['finished', ['knock']])
  })

  it('must say for how long', async () => {
    const wf = await under.geneva.start(Never)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history())[0]?.error?.message).toContain('cannot be postponed by nothing')
  })

  it('while it is undone is undone later, by the same attempt and without a dead letter', async () => {
    closed = false
    const wf = await under.geneva.start(Returned)
    await under.runDue()
    closed = true
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('rolling_back')
    expect((await wf.explain()).sentence).toMatch(/ waits until .*, for 14 minutes more/)
    expect(await under.geneva.deadLetters({ workflowId: wf.id })).toEqual([])
    closed = false
    expect(await under.runDue()).toBe(0)
    await under.setClock(901_000)
    await under.runDue()
    expect(ran).toEqual(['deliver', 'collect 1'])
    expect((await wf.refresh()).state).toBe('canceled')
    expect((await wf.compensations()).map(({ outcome }) => outcome)).toEqual(['compensated'])
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })
})
