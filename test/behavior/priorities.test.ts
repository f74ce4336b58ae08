/** Priority grows with waiting, up to 100, so that nothing starves; or it does not, and the higher one always goes first. */
import { beforeEach, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

let order: string[] = []

function ranked(priority: number) {
  return class extends Workflow<null, { name: string }> {
    static {
      this.named(`ranked ${priority}`)
      this.jobOptions({ priority })
      this.step('go')
    }
    go() {
      order.push(this.input.name)
    }
  }
}
const P0 = ranked(0)
const P10 = ranked(10)
const P59 = ranked(59)
const P61 = ranked(61)
const P100 = ranked(100)

/** Two tasks of one line: those of one key. */
class Keyed extends Workflow<null, { name: string }> {
  static {
    this.named('ranked by key')
    this.jobOptions({ perKey: { key: () => 'acme', concurrency: 5 } })
    this.task('calm', { priority: 10 })
    this.task('urgent', { priority: 100 })
  }
  calm() {
    order.push(`${this.input.name} calm`)
  }
  urgent() {
    order.push(`${this.input.name} urgent`)
  }
}
const workflows = [P0, P10, P59, P61, P100, Keyed]
/** One step at a time, so that the order is seen. */
const one = { concurrency: 1, maxSteps: 1 }

forEachDatabase('a step that waits', database => {
  const under = useGeneva(database, { workflows, aging: { rate: 0.5 } })
  beforeEach(() => {
    order = []
  })
  const at = (seconds: number) => under.setClock(seconds * 1000)
  const start = (workflow: typeof P0, name: string) => under.geneva.start(workflow, { input: { name } })

  it('counts as 60 after 100 seconds, when it began with 10 and gains half a point a second', async () => {
    await at(0)
    await start(P10, 'waiting')
    await at(100)
    await start(P59, 'lower')
    await start(P61, 'higher')
    await under.runDue({ concurrency: 1 })
    expect(order).toEqual(['higher', 'waiting', 'lower'])
  })

  it('counts as 100 from 180 seconds on, and then goes before what fell due after it', async () => {
    await at(0)
    await start(P10, 'waiting')
    await at(170)
    await start(P100, 'urgent')
    await under.runDue(one)
    expect(order).toEqual(['urgent'])
    await start(P100, 'urgent too')
    await at(181)
    await under.runDue({ concurrency: 1 })
    expect(order).toEqual(['urgent', 'waiting', 'urgent too'])
  })

  it('counts as 100 and no more among those of its key as well', async () => {
    await at(0)
    await under.geneva.start(Keyed, { input: { name: 'first' } })
    await under.runDue(one)
    await at(170)
    await under.geneva.start(Keyed, { input: { name: 'second' } })
    await under.runDue(one)
    await under.geneva.start(Keyed, { input: { name: 'third' } })
    await at(181)
    await under.runDue({ concurrency: 1 })
    expect(order).toEqual(['first urgent', 'second urgent', 'first calm', 'third urgent', 'second calm', 'third calm'])
  })

  it('begins within the bound that its rate gives, however much of the highest priority comes in', async () => {
    await at(0)
    await start(P0, 'patient')
    let begun = 0
    // More comes in than is done: the line of the highest priority only grows.
    for (let seconds = 1; !order.includes('patient'); seconds += 20) {
      await at(seconds)
      for (const name of ['a', 'b', 'c']) await start(P100, name)
      await under.runDue(one)
      begun = seconds
      expect(seconds).toBeLessThan(260)
    }
    expect(begun).toBeGreaterThanOrEqual(200)
    expect(begun).toBeLessThanOrEqual(221)
    await under.runDue()
  })
})

forEachDatabase('without aging, a step', database => {
  const under = useGeneva(database, { workflows, aging: false })
  beforeEach(() => {
    order = []
  })

  it('of higher priority goes first, however long others have waited', async () => {
    await under.geneva.start(P0, { input: { name: 'patient' } })
    await under.geneva.start(P10, { input: { name: 'second' } })
    await under.setClock(30 * 86_400_000)
    await under.geneva.start(P100, { input: { name: 'urgent' } })
    await under.runDue({ concurrency: 1 })
    expect(order).toEqual(['urgent', 'second', 'patient'])
    await under.setClock(0)
  })

  it('goes by the new order as soon as aging is switched on again, in processes that say nothing as well', async () => {
    await under.geneva.start(P0, { input: { name: 'patient' } })
    await under.setClock(600_000)
    await under.geneva.start(P100, { input: { name: 'urgent' } })
    await under.another({ workflows, aging: { rate: 1 } }).migrate()
    await under.runDue({ concurrency: 1 })
    expect(order).toEqual(['patient', 'urgent'])
    const silent = under.another({ workflows })
    const store = await silent.openedStore()
    await silent.start(P10, { input: { name: 'ten' } })
    store.setClockOffset(9000)
    await silent.start(P0, { input: { name: 'zero' } })
    order = []
    await silent.runDue({ concurrency: 1 })
    expect(order).toEqual(['ten', 'zero'])
    await under.setClock(0)
  })

  it.each([0, -1, Number.NaN, '1', undefined])('cannot age by %s points a second', rate => {
    expect(() => under.another({ workflows, aging: { rate: rate as number } })).toThrow('points of priority a second')
  })
})
