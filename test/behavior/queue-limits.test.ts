/** Limits that all workers share: how many run at once, how many begin in a stretch of time, by queue, class and key. */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, it } from 'vitest'
import { type Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const running = new Map<string, number>()
const peaks = new Map<string, number>()
let ran: string[] = []

/** Counts how many run at once under a name. */
async function occupy(name: string, ms = 2): Promise<void> {
  const now = (running.get(name) ?? 0) + 1
  running.set(name, now)
  peaks.set(name, Math.max(peaks.get(name) ?? 0, now))
  ran.push(name)
  await pause(ms)
  running.set(name, (running.get(name) ?? 0) - 1)
}

class Mail extends Workflow<null, { n?: number }> {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('write')
    this.step('send')
  }
  write() {
    return occupy('mail')
  }
  send() {
    return occupy('mail')
  }
}

class Import extends Workflow<null, { tenant: string | null }> {
  static {
    this.jobOptions({ queue: 'imports', concurrency: 5, perKey: { key: wf => wf.input.tenant, concurrency: 2 } })
    this.step('load')
    this.step('index', { queue: 'index' })
  }
  async load() {
    await Promise.all([occupy('import'), occupy(`tenant ${this.input.tenant}`)])
  }
  async index() {
    await Promise.all([occupy('import'), occupy(`tenant ${this.input.tenant}`)])
  }
}

class Relay extends Workflow {
  static {
    this.step('free')
    this.step('narrow', { queue: 'narrow' })
    this.step('after')
  }
  free() {
    return occupy('free')
  }
  narrow() {
    return occupy('narrow')
  }
  after() {
    return occupy('after')
  }
}

class Call extends Workflow<null, { tenant?: string }> {
  static {
    this.jobOptions({ queue: 'calls', perKey: { key: wf => wf.input.tenant, rate: { limit: 2, per: '1 min' } } })
    this.step('dial')
    this.step('talk')
  }
  dial() {
    return occupy(`call ${this.input.tenant}`)
  }
  talk() {
    return occupy(`call ${this.input.tenant}`)
  }
}

class Reminder extends Workflow<null, { customer: string }> {
  static {
    this.named('reminder')
    this.jobOptions({ queue: 'reminders', perKey: { key: wf => wf.input.customer, concurrency: 1 } })
    this.step('begin')
    this.step('remind')
  }
  begin() {
    return occupy(`begin ${this.input.customer}`)
  }
  remind() {
    return occupy(`remind ${this.input.customer}`)
  }
}

