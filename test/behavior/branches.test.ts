/** Branches of a class: conditions, forks and joins run only what was taken, and a rollback undoes only that. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, InvalidArgumentError, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
const failing = new Set<string>()

function run(name: string): void {
  calls.push(name)
  if (failing.has(name)) throw new Error(`${name} broke`)
}

/** A shop that checks its stock, takes the money, and delivers goods and papers side by side. */
class SmartOrder extends Workflow<null, { stock: number; digital?: boolean }> {
  static {
    this.named('smart-order')
    this.onException('rollback')
    this.step('validate')
    this.condition('inStock', {
      else: b => b.step('restock', { compensate: 'returnStock' }),
    })
    this.step('pay', { compensate: 'refund' })
    this.fork('fulfilment', {
      goods: b => {
        b.condition('isDigital', wf => wf.input.digital === true, {
          then: yes => yes.step('download'),
          else: no => {
            no.step('pack', { compensate: 'unpack' })
            no.step('ship', { compensate: 'callBack' })
          },
        })
      },
      papers: b => b.step('invoice', { compensate: 'credit' }),
    })
    this.step('notify')
  }
  async validate() {
    run('validate')
  }
  inStock() {
    return this.input.stock > 0
  }
  async restock() {
    run('restock')
  }
  async returnStock(_: Compensation) {
    run('returnStock')
  }
  async pay() {
    run('pay')
  }
  async refund() {
    run('refund')
  }
  async download() {
    run('download')
  }
  async pack() {
    run('pack')
  }
  async unpack() {
    run('unpack')
  }
  async ship() {
    run('ship')
  }
  async callBack() {
    run('callBack')
  }
  async invoice() {
    run('invoice')
  }
  async credit() {
    run('credit')
  }
  async notify() {
    run('notify')
  }
}

class Race extends Workflow<null, { tries?: number }> {
  static {
    this.named('race')
    this.fork(
      'couriers',
      {
        fast: b => b.step('askFast'),
        cheap: b => {
          b.step('askCheap', { wait: '1 hour' })
          b.step('confirmCheap')
        },
      },
      { join: 'any' },
    )
    this.step('book')
  }
  async askFast() {
    run('askFast')
  }
  async askCheap() {
    run('askCheap')
  }
  async confirmCheap() {
    run('confirmCheap')
  }
  async book() {
    run('book')
  }
}

class Survey extends Workflow {
  static {
    this.named('survey')
    this.parallel('asked', b => [b.step('one'), b.step('two'), b.step('three')], { join: 'settled' })
    this.step('sum')
  }
  async one() {
    run('one')
  }
  async two() {
    run('two')
  }
  async three() {
    run('three')
  }
  async sum() {
    run('sum')
  }
}

class Quotes extends Workflow {
  static {
    this.named('quotes')
    this.parallel('offers', b => [b.step('a'), b.step('b'), b.step('c', { wait: '1 day' })], { join: false })
    this.step('inform')
    this.join('enough', { dependsOn: ['a', 'b', 'c'], rule: { atLeast: 2 } })
    this.step('choose')
  }
  async a() {
    run('a')
  }
  async b() {
    run('b')
  }
  async c() {
    run('c')
  }
  async inform() {
    run('inform')
  }
  async choose() {
    run('choose')
  }
}

