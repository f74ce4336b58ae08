/**
 * Sagas, branches, people, cancel, abort and dead letters come to the same end whoever does the work: one worker, or eight
 * instances that share the database and find several of each kind at once.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Compensation, type Decision, isGenevaError, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const copies = 3
const log = new Map<string, string[]>()

/** What was called for a workflow, in order. */
function note(workflow: { readonly id: string }, name: string): void {
  log.set(workflow.id, [...(log.get(workflow.id) ?? []), name])
}
const callsOf = ({ id }: { readonly id: string }) => log.get(id) ?? []

class OrderSaga extends Workflow<null, { saved: boolean }> {
  static {
    this.named('crew order')
    this.onException('rollback')
    this.step('reserveFunds', { compensate: 'refundFunds' })
    this.condition('isSaved', wf => wf.input.saved, { then: b => b.step('stamp', { compensate: 'unstamp' }) })
    this.savePoint('reserved')
    this.step('packOrder', { compensate: 'unpackOrder' })
    this.step('shipOrder', { compensate: 'cancelShipping' })
    this.step('notifyUser')
  }
  async reserveFunds() {
    note(this, 'reserveFunds')
  }
  async refundFunds(_: Compensation) {
    note(this, 'refundFunds')
  }
  async stamp() {
    note(this, 'stamp')
  }
  async unstamp(_: Compensation) {
    note(this, 'unstamp')
  }
  async packOrder() {
    note(this, 'packOrder')
  }
  async unpackOrder(_: Compensation) {
    note(this, 'unpackOrder')
  }
  async shipOrder() {
    note(this, 'shipOrder')
    throw new Error('no ship')
  }
  async cancelShipping(_: Compensation) {
    note(this, 'cancelShipping')
  }
  async notifyUser() {
    note(this, 'notifyUser')
  }
}

class SmartOrder extends Workflow<null, { stock: number; digital: boolean; broken: boolean }> {
  static {
    this.named('crew smart order')
    this.condition('inStock', wf => wf.input.stock > 0, { else: b => b.step('restock', { compensate: 'sendBack' }) })
    this.step('pay', { compensate: 'refund' })
    this.fork('fulfil', {
      goods: b => b.step('ship', { compensate: 'callBack' }),
      files: b =>
        b.condition('isDigital', wf => wf.input.digital, {
          then: b => b.step('deliver'),
          else: b => b.step('prepare', { compensate: 'putAway' }),
        }),
    })
    this.step('complete', { onException: 'rollback' })
  }
  async restock() {
    note(this, 'restock')
  }
  async sendBack(_: Compensation) {
    note(this, 'sendBack')
  }
  async pay() {
    note(this, 'pay')
  }
  async refund(_: Compensation) {
    note(this, 'refund')
  }
  async ship() {
    note(this, 'ship')
  }
  async callBack(_: Compensation) {
    note(this, 'callBack')
  }
  async deliver() {
    note(this, 'deliver')
  }
  async prepare() {
    note(this, 'prepare')
  }
  async putAway(_: Compensation) {
    note(this, 'putAway')
  }
  async complete() {
    note(this, 'complete')
    if (this.input.broken) throw new Error('nobody answers')
  }
}

class Document extends Workflow {
  static {
    this.named('crew document')
    this.step('scan')
    this.human('approve', { prompt: 'All right?' })
    this.step('archive')
  }
  async scan() {
    note(this, 'scan')
  }
  async approve({ by }: Decision) {
    note(this, `approved by ${by}`)
  }
  async archive() {
    note(this, 'archive')
  }
}

class LongWork extends Workflow {
  static {
    this.named('crew long work')
    this.step('start', { compensate: 'undoStart' })
    this.fork('process', { left: b => b.step('first'), right: b => b.step('second') })
    this.step('last')
  }
  async start() {
    note(this, 'start')
  }
  async undoStart(_: Compensation) {
    note(this, 'undoStart')
  }
  async first() {
    await this.#untilStopped('first')
  }
  async second() {
    await this.#untilStopped('second')
  }
  async last() {
    note(this, 'last')
  }
  async #untilStopped(name: string): Promise<void> {
    note(this, name)
    await new Promise<void>(resolve => this.signal.addEventListener('abort', () => resolve()))
    note(this, `${name} stopped`)
  }
}

class Payment extends Workflow {
  static {
    this.named('crew payment')
    this.step('validate')
    this.fork('both', { money: b => b.step('pay', { onException: 'dlq' }), goods: b => b.step('pack') })
    this.step('thank')
  }
  async validate() {
    note(this, 'validate')
  }
  async pay() {
    note(this, 'pay')
    if (this.execution.attempt === 1) throw new Error('the bank is closed')
  }
  async pack() {
    note(this, 'pack')
  }
  async thank() {
    note(this, 'thank')
  }
}

const workflows = [OrderSaga, SmartOrder, Document, LongWork, Payment] as const
const times = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: copies }, make))

