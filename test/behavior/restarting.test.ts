/** `this.restart(input)`: a workflow that ends and goes on as a new one, in one transaction. */
import { expect, it } from 'vitest'
import { type Child, defineHero, defineJob, type FrozenNode, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
let gateCount = 0
const Accounts = defineHero('Account', {
  id: (account: { id: number }) => account.id,
  load: id => ({ id: Number(id) }),
})

/** Counts from workflow to workflow. */
class Monthly extends Workflow<{ id: number }, { month: number; upTo: number }> {
  static {
    this.heroes(Accounts)
    // A schema written by hand, without the types of a library.
    this.input(monthSchema() as any)
    this.step('bill')
    this.step('next')
  }
  async bill() {
    return `billed ${this.input.month}`
  }
  async next() {
    const { month, upTo } = this.input
    if (month === 99) this.restart({ month: 'May' as unknown as number, upTo })
    if (month < upTo) this.restart({ month: month + 1, upTo })
    return `ended with ${month}`
  }
}

/** A schema as libraries make them, by hand. */
function monthSchema() {
  const validate = (value: unknown) => {
    const { month } = value as { month: unknown }
    return typeof month === 'number' ? { value } : { issues: [{ message: 'month must be a number' }] }
  }
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

/** Restarts while another branch still runs. */
class Branches extends Workflow<null, { round: number; gate: string }> {
  static {
    this.task('slow')
    this.task('again')
  }
  async slow() {
    if (this.input.round === 1) await gates.stop(`slow ${this.input.gate}`, this.signal)
    return 'slow'
  }
  async again() {
    if (this.input.round > 1) return
    await gates.stop(`again ${this.input.gate}`, this.signal)
    this.restart({ ...this.input, round: 2 })
  }
}

class Parent extends Workflow<null, { upTo: number }> {
  static {
    this.child('months', {
      workflow: Monthly,
      start: wf => ({ hero: Accounts.ref(70), input: { month: 1, upTo: wf.input.upTo } }),
    })
  }
  async months(child: Child<Monthly>) {
    return { id: child.id, result: await child.result() }
  }
}

class Follower extends Workflow<null, { id: string }> {
  static {
    this.child('follow', { workflow: Monthly, start: wf => ({ workflowId: wf.input.id }) })
  }
  async follow(child: Child<Monthly>) {
    return child.result()
  }
}

forEachDatabase('a workflow that restarts', database => {
  const under = useGeneva(database, { workflows: [Monthly, Branches, Parent, Follower] })

  it('has finished and goes on as a new one: same class, hero and tags, another input, linked both ways', async () => {
    const hero = Accounts.ref(1)
    const first = await under.geneva.start(Monthly, { hero, input: { month: 1, upTo: 2 } }, { tags: ['billing'] })
    await under.runDue()
    await first.refresh()
    expect(first.state).toBe('finished')
    const second = await under.geneva.find(first.continuedAs ?? '')
    expect(second).toMatchObject({ type: 'Monthly', state: 'finished', continues: first.id, continuedAs: null })
    expect(second?.hero).toEqual({ type: 'Account', id: 1 })
    expect(await second?.input()).toEqual({ month: 2, upTo: 2 })
    expect(await second?.tags()).toEqual(['billing'])
    expect(await second?.output('next')).toBe('ended with 2')
    expect((await first.history()).map(({ step, state, outcome }) => `${step} ${state} ${outcome}`)).toEqual([
      'bill completed success',
      'next completed success',
    ])
    expect((await first.events()).map(event => event.type)).toContain('workflow.continued')
    const started = (await second?.events())?.[0]
    expect(started).toMatchObject({ type: 'workflow.started', reason: `continues workflow ${first.id}` })
    expect(await second?.verifyHistory()).toBeNull()
    expect((await first.explain()).sentence).toContain(`goes on as workflow ${second?.id}`)
  })

  it('keeps its place for the hero: nobody can start another one in between', async () => {
    const hero = Accounts.ref(2)
    const first = await under.geneva.start(Monthly, { hero, input: { month: 1, upTo: 3 } })
    await under.runDue({ maxSteps: 2 })
    await expect(under.geneva.start(Monthly, { hero, input: { month: 1, upTo: 1 } })).rejects.toMatchObject({
      code: 'ALREADY_ACTIVE',
    })
    const now = await under.geneva.find(Monthly, { hero })
    expect(now?.id).toBe((await first.refresh()).continuedAs)
    await under.runDue()
  })

  it('leaves its idempotency key with the first', async () => {
    const hero = Accounts.ref(3)
    const start = () => under.geneva.start(Monthly, { hero, input: { month: 1, upTo: 2 } }, { idempotencyKey: 'once' })
    const first = await start()
    await under.runDue()
    expect((await start()).id).toBe(first.id)
  })

  it('is followed by whoever waits for its end', async () => {
    const worker = await under.geneva.startWorker({ poll: 5, grace: 0 })
    const first = await under.geneva.start(Monthly, { hero: Accounts.ref(4), input: { month: 1, upTo: 5 } })
    expect(await first.waitUntilFinished({ timeout: '10s' })).toBe('ended with 5')
    await worker.stop()
  })

  it('has no result once the one that it went on as is gone: whoever waits is told which one is missing', async () => {
    const first = await under.geneva.start(Monthly, { hero: Accounts.ref(7), input: { month: 1, upTo: 2 } })
    await under.runDue({ maxSteps: 2 })
    const second = await under.geneva.find((await first.refresh()).continuedAs ?? '')
    await second?.cancel()
    await waitFor(async () => (await under.geneva.prune({ olderThan: 0, states: 'canceled' })).workflows > 0)
    expect(await under.geneva.find(second?.id ?? '')).toBeNull()
    await expect(first.waitUntilFinished({ timeout: '10s' })).rejects.toMatchObject({
      code: 'WORKFLOW_NOT_FOUND',
      workflowId: second?.id,
    })
  })

  it('is waited for as long as was asked for, which is also what is told then', async () => {
    const first = await under.geneva.start(Monthly, { hero: Accounts.ref(8), input: { month: 1, upTo: 2 } })
    await under.runDue({ maxSteps: 2 })
    const { continuedAs } = await first.refresh()
    await expect(first.waitUntilFinished({ timeout: '80ms' })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      workflowId: continuedAs,
      message: expect.stringContaining('is still ready after 80 ms.'),
    })
    await under.runDue()
  })

  it('is followed by its parent, which gets the result of the last one', async () => {
    const parent = await under.geneva.start(Parent, { input: { upTo: 4 } })
    await waitFor(async () => (await under.runDue()) === 0 && (await parent.refresh()).state === 'finished')
    const output = await parent.output('months')
    expect(output?.result).toBe('ended with 4')
    const last = await under.geneva.find(output?.id ?? '')
    expect(last).toMatchObject({ parentId: parent.id, continuedAs: null })
  })

  it('is followed by a workflow that waits for it by its id, also if it has restarted before', async () => {
    const first = await under.geneva.start(Monthly, { hero: Accounts.ref(5), input: { month: 1, upTo: 3 } })
    await under.runDue({ maxSteps: 2 })
    const follower = await under.geneva.start(Follower, { input: { id: first.id } })
    await waitFor(async () => (await under.runDue()) === 0 && (await follower.refresh()).state === 'finished')
    expect(await follower.output('follow')).toBe('ended with 3')
  })

  it('is canceled with its parent, whichever of the chain is the one that runs', async () => {
    const parent = await under.geneva.start(Parent, { input: { upTo: 1000 } })
    await under.runDue({ maxSteps: 8 })
    await parent.cancel({ reason: 'enough' })
    await waitFor(async () => (await under.runDue()) === 0 && (await parent.refresh()).state === 'canceled')
    const { items } = await under.geneva.list(Monthly, { hero: Accounts.ref(70) })
    // Ids come in blocks: that of the first may be the greatest.
    const last = items.find(each => each.continuedAs === null && each.createdAt >= parent.createdAt)
    expect(last).toMatchObject({ state: 'canceled' })
    expect(last?.continues).not.toBeNull()
  })

  it('that is given an input which its schema refuses has not restarted: the step has failed', async () => {
    const wf = await under.geneva.start(Monthly, { hero: Accounts.ref(6), input: { month: 99, upTo: 100 } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect(wf.continuedAs).toBeNull()
    expect((await wf.history()).at(-1)?.error).toMatchObject({ className: 'InputValidationError' })
  })

  async function bothRun() {
    const gate = `${gateCount++}`
    const first = await under.geneva.start(Branches, { input: { round: 1, gate } })
    const running = under.runDue()
    await Promise.all([gates.arrived(`slow ${gate}`), gates.arrived(`again ${gate}`)])
    const declare = async () => {
      gates.open(`again ${gate}`)
      await waitFor(async () => (await first.events()).some(event => event.reason === 'restarted the workflow'))
    }
    const end = async () => {
      gates.open(`slow ${gate}`)
      await running
    }
    return { first, declare, end }
  }

  it('waits for steps that still run, and goes on when they have ended', async () => {
    const { first, declare, end } = await bothRun()
    await declare()
    expect((await first.refresh()).state).toBe('performing')
    expect(first.continuedAs).toBeNull()
    await end()
    await under.runDue()
    expect((await first.refresh()).state).toBe('finished')
    const second = await under.geneva.find(first.continuedAs ?? '')
    expect(second?.state).toBe('finished')
    expect(await second?.output('slow')).toBe('slow')
  })

  it('goes on when its step does not stop in time', async () => {
    const { first, declare, end } = await bothRun()
    await declare()
    await under.setClock(40_000)
    await waitFor(async () => {
      await under.runDue()
      return (await first.refresh()).continuedAs
    })
    await under.setClock(0)
    await end()
  })

  it('and is paused meanwhile goes on when it is resumed', async () => {
    const { first, declare, end } = await bothRun()
    await first.pause({ by: 'ann' })
    await declare()
    await end()
    expect((await first.refresh()).state).toBe('paused')
    expect(first.continuedAs).toBeNull()
    await first.resume()
    expect(first.state).toBe('finished')
    await under.runDue()
    expect((await under.geneva.find(first.continuedAs ?? ''))?.state).toBe('finished')
  })

  it('and is canceled before it could go on is not continued', async () => {
    const { first, declare, end } = await bothRun()
    await declare()
    await first.cancel()
    await end()
    expect((await first.refresh()).state).toBe('canceled')
    expect(first.continuedAs).toBeNull()
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})

/** Goes on with an input of so many characters, or starts a child with it. */
class Growing extends Workflow<null, { text?: string; by: 'restart' | 'child' }> {
  static {
    this.named('growing')
    this.step('grow')
    this.child('passOn', {
      workflow: Growing,
      if: wf => wf.input.by === 'child' && wf.input.text === undefined,
      start: wf => ({ input: { ...wf.input, text: 'x'.repeat(500) } }),
    })
  }
  async grow() {
    if (this.input.by === 'restart' && this.input.text === undefined)
      this.restart({ ...this.input, text: 'x'.repeat(500) })
  }
  async passOn(_: Child<Growing>) {}
}

forEachDatabase('what a workflow goes on with, or gives to a child,', database => {
  const narrow = useGeneva(database, { workflows: [Growing], limits: { inputBytes: 300 } })
  const wide = useGeneva(database, { workflows: [Growing], limits: { outputBytes: 300 } })

  it.each(['restart', 'child'] as const)('is an input: its limit is that of inputs (%s)', async by => {
    const large = await narrow.geneva.start(Growing, { input: { by } })
    await narrow.runDue()
    expect((await large.refresh()).state).toBe('paused')
    expect((await large.history()).at(-1)?.error).toMatchObject({
      message: expect.stringContaining('input for growing'),
    })
    const fits = await wide.geneva.start(Growing, { input: { by } })
    await wide.runDue()
    expect((await fits.refresh()).state).toBe('finished')
  })
})

const audited = defineJob('audited', async () => {})

/** Restarts once, by the graph that it was frozen with. */
class Tenants extends Workflow<null, { tenant: string; round: number }> {
  static {
    this.named('tenants')
    this.jobOptions({ perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    this.defaults({ deadline: '1 hour', onDeadline: 'pause' })
    this.step('prepare')
    this.step('again')
  }
  async prepare() {}
  async again() {
    if (this.input.round === 1) this.restart({ ...this.input, round: 2 })
  }
}

/** Its next version, which may take as long as it likes. */
class UnhurriedTenants extends Workflow<null, { tenant: string; round: number }> {
  static {
    this.named('tenants')
    this.jobOptions({ perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    this.step('prepare')
    this.step('again')
  }
  async prepare() {}
  async again() {
    if (this.input.round === 1) this.restart({ ...this.input, round: 2 })
  }
}

forEachDatabase('a frozen workflow that restarts', database => {
  const under = useGeneva(database, { workflows: [Tenants], jobs: [audited] })

  /** Frozen before its first step, and repaired so that it begins with another node. */
  async function frozenWith(entry: Partial<FrozenNode>): Promise<WorkflowHandle> {
    const wf = await under.geneva.start(Tenants, { input: { tenant: 'acme', round: 1 } })
    await wf.pause()
    const dag = await under.geneva.freeze(wf.id)
    const prepare = {
      ...dag.nodes.prepare,
      depends_on: ['entry'],
      ...(entry.kind === 'condition' ? { guard: { condition: 'entry', when: true } } : {}),
    }
    const nodes = { ...dag.nodes, entry: { name: 'entry', depends_on: [], ...entry }, prepare }
    await under.geneva.importDag({ ...dag, nodes }, { into: wf.id })
    await wf.resume()
    return wf
  }

  it.each([
    ['a job', { job: 'audited' }],
    ['a stored condition', { kind: 'condition', test: '1 > 0' }],
  ] satisfies [string, Partial<FrozenNode>][])(
    'with limits per key begins again with %s that was put at its start',
    async (_, entry) => {
      const first = await frozenWith(entry)
      await under.runDue()
      const second = await under.geneva.find((await first.refresh()).continuedAs ?? '')
      expect(second?.state).toBe('finished')
      expect((await second?.history())?.map(({ step }) => step)).toEqual(['entry', 'prepare', 'again'])
    },
  )

  it('with limits per key asks people again who were put at its start', async () => {
    const first = await frozenWith({ kind: 'human' })
    await under.runDue()
    await first.decide('entry', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    const second = await under.geneva.find((await first.refresh()).continuedAs ?? '')
    await second?.decide('entry', { decision: 'confirmed', by: 'ann' })
    await under.runDue()
    expect((await second?.refresh())?.state).toBe('finished')
  })

  it('has the deadline of its class as it was frozen, and so has one that is run again', async () => {
    const first = await frozenWith({ kind: 'human' })
    const next = under.another({ workflows: [UnhurriedTenants] })
    await next.runDue(quickly)
    await first.decide('entry', { decision: 'confirmed', by: 'ann' })
    await next.runDue(quickly)
    const second = await next.find((await first.refresh()).continuedAs ?? '')
    const again = await next.rerun(first.id, { from: 'entry' })
    const hourLater = (wf: WorkflowHandle | null) => Number(wf?.deadline) - Number(wf?.createdAt)
    expect([hourLater(second), hourLater(again)]).toEqual([3_600_000, 3_600_000])
    ;(await next.openedStore()).setClockOffset(3_700_000)
    await next.runDue(quickly)
    expect([(await second?.refresh())?.state, (await again.refresh()).state]).toEqual(['paused', 'paused'])
  })
})
