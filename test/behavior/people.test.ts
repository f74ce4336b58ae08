/** Steps that wait for people and for messages: no worker is used meanwhile, and what comes is never lost or taken twice. */
import { beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { type Compensation, type Decision, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
const Approval = z.object({ limit: z.number() })
const hour = 3_600_000

class DocumentApproval extends Workflow {
  static {
    this.named('document-approval')
    this.step('process')
    this.human('approve', { prompt: 'Publish it?', form: Approval, assignTo: 'editors' })
    this.step('publish')
  }
  async process() {
    calls.push('process')
  }
  async approve(decision: Decision<typeof Approval>) {
    calls.push(`approve by ${decision.by}`)
    return { by: decision.by, limit: decision.data.limit, comment: decision.comment }
  }
  async publish() {
    calls.push('publish')
  }
}

class Quorum extends Workflow {
  static {
    this.named('quorum')
    this.human('board', { quorum: 2, onReject: 'rollback' })
  }
  async board(decision: Decision) {
    return decision.decisions.map(({ by }) => by)
  }
}

class Deadline extends Workflow {
  static {
    this.named('deadline')
    this.step('ask', { compensate: 'takeBack' })
    this.human('answer', {
      deadline: '3 hours',
      escalate: [
        { after: '1 hour', to: 'team lead' },
        { after: '2 hours', to: ['manager', 'director'] },
      ],
      onException: 'rollback',
    })
  }
  async ask() {
    calls.push('ask')
  }
  async takeBack(_: Compensation) {
    calls.push('takeBack')
  }
  async answer(_: Decision) {}
}

class Overdue extends Workflow {
  static {
    this.named('overdue')
    this.human('answer', { deadline: '3 hours' })
  }
  async answer(_: Decision) {}
}

class Review extends Workflow {
  static {
    this.named('review')
    this.step('write')
    this.parallel('checks', b => {
      b.step('spelling')
      b.step('facts')
    })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('print')
  }
  async write() {
    calls.push(`write ${this.execution.attempt}`)
    keys.add(this.execution.idempotencyKey)
  }
  async spelling() {
    calls.push('spelling')
  }
  async facts() {
    calls.push('facts')
  }
  async accept(_: Decision) {}
  async print() {
    calls.push('print')
  }
}
const keys = new Set<string>()

class Parcel extends Workflow {
  static {
    this.named('parcel')
    this.step('send')
    this.waitFor('delivered', { payload: z.object({ signedBy: z.string() }), timeout: '2 days', onTimeout: 'skip' })
    this.step('thank')
  }
  async send() {
    calls.push('send')
  }
  async delivered({ payload, by }: Signal<{ signedBy: string }>) {
    calls.push(`delivered to ${payload.signedBy} by ${by}`)
    return payload.signedBy
  }
  async thank() {
    calls.push('thank')
  }
}

forEachDatabase('a step that waits', database => {
  const under = useGeneva(database, { workflows: [DocumentApproval, Quorum, Deadline, Overdue, Review, Parcel] })

  beforeEach(async () => {
    calls.length = 0
    await under.setClock(0)
  })

  it('for a person goes on when it is confirmed, with who, why and what they filled in', async () => {
    const wf = await under.geneva.start(DocumentApproval)
    await under.runDue()
    expect((await wf.currentExecutions()).map(({ step, state }) => [step, state])).toEqual([['approve', 'waiting']])
    expect((await wf.explain()).sentence).toBe('Step approve waits for editors to decide: Publish it?')
    await wf.decide('approve', { decision: 'confirmed', by: 'ann', comment: 'fine', data: { limit: 5 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['process', 'approve by ann', 'publish'])
    expect(await wf.output('approve')).toEqual({ by: 'ann', limit: 5, comment: 'fine' })
    expect((await wf.history())[1]).toMatchObject({ step: 'approve', outcome: 'confirmed' })
    expect(await wf.decisions()).toMatchObject([{ step: 'approve', decision: 'confirmed', by: 'ann', comment: 'fine' }])
  })

  it('for a person ends as aborted when it is rejected, and undoes nothing', async () => {
    const wf = await under.geneva.start(DocumentApproval)
    await under.runDue()
    await wf.decide('approve', { decision: 'rejected', by: 'ann', comment: 'no' })
    expect(wf.state).toBe('aborted')
    expect((await wf.history()).at(-1)).toMatchObject({ step: 'approve', state: 'canceled', outcome: 'rejected' })
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'workflow.aborted', by: 'ann', reason: 'no' })
  })

  it('is decided once: of many who decide at once one wins, and the others are told', async () => {
    const wf = await under.geneva.start(DocumentApproval)
    await under.runDue()
    const results = await Promise.allSettled(
      ['ann', 'bob', 'cid', 'dan'].map(by =>
        under.geneva
          .find(wf.id)
          .then(found => (found as typeof wf).decide('approve', { decision: 'confirmed', by, data: { limit: 1 } })),
      ),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = results.filter(result => result.status === 'rejected')
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(3).fill('ALREADY_DECIDED'))
    await under.runDue()
    expect(await wf.decisions()).toHaveLength(1)
  })

  it('refuses data that does not fit its form, and a decision before it waits', async () => {
    const wf = await under.geneva.start(DocumentApproval)
    const decision = { decision: 'confirmed', by: 'ann', data: { limit: 5 } } as const
    await expect(wf.decide('approve', decision)).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await under.runDue()
    const misfit = wf.decide('approve', { ...decision, data: {} as never })
    await expect(misfit).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(misfit).rejects.toThrow(
      new RegExp(`^The data of the decision on step approve of document-approval ${wf.id} is not valid: `),
    )
    await expect(misfit).rejects.toThrow(/ Nothing was recorded\.$/)
    await expect(wf.decide('approve', { ...decision, by: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    const [waiting] = await wf.currentExecutions()
    await under.geneva.decide(waiting?.id ?? '', decision)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    await expect(under.geneva.decide(waiting?.id ?? '', decision)).rejects.toMatchObject({ code: 'ALREADY_DECIDED' })
    await expect(under.geneva.decide('0', decision)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('for several people goes on with the last that its quorum needs, and one no is enough', async () => {
    const wf = await under.geneva.start(Quorum)
    await under.runDue()
    await wf.decide('board', { decision: 'confirmed', by: 'ann' })
    await expect(wf.decide('board', { decision: 'confirmed', by: 'ann' })).rejects.toMatchObject({
      code: 'ALREADY_DECIDED',
    })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('ready')
    await wf.decide('board', { decision: 'confirmed', by: 'bob' })
    await under.runDue()
    expect(await wf.output('board')).toEqual(['ann', 'bob'])
    const other = await under.geneva.start(Quorum)
    await under.runDue()
    await other.decide('board', { decision: 'confirmed', by: 'ann' })
    await other.decide('board', { decision: 'rejected', by: 'bob' })
    expect(other.state).toBe('failed')
  })

  it('tells more people as time goes by, and fails when its time is over', async () => {
    const wf = await under.geneva.start(Deadline)
    await under.runDue()
    await under.setClock(1.1 * hour)
    await under.runDue()
    await under.setClock(2.1 * hour)
    await under.runDue()
    const told = (await wf.events()).filter(event => event.type === 'decision.escalated')
    expect(told.map(({ reason }) => reason)).toEqual(['to team lead', 'to manager, director'])
    expect((await wf.refresh()).state).toBe('ready')
    await under.setClock(3.1 * hour)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect((await wf.history()).find(({ step }) => step === 'answer')).toMatchObject({ outcome: 'timed_out' })
    expect(calls).toEqual(['ask', 'takeBack'])
  })

  it('says that its time is over to who decides too late, not that somebody else has decided', async () => {
    const wf = await under.geneva.start(Overdue)
    await under.runDue()
    await wf.pause()
    await under.setClock(3.1 * hour)
    await under.runDue()
    await wf.resume()
    const late = () => wf.decide('answer', { decision: 'confirmed', by: 'ann' })
    for (const state of ['ready', 'paused']) {
      expect((await wf.refresh()).state).toBe(state)
      await expect(late()).rejects.toMatchObject({ code: 'INVALID_STATE' })
      await expect(late()).rejects.toThrow('The time to decide is over')
      await under.runDue()
    }
    expect((await wf.history())[0]).toMatchObject({ outcome: 'timed_out' })
    expect(await wf.decisions()).toEqual([])
    await wf.cancel()
  })

  it('that is decided in time leaves no timer behind', async () => {
    const wf = await under.geneva.start(Deadline)
    await under.runDue()
    await wf.decide('answer', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    await under.setClock(4 * hour)
    await under.runDue()
    expect((await wf.events()).at(-1)).toMatchObject({ type: 'workflow.finished' })
  })

  it('may send the workflow back: everything from there on is done again, with new keys', async () => {
    const wf = await under.geneva.start(Review)
    await under.runDue()
    await wf.decide('accept', { decision: 'rejected', by: 'ann', comment: 'a typo' })
    expect(wf.state).toBe('ready')
    await under.runDue()
    await wf.decide('accept', { decision: 'rejected', by: 'ann', comment: 'another typo' })
    await under.runDue()
    await wf.decide('accept', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.filter(call => call.startsWith('write'))).toEqual(['write 1', 'write 2', 'write 3'])
    expect(calls.filter(call => call === 'facts')).toHaveLength(3)
    expect(calls.at(-1)).toBe('print')
    expect(keys.size).toBe(3)
    keys.clear()
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('for a signal goes on with what was sent, and keeps what comes early', async () => {
    const wf = await under.geneva.start(Parcel)
    await wf.signal('delivered', { signedBy: 'Bob' }, { by: 'courier', key: 'd1' })
    await wf.signal('delivered', { signedBy: 'Bob' }, { by: 'courier', key: 'd1' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['send', 'delivered to Bob by courier', 'thank'])
    const other = await under.geneva.start(Parcel)
    await under.runDue()
    expect((await other.explain()).sentence).toBe('Step delivered waits for the signal delivered.')
    await other.signal('delivered', { signedBy: 'Eve' })
    await under.runDue()
    expect((await other.refresh()).state).toBe('finished')
    expect(await other.output('delivered')).toBe('Eve')
  })

  it('knows a signal that is sent again, whatever has become of the first', async () => {
    const wf = await under.geneva.start(Parcel)
    const again = () => wf.signal('delivered', { signedBy: 'Bob' }, { key: 'd1' })
    await under.runDue()
    await again()
    expect((await wf.currentExecutions()).map(({ step, state }) => [step, state])).toEqual([['delivered', 'scheduled']])
    await again()
    await wf.pause()
    await again()
    await wf.resume()
    await under.runDue({ maxSteps: 1 })
    expect((await wf.currentExecutions()).map(({ step }) => step)).toEqual(['thank'])
    await again()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    await again()
    expect((await wf.events()).filter(event => event.type === 'signal.received')).toHaveLength(1)
    expect(calls).toEqual(['send', 'delivered to Bob by null', 'thank'])
    // Another one is another matter.
    const other = wf.signal('delivered', { signedBy: 'Eve' }, { key: 'd2' })
    await expect(other).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('for a signal that never comes does what its timeout says', async () => {
    const wf = await under.geneva.start(Parcel)
    await under.runDue()
    await under.setClock(49 * hour)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['send', 'thank'])
  })

  it('refuses a signal that nobody waits for, or that does not fit', async () => {
    const wf = await under.geneva.start(Parcel)
    const misfit = wf.signal('delivered', {} as never)
    await expect(misfit).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(misfit).rejects.toThrow(/^The payload of the signal delivered of parcel .* Nothing was recorded\.$/)
    await expect(under.geneva.signal(wf.id, 'lost', {})).rejects.toThrow('It waits for: delivered.')
    await wf.cancel()
    await expect(wf.signal('delivered', { signedBy: 'Bob' })).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('while the workflow is paused takes what comes, and goes on when it is resumed', async () => {
    const wf = await under.geneva.start(Parcel)
    await under.runDue()
    await wf.pause()
    await wf.signal('delivered', { signedBy: 'Bob' })
    await under.runDue()
    expect(calls).toEqual(['send'])
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('is canceled at once', async () => {
    const wf = await under.geneva.start(Deadline)
    await under.runDue()
    await wf.cancel({ by: 'ann' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
    expect((await wf.history()).find(({ step }) => step === 'answer')).toMatchObject({ state: 'skipped' })
    expect(calls).toEqual(['ask', 'takeBack'])
  })
})