/** What is done and what undoes it calls the same bank. */
class Payment extends Workflow<null, { tenant: string }> {
  static {
    this.jobOptions({ queue: 'bank', perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    this.step('charge', { compensate: { step: 'refund', retry: 1 } })
    this.each('book', { items: () => [1, 2], compensate: 'unbook' })
    this.step('wait', { wait: '1 day' })
  }
  charge() {}
  async refund() {
    await occupy(`bank ${this.input.tenant}`)
    if (bankIsDown) throw new Error('the bank is down')
  }
  book(_: number) {}
  unbook() {
    return occupy(`bank ${this.input.tenant}`)
  }
  wait() {}
}
let bankIsDown = false

const workflows = [Mail, Import, Relay, Call, Payment]
const queues = {
  mail: { concurrency: 3 },
  narrow: { concurrency: 1 },
  slow: { rate: { limit: 5, per: '1 min' } },
} as const

class Slow extends Workflow {
  static {
    this.jobOptions({ queue: 'slow' })
    this.step('one')
    this.step('two')
  }
  one() {
    return occupy('slow')
  }
  two() {
    return occupy('slow')
  }
}

forEachDatabase('limits', database => {
  const under = useGeneva(database, { workflows: [...workflows, Slow], queues })
  beforeEach(() => {
    running.clear()
    peaks.clear()
    ran = []
  })

  /** Several workers, each with connections of its own, as several processes would have them. */
  async function withWorkers(count: number, work: (instances: Geneva[]) => Promise<void>): Promise<void> {
    const instances = Array.from({ length: count }, () => under.another())
    try {
      await Promise.all(instances.map(geneva => geneva.startWorker({ ...quickly, concurrency: 10 })))
      await work(instances)
    } finally {
      await Promise.all(instances.map(geneva => geneva.close()))
    }
  }

  it('let no more run at once in a queue than they allow, over all workers, and everything gets done', async () => {
    const wfs = await under.geneva.startMany(
      Mail,
      Array.from({ length: 30 }, (_, n) => ({ input: { n } })),
    )
    await withWorkers(3, async () => {
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '30s' })))
    })
    expect(ran.length).toBe(60)
    expect(peaks.get('mail')).toBe(3)
  })

  it('hold for a class in whatever queue, and for each key by itself', async () => {
    const tenants = [...Array.from({ length: 12 }, () => 'a'), ...Array.from({ length: 6 }, () => 'b'), 'c', 'd']
    const wfs = await under.geneva.startMany(
      Import,
      tenants.map(tenant => ({ input: { tenant } })),
    )
    await withWorkers(3, async () => {
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '30s' })))
    })
    expect(peaks.get('import')).toBe(5)
    expect([peaks.get('tenant a'), peaks.get('tenant b')]).toEqual([2, 2])
    expect(ran.filter(name => name === 'import').length).toBe(2 * tenants.length)
  })

  it('keep nobody waiting behind a key that is full', async () => {
    await under.geneva.startMany(
      Import,
      Array.from({ length: 40 }, () => ({ input: { tenant: 'large' } })),
    )
    const small = await under.geneva.start(Import, { input: { tenant: 'small' } })
    const nobody = await under.geneva.start(Import, { input: { tenant: null } })
    await under.runDue({ queues: ['imports'], maxSteps: 4 })
    expect(ran.filter(name => name === 'tenant large').length).toBe(2)
    expect(await small.currentExecutions()).toMatchObject([{ step: 'index' }])
    expect(await nobody.currentExecutions()).toMatchObject([{ step: 'index' }])
    await under.runDue()
    expect(peaks.get('tenant large')).toBe(2)
    expect(ran.filter(name => name === 'tenant large').length).toBe(80)
  })

  it('are not passed by a step that runs on', async () => {
    const wfs = await under.geneva.startMany(
      Relay,
      Array.from({ length: 12 }, () => ({})),
    )
    await withWorkers(2, async () => {
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '30s' })))
    })
    expect(peaks.get('narrow')).toBe(1)
    expect(peaks.get('free')).toBeGreaterThan(1)
  })

  it('let no more begin in a stretch of time than they allow, by the clock of the database', async () => {
    await under.geneva.startMany(
      Slow,
      Array.from({ length: 8 }, () => ({})),
    )
    for (const [seconds, total] of [
      [0, 5],
      [30, 5],
      [59, 5],
      [61, 10],
      [119, 10],
      [122, 15],
      [190, 16],
      [260, 16],
    ] as const) {
      await under.setClock(seconds * 1000)
      await under.runDue()
      expect([seconds, ran.length]).toEqual([seconds, total])
    }
    await under.setClock(0)
  })

  it('let no more begin for one key than they allow, whatever the others do', async () => {
    const tenants = ['x', 'x', 'x', 'y', undefined, undefined, undefined]
    await under.geneva.startMany(
      Call,
      tenants.map(tenant => ({ input: tenant === undefined ? {} : { tenant } })),
    )
    const counts = () => ['x', 'y', 'undefined'].map(name => ran.filter(item => item === `call ${name}`).length)
    await under.runDue()
    expect(counts()).toEqual([2, 2, 6])
    await under.setClock(61_000)
    await under.runDue()
    expect(counts()).toEqual([4, 2, 6])
    await under.setClock(122_000)
    await under.runDue()
    expect(counts()).toEqual([6, 2, 6])
    await under.setClock(0)
  })

  it('hold for what undoes steps and items as well, also when it is requeued', async () => {
    const tenants = ['p', 'p', 'p', 'p', 'p', 'q', 'q']
    const wfs = await under.geneva.startMany(
      Payment,
      tenants.map(tenant => ({ input: { tenant } })),
    )
    await under.runDue()
    expect(ran).toEqual([])
    bankIsDown = true
    await Promise.all(wfs.map(wf => wf.cancel()))
    const letters = () => under.geneva.deadLetters({ state: 'open' })
    await withWorkers(2, async () => {
      await waitFor(async () => (await letters()).length === tenants.length)
    })
    expect([peaks.get('bank p'), peaks.get('bank q')]).toEqual([1, 1])
    expect(ran.length).toBe(3 * tenants.length)
    bankIsDown = false
    peaks.clear()
    for (const { id } of await letters()) await under.geneva.requeue(id)
    await withWorkers(2, async () => {
      await waitFor(() => ran.length === 4 * tenants.length)
    })
    expect([peaks.get('bank p'), peaks.get('bank q')]).toEqual([1, 1])
  })

  it('can be changed while workers run, and the new ones hold', async () => {
    const wfs = await under.geneva.startMany(
      Mail,
      Array.from({ length: 40 }, (_, n) => ({ input: { n } })),
    )
    await withWorkers(2, async ([first]) => {
      await waitFor(() => ran.length > 5)
      await first?.queues.limit('mail', { concurrency: 1 })
      // What was claimed before goes on to its end, also what has not come to its method yet.
      await waitFor(async () => (await under.geneva.queues.list()).some(it => it.name === 'mail' && it.running <= 1))
      peaks.clear()
      const before = ran.length
      await waitFor(() => ran.length > before + 5)
      expect(peaks.get('mail')).toBe(1)
      await first?.queues.limit('mail', {})
      await Promise.all(wfs.map(wf => wf.waitUntilFinished({ timeout: '30s' })))
      expect(peaks.get('mail')).toBeGreaterThan(3)
    })
  })

  it('stay as somebody has set them when the same code starts again, and change with a deploy', async () => {
    const limitOf = async () => (await under.geneva.queues.list()).find(({ name }) => name === 'mail')?.concurrency
    await under.geneva.queues.limit('mail', { concurrency: 7 })
    await under.another().migrate()
    expect(await limitOf()).toBe(7)
    await under.another({ workflows, queues: { mail: { concurrency: 4 } } }).migrate()
    expect(await limitOf()).toBe(4)
    await under.another({ workflows }).migrate()
    expect(await limitOf()).toBe(4)
    await under.another({ workflows, queues: { mail: {} } }).migrate()
    expect(await limitOf()).toBeNull()
    await under.another().migrate()
    expect(await limitOf()).toBe(3)
  })
})