forEachDatabase('a workflow with branches', database => {
  const under = useGeneva(database, { workflows: [SmartOrder, Race, Survey, Quotes] })
  const statesOf = async (id: string) => {
    const nodes = await under.geneva.nodesWithState(id)
    return Object.fromEntries(nodes.map(node => [node.name, node.state]))
  }

  beforeEach(async () => {
    calls.length = 0
    failing.clear()
    await under.setClock(0)
  })

  it('runs the branch that its condition chose, and goes on behind both', async () => {
    const wf = await under.geneva.start(SmartOrder, { input: { stock: 1, digital: true } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(['download', 'invoice', 'notify', 'pay', 'validate'])
    expect(calls.at(-1)).toBe('notify')
    expect(await statesOf(wf.id)).toMatchObject({
      inStock: 'completed',
      restock: 'not_taken',
      isDigital: 'completed',
      pack: 'not_taken',
      ship: 'not_taken',
      'fulfilment#join': 'completed',
    })
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('undoes only the branches that were taken, newest first', async () => {
    failing.add('notify')
    const wf = await under.geneva.start(SmartOrder, { input: { stock: 0 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    const undone = calls.slice(calls.indexOf('notify') + 1)
    expect(undone.filter(name => name !== 'credit')).toEqual(['callBack', 'unpack', 'refund', 'returnStock'])
    expect(undone.indexOf('credit')).toBeLessThan(undone.indexOf('refund'))
    expect(await statesOf(wf.id)).toMatchObject({
      download: 'not_taken',
      isDigital: 'rolled_back',
      fulfilment: 'rolled_back',
      ship: 'rolled_back',
      notify: 'rolled_back',
    })
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('with a join of any goes on with the first branch, and leaves the others behind', async () => {
    const wf = await under.geneva.start(Race)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['askFast', 'book'])
    const history = await wf.history()
    expect(history.find(({ step }) => step === 'askCheap')).toMatchObject({ outcome: 'superseded', state: 'canceled' })
    expect(await statesOf(wf.id)).toMatchObject({ confirmCheap: 'not_taken' })
  })

  it('with a join of any does without a branch that fails while another may still complete', async () => {
    failing.add('askFast')
    const wf = await under.geneva.start(Race)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('ready')
    await under.setClock(3_700_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['askFast', 'askCheap', 'confirmCheap', 'book'])
  })

  it('with a settled join goes on when all have ended, and is marked as partial if one has failed', async () => {
    failing.add('two')
    const partial = await under.geneva.start(Survey)
    await under.runDue()
    expect((await partial.refresh()).state).toBe('finished')
    expect(partial.partial).toBe(true)
    failing.clear()
    const whole = await under.geneva.start(Survey)
    await under.runDue()
    expect((await whole.refresh()).partial).toBe(false)
  })

  it('whose fork has no join goes on at once, and may be joined later by so many', async () => {
    const wf = await under.geneva.start(Quotes)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toContain('inform')
    expect(calls.at(-1)).toBe('choose')
    expect(calls).not.toContain('c')
  })

  it('that is run again from inside a branch runs that branch, by what its condition had answered', async () => {
    const old = await under.geneva.start(SmartOrder, { input: { stock: 0 } })
    await under.runDue()
    calls.length = 0
    const wf = await under.geneva.rerun(old.id, { from: 'restock' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(['invoice', 'notify', 'pack', 'pay', 'restock', 'ship'])
    calls.length = 0
    const nested = await under.geneva.rerun(wf.id, { from: 'ship' })
    await under.runDue()
    expect((await nested.refresh()).state).toBe('finished')
    expect(calls).toEqual(['ship', 'notify'])
    expect(await statesOf(nested.id)).toMatchObject({ download: 'not_taken', ship: 'completed' })
    expect(await nested.output('isDigital')).toBe(false)
    expect(await nested.verifyHistory()).toBeNull()
  })

  it('says of a condition that a rerun has taken over where it comes from', async () => {
    const old = await under.geneva.start(SmartOrder, { input: { stock: 1 } })
    await under.runDue()
    const wf = await under.geneva.rerun(old.id, { from: 'notify' })
    const told: (string | null)[] = []
    const asked = { workflow: wf.id, types: ['step.completed'] as const, follow: false }
    for await (const event of under.geneva.events(asked)) if (event.step === 'inStock') told.push(event.reason)
    expect(told).toEqual([`taken over from workflow ${old.id}`])
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('takes the branch that a person answers for its condition', async () => {
    for (const [answer, taken] of [
      [false, ['restock']],
      [true, []],
    ] as const) {
      calls.length = 0
      const wf = await under.geneva.start(SmartOrder, { input: { stock: 1, digital: true } })
      await wf.resolve('validate')
      await expect(wf.resolve('inStock', { reason: 'counted' })).rejects.toThrow(InvalidArgumentError)
      await wf.resolve('inStock', { output: answer, reason: 'counted' })
      await under.runDue()
      expect((await wf.refresh()).state).toBe('finished')
      expect(calls.toSorted()).toEqual(['download', 'invoice', 'notify', 'pay', ...taken])
      expect(await wf.output('inStock')).toBe(answer)
    }
  })

  it('that many are asked for refuses an answer that is none, and the others are resolved', async () => {
    const [asked, other] = await under.geneva.startMany(SmartOrder, [{ input: { stock: 1 } }, { input: { stock: 1 } }])
    if (!asked || !other) throw new Error('They were not started.')
    await asked.resolve('validate')
    await other.resolve('validate')
    await other.resolve('inStock', { output: true })
    const none = await under.geneva.all({ workflow: SmartOrder }).resolve({ step: 'inStock', output: 7 })
    expect(none).toMatchObject({ found: 2, changed: 0 })
    expect(none.refused.find(({ id }) => id === asked.id)?.message).toContain('`true` or `false`')
    const all = await under.geneva.all({ workflow: SmartOrder }).resolve({ step: 'inStock', output: true })
    expect(all).toMatchObject({ found: 2, changed: 1 })
    await under.runDue()
  })
})
