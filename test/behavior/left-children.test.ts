/** Children that nobody waits for any more: whatever becomes of the workflow that has started them, they are told to stop. */
import { expect, it } from 'vitest'
import { type Child, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

class Kid extends Workflow {
  static {
    this.named('left kid')
    this.waitFor('go')
  }
  async go(_: Signal) {}
}

let meanwhile: () => Promise<unknown> = async () => {}

class Parent extends Workflow {
  static {
    this.named('left parent')
    this.child('kid', { workflow: Kid, start: () => ({}) })
    this.waitFor('word', { dependsOn: [] })
  }
  async kid(_: Child<Kid>) {}
  async word(_: Signal) {
    await meanwhile()
    this.finish()
  }
}

class Saga extends Workflow {
  static {
    this.named('left saga')
    this.step('book', { compensate: 'unbook' })
    this.child('kid', { workflow: Kid, start: () => ({}) })
    this.waitFor('word', { dependsOn: 'book' })
  }
  async book() {}
  async unbook() {
    await meanwhile()
  }
  async kid(_: Child<Kid>) {}
  async word(_: Signal) {}
}

let gates = new Gates()

/** Its child is about to be started when somebody else says that the workflow is done, or is to be undone. */
class Hasty extends Workflow<null, { how: 'finish' | 'cancel' }> {
  static {
    this.named('left hasty')
    this.task('decide')
    this.child('kid', {
      workflow: Kid,
      dependsOn: [],
      start: async wf => {
        await gates.stop('kid', wf.signal)
        return {}
      },
    })
  }
  async decide() {
    await gates.stop('decide', this.signal)
    this[this.input.how]()
  }
  async kid(_: Child<Kid>) {}
}

forEachDatabase('a child that nobody waits for any more', database => {
  const under = useGeneva(database, { workflows: [Kid, Parent, Saga, Hasty] })

  async function begin(Class: typeof Parent | typeof Saga) {
    meanwhile = async () => {}
    const wf: WorkflowHandle<any> = await under.geneva.start(Class, {})
    await under.runDue()
    return { wf, kid: (await childrenOf(wf))[0] as WorkflowHandle<any> }
  }

  async function childrenOf(wf: WorkflowHandle<any>): Promise<WorkflowHandle<any>[]> {
    const { items } = await under.geneva.list(Kid)
    return items.filter(({ parentId }) => parentId === wf.id)
  }

  async function expectStopped(wf: WorkflowHandle<any>, ...kids: WorkflowHandle<any>[]): Promise<void> {
    await under.runDue()
    for (const kid of kids) expect((await kid.refresh()).state).toBe('canceled')
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
  }

  it('is canceled although its parent was canceled right after the node had been skipped', async () => {
    const { wf, kid } = await begin(Parent)
    await wf.skip('kid')
    await wf.cancel()
    expect((await wf.refresh()).state).toBe('canceled')
    await expectStopped(wf, kid)
  })

  it('is canceled although its parent was finished right after the node had been skipped', async () => {
    const { wf, kid } = await begin(Parent)
    await wf.signal('word')
    meanwhile = () => wf.skip('kid')
    await under.runDue({ concurrency: 1 })
    expect((await wf.refresh()).state).toBe('finished')
    await expectStopped(wf, kid)
  })

  it('is canceled although its parent was undone right after the node had been skipped', async () => {
    const { wf, kid } = await begin(Saga)
    await wf.skip('kid')
    await wf.cancel()
    expect((await wf.refresh()).state).toBe('rolling_back')
    await expectStopped(wf, kid)
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('is aborted with its parent, which was about to be canceled', async () => {
    const { wf, kid } = await begin(Saga)
    await wf.cancel()
    await wf.abort({ reason: 'no time' })
    expect((await wf.refresh()).state).toBe('aborted')
    await under.runDue()
    expect((await kid.refresh()).state).toBe('aborted')
  })

  async function beginHasty(how: 'finish' | 'cancel') {
    gates = new Gates()
    const wf = await under.geneva.start(Hasty, { input: { how } })
    const run = under.runDue()
    await Promise.all([gates.arrived('decide'), gates.arrived('kid')])
    return { wf, run }
  }

  it('is not started in a workflow that was declared finished while somebody keeps it paused', async () => {
    const { wf, run } = await beginHasty('finish')
    await wf.pause()
    gates.open('decide')
    await waitFor(async () => (await wf.history()).some(row => row.step === 'decide' && row.outcome === 'success'))
    gates.open('kid')
    await run
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await childrenOf(wf)).toEqual([])
    await expectStopped(wf)
  })

  it.each([
    ['finish', 'finished'],
    ['cancel', 'canceled'],
  ] as const)('is canceled although its start was reported together with a %s', async (how, state) => {
    const { wf, run } = await beginHasty(how)
    gates.open('decide')
    gates.open('kid')
    await run
    await expectStopped(wf, ...(await childrenOf(wf)))
    expect((await wf.refresh()).state).toBe(state)
  })

  it('is canceled by the resume of a workflow that was declared finished together with its start', async () => {
    const { wf, run } = await beginHasty('finish')
    await wf.pause()
    gates.open('decide')
    gates.open('kid')
    await run
    await wf.resume()
    await expectStopped(wf, ...(await childrenOf(wf)))
    expect((await wf.refresh()).state).toBe('finished')
  })
})