forEachDatabase('many keys', database => {
  const under = useGeneva(database, { workflows: [Reminder] })
  beforeEach(() => {
    ran = []
  })

  it('are all reached by one call, however many only wait', async () => {
    const customers = Array.from({ length: 450 }, (_, n) => `customer ${String(n).padStart(3, '0')}`)
    await under.geneva.startMany(
      Reminder,
      customers.map(customer => ({ input: { customer } })),
      { delay: '14 days' },
    )
    await under.geneva.start(Reminder, { input: { customer: 'customer 449' } })
    await under.runDue({ queues: ['reminders'] })
    expect(ran).toEqual(['begin customer 449', 'remind customer 449'])
    for (const customer of ['customer 449', 'customer 300', 'customer 449', 'a']) {
      await under.geneva.start(Reminder, { input: { customer } })
    }
    ran = []
    await under.runDue({ queues: ['reminders'] })
    const count = (name: string) => ran.filter(item => item === name).length
    expect(['customer 300', 'customer 449', 'a'].map(name => count(`remind ${name}`))).toEqual([1, 2, 1])
    expect(ran.length).toBe(8)
  })

  it('do not keep a workflow from being run by itself that stands behind those of others', async () => {
    await under.geneva.start(Reminder, { input: { customer: 'other' } })
    const own = await under.geneva.start(Reminder, { input: { customer: 'own' } })
    await under.runDue({ workflowId: own.id, maxSteps: 1 })
    expect(ran).toEqual(['begin own'])
  })
})
