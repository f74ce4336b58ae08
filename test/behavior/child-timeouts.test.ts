/** How long a node waits for another workflow: then it has failed, its own child is canceled, and one of others goes on. */
import { beforeEach, expect, it } from 'vitest'
import { type AnyWorkflow, type Child, type ConcreteClass, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

const day = 86_400_000

class Slow extends Workflow {
  static {
    this.step('prepare')
    this.step('late', { wait: '10 days' })
  }
  async prepare() {}
  async late() {}
}

class Impatient extends Workflow {
  static {
    this.child('slow', { workflow: Slow, start: () => ({}), timeout: '2 days' })
    this.step('after')
  }
  async slow(_: Child<Slow>) {}
  async after() {}
}

class Stubborn extends Workflow {
  static {
    this.child('slow', {
      workflow: Slow,
      start: () => ({}),
      timeout: '2 days',
      retry: { attempts: 2, backoff: () => 0, jitter: false },
      onException: 'skip',
    })
    this.step('after')
  }
  async slow(_: Child<Slow>) {}
  async after() {}
}

class Patient extends Workflow {
  static {
    this.child('slow', { workflow: Slow, start: () => ({}), timeout: '20 days' })
  }
  async slow(child: Child<Slow>) {
    return child.id
  }
}

/** Its first child is still being undone when the second has begun. */
class Booking extends Workflow {
  static {
    this.step('reserve', { compensate: { step: 'release', retry: { attempts: 3, backoff: () => 86_400_000 } } })
    this.step('late', { wait: '10 days' })
  }
  async reserve() {}
  async late() {}
  async release() {
    throw new Error('not yet')
  }
}

class Traveler extends Workflow {
  static {
    this.child('book', {
      workflow: Booking,
      start: () => ({}),
      timeout: '2 days',
      retry: { attempts: 3, backoff: () => 0, jitter: false },
    })
  }
  async book(child: Child<Booking>) {
    return child.id
  }
}

class Follower extends Workflow<null, { id: string }> {
  static {
    this.child('follow', { workflow: Slow, start: wf => ({ workflowId: wf.input.id }), timeout: '1 day' })
  }
  async follow(_: Child<Slow>) {}
}

forEachDatabase('a node that waits for another workflow for too long', database => {
  const under = useGeneva(database, { workflows: [Slow, Impatient, Stubborn, Patient, Follower, Booking, Traveler] })
  let now = 0
  const later = async (days: number) => {
    now += days * day
    await under.setClock(now)
    await under.runDue()
  }
  beforeEach(() => later(0))

  async function childrenOf(
    { id }: WorkflowHandle,
    type: ConcreteClass<AnyWorkflow> = Slow,
  ): Promise<WorkflowHandle[]> {
    const { items } = await under.geneva.list(type, { limit: 100 })
    return items.filter(item => item.parentId === id)
  }
  const ends = async (wf: WorkflowHandle) =>
    (await wf.history()).filter(row => row.outcome !== null).map(row => [row.step, row.state, row.outcome])

  it('fails as timed_out, its child is canceled, and a resume starts another one', async () => {
    const wf = await under.geneva.start(Impatient)
    await under.runDue()
    await later(1.9)
    expect(await ends(wf)).toEqual([])
    await later(0.2)
    expect(await ends(wf)).toEqual([['slow', 'failed', 'timed_out']])
    expect((await wf.history())[0]?.error).toMatchObject({ className: 'NothingCameError' })
    expect((await wf.refresh()).state).toBe('paused')
    const [child] = await childrenOf(wf)
    expect(child?.state).toBe('canceled')
    const canceled = (await child?.events())?.find(event => event.type === 'workflow.canceled')
    expect(canceled?.reason).toContain('has waited long enough')
    await wf.resume()
    await under.runDue()
    expect((await childrenOf(wf)).map(each => each.state).toSorted()).toEqual(['canceled', 'ready'])
    await wf.cancel()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('canceled')
  })

  it('is tried again with another child, and then its policy acts', async () => {
    const wf = await under.geneva.start(Stubborn)
    await under.runDue()
    await later(2.1)
    expect(await ends(wf)).toEqual([['slow', 'failed', 'timed_out']])
    expect((await childrenOf(wf)).map(each => each.state).toSorted()).toEqual(['canceled', 'ready'])
    await later(2.1)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await ends(wf)).at(1)).toEqual(['slow', 'skipped', 'skipped_by_exception'])
    expect((await childrenOf(wf)).map(each => each.state)).toEqual(['canceled', 'canceled'])
  })

  it('leaves alone a workflow that it has not started', async () => {
    const other = await under.geneva.start(Slow)
    const wf = await under.geneva.start(Follower, { input: { id: other.id } })
    await under.runDue()
    await later(1.1)
    expect(await ends(wf)).toEqual([['follow', 'failed', 'timed_out']])
    expect((await other.refresh()).state).toBe('ready')
    await later(10)
    expect((await other.refresh()).state).toBe('finished')
    expect((await wf.refresh()).state).toBe('paused')
  })

  it('does not, when its child ends in time: nothing is left of the limit', async () => {
    const wf = await under.geneva.start(Patient)
    await under.runDue()
    await later(10.1)
    await later(0)
    expect((await wf.refresh()).state).toBe('finished')
    await later(15)
    expect(await ends(wf)).toEqual([['slow', 'completed', 'success']])
  })

  it('is waited for all the same when the workflow is canceled meanwhile, until its child has ended', async () => {
    const wf = await under.geneva.start(Impatient)
    await under.runDue()
    await wf.cancel()
    expect(wf.state).toBe('rolling_back')
    // The limit passes before anybody has looked.
    await later(3)
    expect((await wf.refresh()).state).toBe('canceled')
    expect((await childrenOf(wf)).map(each => each.state)).toEqual(['canceled'])
  })

  it('hears of the end of its second child, though the first has ended just before', async () => {
    const wf = await under.geneva.start(Traveler)
    await under.runDue()
    await later(2.1)
    const children = await childrenOf(wf, Booking)
    const first = children.find(child => child.state === 'rolling_back')
    const second = children.find(child => child.state === 'ready')
    // Nobody looks after the parent between the two.
    await first?.abort()
    await second?.skip('late')
    expect(second?.state).toBe('finished')
    await later(0)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await ends(wf)).at(-1)).toEqual(['book', 'completed', 'success'])
    await later(10)
    expect(await childrenOf(wf, Booking)).toHaveLength(2)
  })

  it('is woken by a timer from before it had a place of its own, too', async () => {
    const wf = await under.geneva.start(Traveler)
    await under.runDue()
    const [child] = await childrenOf(wf, Booking)
    await child?.skip('late')
    const connection = await connectPlainly(database.name, under.url)
    await connection.query(
      `update geneva_drive_active_executions set slot = '#wake/book' where workflow_id = ${wf.id} and slot like '#wake/%'`,
    )
    const slots = `select slot from geneva_drive_active_executions where workflow_id = ${wf.id} and kind = 'timer'`
    expect((await connection.query(slots)).map(({ slot }) => slot)).toContain('#wake/book')
    await connection.close()
    expect((await under.geneva.doctor()).findings).toEqual([])
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
