/** What a start may be given: a misspelled option is refused before anything is written, in whatever way it is started. */
import { expect, it } from 'vitest'
import { type Child, defineHero, defineJob, defineSchedule, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface Customer {
  readonly id: number
}

const Customers = defineHero('Customer', { id: (one: Customer) => one.id, load: (id): Customer => ({ id }) })
const greet = defineJob('greet', async () => {})

class Welcome extends Workflow<Customer, { text?: string }> {
  static {
    this.heroes(Customers)
    this.step('send')
  }
  send() {}
}

class Sweeping extends Workflow {
  static {
    this.step('sweep')
  }
  sweep() {}
}

class Family extends Workflow {
  static {
    // A mistake that the types would not let through.
    this.child('welcome', { workflow: Welcome, start: () => ({ hero: Customers.ref(1), inpt: {} }) as any })
  }
  welcome(_child: Child<Welcome>) {}
}

// The same here.
const misled = defineSchedule('misled', { workflow: Sweeping, cron: '0 3 * * *', start: () => ({ inputs: {} }) as any })
const known = 'transaction, delay, at, tags, idempotencyKey, identity, allowMultiple, deadline, by, reason'

forEachDatabase('the options of a start', database => {
  const under = useGeneva(database, { workflows: [Welcome, Sweeping, Family], jobs: [greet], schedules: [misled] })
  const hero = Customers.ref(1)
  const misspelled = { idempotencykey: 'once' } as object
  const message = `there is no option idempotencykey. Known are ${known}.`

  it.each<[string, () => Promise<unknown>, string]>([
    ['start', () => under.geneva.start(Welcome, { hero }, misspelled), 'start(Welcome)'],
    ['startMany', () => under.geneva.startMany(Welcome, [{ hero }], misspelled), 'start(Welcome)'],
    ['startByName', () => under.geneva.startByName('Sweeping', {}, misspelled), 'start(Sweeping)'],
    [
      'startGraph',
      () =>
        under.geneva.startGraph(
          under.geneva.build(w => w.node('a', { job: greet, args: {} })),
          {},
          misspelled,
        ),
      'startGraph',
    ],
  ])('that are misspelled are refused by %s, which names those that it knows', async (_, start, where) => {
    await expect(start()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: `${where}: ${message}` })
    expect((await under.geneva.list()).items).toEqual([])
  })

  it('that stand in the wrong place, or what to start is misspelled, are refused as well', async () => {
    const graph = under.geneva.build(w => w.node('a', { job: greet, args: {} }))
    const misplaced = { hero, tags: ['q4'] }
    await expect(under.geneva.start(Welcome, misplaced)).rejects.toThrow(
      'start(Welcome), what to start: there is no option tags. Known are hero, input. `tags` belongs into the options',
    )
    const inpt = { inpt: {} } as object
    await expect(under.geneva.start(Sweeping, inpt)).rejects.toThrow(
      /there is no option inpt\. Known are hero, input\.$/,
    )
    await expect(under.geneva.startMany(Welcome, [{ hero }, { hero: Customers.ref(2), ...inpt }])).rejects.toThrow(
      /inpt/,
    )
    await expect(under.geneva.startByName('Sweeping', inpt)).rejects.toThrow(/startByName\(Sweeping\).*inpt/)
    await expect(under.geneva.startGraph(graph, inpt)).rejects.toThrow(/startGraph, what to start.*inpt/)
    await expect(under.geneva.schedules.trigger('misled')).rejects.toThrow(/start\(Sweeping\).*no option inputs/)
    expect((await under.geneva.list()).items).toEqual([])
  })

  it('of many have no one key, which could be that of one only', async () => {
    const keyed = { idempotencyKey: 'x' } as object
    const many = under.geneva.startMany(Welcome, [{ hero }], keyed)
    await expect(many).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: /takes no idempotencyKey/ })
  })

  it('are none for a child: what its node gives is checked the same way, and the node fails', async () => {
    const wf = await under.geneva.start(Family)
    await under.runDue()
    const [failed] = await wf.history()
    expect(failed).toMatchObject({ step: 'welcome', state: 'failed' })
    expect(failed?.error?.message).toMatch(/there is no option inpt/)
    await wf.cancel()
  })

  it.each(['9999-12-31', '0001-01-01', 'no date'])(
    'refuse %s as a time, for the start and for its deadline',
    async date => {
      for (const when of [{ at: new Date(date) }, { deadline: new Date(date) }]) {
        const start = under.geneva.start(Sweeping, {}, when)
        const message = /must be a valid Date.*between the years 1697 and 2243/
        await expect(start).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message })
      }
      expect((await under.geneva.list(Sweeping)).items).toEqual([])
    },
  )

  it('take a deadline in two hundred years, and tell it', async () => {
    const deadline = new Date('2226-01-01T00:00:00Z')
    const wf = await under.geneva.start(Sweeping, {}, { deadline })
    expect((await wf.refresh()).deadline).toEqual(deadline)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('that are all right are taken', async () => {
    const who = { tags: ['a'], idempotencyKey: 'k', by: 'ann', reason: 'why', allowMultiple: false }
    const when = { delay: '1 day', deadline: '2 days' } as const
    const wf = await under.geneva.start(Welcome, { hero, input: { text: 'hi' } }, { ...who, ...when })
    expect(await wf.tags()).toEqual(['a'])
  })
})