forEachDatabase('the same workflows', database => {
  const under = useGeneva(database, { workflows })
  // Each database has the same ids.
  beforeEach(() => log.clear())

  const ends = async (all: readonly WorkflowHandle[], state: string) => {
    for (const wf of all) await waitFor(async () => (await wf.refresh()).state === state, 30_000)
  }
  /** In an order in which branches may take turns. */
  const calls = (all: readonly WorkflowHandle[]) => all.map(wf => callsOf(wf).toSorted())
  const everyone = <T>(expected: T) => Array.from({ length: copies }, () => expected)

  async function sagas(): Promise<void> {
    const failed = await times(() => under.geneva.start(OrderSaga, { input: { saved: true } }))
    await ends(failed, 'failed')
    const done = ['reserveFunds', 'stamp', 'packOrder', 'shipOrder']
    expect(failed.map(callsOf)).toEqual(everyone([...done, 'cancelShipping', 'unpackOrder']))
  }

  async function branches(): Promise<void> {
    const [whole, broken] = await Promise.all([
      times(() => under.geneva.start(SmartOrder, { input: { stock: 0, digital: true, broken: false } })),
      times(() => under.geneva.start(SmartOrder, { input: { stock: 1, digital: false, broken: true } })),
    ])
    await ends(whole, 'finished')
    await ends(broken, 'failed')
    expect(calls(whole)).toEqual(everyone(['complete', 'deliver', 'pay', 'restock', 'ship']))
    expect(calls(broken)).toEqual(everyone(['callBack', 'complete', 'pay', 'prepare', 'putAway', 'refund', 'ship']))
    for (const wf of broken) {
      const [pay, , , complete, ...undone] = callsOf(wf)
      expect([pay, complete, undone.at(-1)]).toEqual(['pay', 'complete', 'refund'])
      expect((await wf.nodesWithState()).find(({ name }) => name === 'restock')?.state).toBe('not_taken')
    }
  }

  async function people(): Promise<void> {
    const all = await times(() => under.geneva.start(Document))
    for (const wf of all) {
      const waiting = await waitFor(async () => (await wf.currentExecutions()).find(row => row.state === 'waiting'))
      const decide = (by: string) => under.geneva.decide(waiting.id, { by, decision: 'confirmed' })
      const answers = await Promise.allSettled([decide('ann'), decide('bob')])
      const refused = answers.flatMap(answer => (answer.status === 'rejected' ? answer.reason : []))
      expect(refused).toHaveLength(1)
      expect(isGenevaError(refused[0], 'ALREADY_DECIDED')).toBe(true)
    }
    await ends(all, 'finished')
    for (const wf of all) {
      const [scan, approved, archive, ...more] = callsOf(wf)
      expect([scan, archive, more]).toEqual(['scan', 'archive', []])
      expect(approved).toMatch(/^approved by (ann|bob)$/)
    }
  }

  async function stops(): Promise<void> {
    const running = async () => {
      const all = await times(() => under.geneva.start(LongWork))
      for (const wf of all) await waitFor(() => callsOf(wf).length === 3, 30_000)
      return all
    }
    const [canceled, aborted] = await Promise.all([running(), running()])
    for (const wf of canceled) await wf.cancel({ by: 'ann', reason: 'not needed' })
    for (const wf of aborted) await wf.abort({ by: 'bob', reason: 'at once' })
    await ends(canceled, 'canceled')
    await ends(aborted, 'aborted')
    for (const wf of [...canceled, ...aborted]) {
      await waitFor(() => callsOf(wf).filter(call => call.endsWith('stopped')).length === 2, 30_000)
    }
    const before = ['first', 'first stopped', 'second', 'second stopped', 'start']
    expect(calls(canceled)).toEqual(everyone([...before, 'undoStart']))
    expect(calls(aborted)).toEqual(everyone(before))
  }

  async function letters(): Promise<void> {
    const all = await times(() => under.geneva.start(Payment))
    await ends(all, 'dlq')
    const own = (await under.geneva.deadLetters()).filter(letter => all.some(wf => wf.id === letter.workflowId))
    expect(own).toHaveLength(copies)
    for (const letter of own) await under.geneva.requeue(letter.id)
    await ends(all, 'finished')
    expect(calls(all)).toEqual(everyone(['pack', 'pay', 'pay', 'thank', 'validate']))
  }

  it.each([1, 8])('end the same with a crew of %i', { timeout: 90_000 }, async size => {
    const crew = Array.from({ length: size }, () => under.another({ workflows }))
    const options = { poll: 20, grace: 0, concurrency: size === 1 ? 50 : 8 } as const
    const workers = await Promise.all(crew.map(geneva => geneva.startWorker(options)))
    try {
      await Promise.all([sagas(), branches(), people(), stops(), letters()])
    } finally {
      await Promise.all(workers.map(worker => worker.stop()))
    }
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
