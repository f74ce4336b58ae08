/** Conditions, forks and joins as classes declare them, on real databases. */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

const calls: string[] = []
let failing = new Set<string>()
let stopped = gate()
let begun = gate()

function run(name: string): void {
  calls.push(name)
  if (failing.has(name)) throw new Error(`${name} broke`)
}

class Fulfilment extends Workflow<null, { digital: boolean; abroad: boolean }> {
  static {
    this.named('fulfilment')
    this.condition('isDigital', {
      then: b => b.step('deliver'),
      else: b => {
        b.fork('fulfil', {
          goods: b => {
            b.step('pack', { compensate: 'unpack' })
            b.step('label')
          },
          papers: b => b.condition('abroad', wf => wf.input.abroad, { then: b => b.step('customs') }),
        })
        b.step('handOver')
      },
    })
    this.step('close', { onException: 'rollback' })
  }
  isDigital() {
    return this.input.digital
  }
  async deliver() {
    run('deliver')
  }
  async pack() {
    run('pack')
  }
  async unpack(_: Compensation) {
    run('unpack')
  }
  async label() {
    run('label')
  }
  async customs() {
    run('customs')
  }
  async handOver() {
    run('handOver')
  }
  async close() {
    run('close')
  }
}

class Couriers extends Workflow<null, { join: 'any' }> {
  static {
    this.named('couriers')
    this.parallel(
      'ask',
      b => {
        b.step('slow', { compensate: 'undoSlow' })
        b.step('quick')
      },
      { join: 'any' },
    )
    this.step('send', { onException: 'rollback' })
  }
  async slow() {
    begun.open()
    await new Promise<void>(resolve => this.signal.addEventListener('abort', () => resolve()))
    stopped.open()
    return 'late'
  }
  async undoSlow(_: Compensation) {
    run('undoSlow')
  }
  async quick() {
    await begun.passed
    run('quick')
  }
  async send() {
    run('send')
  }
}

class Survey extends Workflow {
  static {
    this.named('survey')
    this.fork('ask', { first: b => b.step('one'), second: b => b.step('two') }, { join: 'settled' })
    this.step('report')
  }
  async one() {
    run('one')
  }
  async two() {
    run('two')
  }
  async report() {
    run('report')
  }
}

forEachDatabase('a workflow with branches', database => {
  const under = useGeneva(database, { workflows: [Fulfilment, Couriers, Survey] })
  const statesOf = async (wf: { nodesWithState(): Promise<{ name: string; state: string }[]> }) =>
    Object.fromEntries((await wf.nodesWithState()).map(node => [node.name, node.state]))

  beforeEach(() => {
    calls.length = 0
    failing = new Set()
    stopped = gate()
    begun = gate()
  })

  it('takes the way that its condition chooses, and leaves out the other with all that is in it', async () => {
    const wf = await under.geneva.start(Fulfilment, { input: { digital: true, abroad: false } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['deliver', 'close'])
    expect(await statesOf(wf)).toMatchObject({
      isDigital: 'completed',
      fulfil: 'not_taken',
      pack: 'not_taken',
      abroad: 'not_taken',
      'fulfil#join': 'not_taken',
      handOver: 'not_taken',
    })
    expect(await wf.output('isDigital')).toBe(true)
    expect(await wf.verifyHistory()).toBeNull()
  })

  it.each([true, false])('waits at a join for what was really taken (abroad: %s)', async abroad => {
    const wf = await under.geneva.start(Fulfilment, { input: { digital: false, abroad } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(['close', ...(abroad ? ['customs'] : []), 'handOver', 'label', 'pack'])
    expect(calls.slice(-2)).toEqual(['handOver', 'close'])
    expect(await under.geneva.doctor({ workflow: wf.id })).toMatchObject({ findings: [] })
  })

  it('undoes only what was taken', async () => {
    failing.add('close')
    const wf = await under.geneva.start(Fulfilment, { input: { digital: false, abroad: true } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls.at(-1)).toBe('unpack')
    expect(await statesOf(wf)).toMatchObject({
      isDigital: 'rolled_back',
      deliver: 'not_taken',
      fulfil: 'rolled_back',
      pack: 'rolled_back',
      customs: 'rolled_back',
      'fulfil#join': 'rolled_back',
    })
    expect(await under.geneva.doctor({ workflow: wf.id })).toMatchObject({ findings: [] })
  })

  it('goes on with the first of any, and tells the loser to stop within two heartbeats', async () => {
    const wf = await under.geneva.start(Couriers, { input: { join: 'any' } })
    const worker = await under.geneva.startWorker({ poll: 20, lease: 2000 })
    await stopped.passed
    await waitFor(async () => (await wf.refresh()).state === 'finished', 20_000)
    await worker.stop()
    expect(calls).toEqual(['quick', 'send'])
    expect((await wf.history()).find(({ step }) => step === 'slow')).toMatchObject({ outcome: 'superseded' })
    expect(await under.geneva.doctor({ workflow: wf.id })).toMatchObject({ findings: [] })
  })

  it('settles: a branch that fails ends its branch only, and the workflow is marked as partial', async () => {
    failing.add('one')
    const wf = await under.geneva.start(Survey)
    await under.runDue()
    expect(await wf.refresh()).toMatchObject({ state: 'finished', partial: true })
    expect(calls.at(-1)).toBe('report')
    expect(await statesOf(wf)).toMatchObject({ one: 'failed', two: 'completed' })
    expect(await under.geneva.doctor({ workflow: wf.id })).toMatchObject({ findings: [] })
  })
})
