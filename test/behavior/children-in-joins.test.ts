/** A `child` node in a branch of a join that need not wait for all: one whose start is refused, and one that loses. */
import { beforeEach, expect, it } from 'vitest'
import { type Child, defineHero, defineJob, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

interface Person {
  readonly id: string
}

const People = defineHero('Person', { id: (person: Person) => person.id, load: id => ({ id }) })

class Kid extends Workflow<Person> {
  static {
    this.named('kid')
    this.heroes(People)
    this.waitFor('go')
  }
  async go(_: Signal) {}
}

/** The child fails to start, because another one is active, and its policy says what follows. */
function parent(name: string, onException: 'skip' | 'pause' | 'reattempt') {
  return class Parent extends Workflow<null, Person> {
    static {
      this.named(name)
      const policy = onException === 'reattempt' ? { policy: onException, wait: '1 min' as const } : onException
      this.fork(
        'both',
        {
          a: b => b.child('kid', { workflow: Kid, start: wf => ({ hero: wf.input }), onException: policy }),
          b: b => b.step('other', { wait: '1s' }),
        },
        { join: 'settled' },
      )
      this.step('after')
    }
    async kid(_: Child<Kid>) {}
    async other() {}
    async after() {}
  }
}

const Skips = parent('kid skips', 'skip')
const Pauses = parent('kid pauses', 'pause')
const Again = parent('kid again', 'reattempt')

class Race extends Workflow<null, Person> {
  static {
    this.fork(
      'both',
      {
        a: b => b.child('kid', { workflow: Kid, start: wf => ({ hero: wf.input }) }),
        b: b => b.step('other', { wait: '1 min' }),
      },
      { join: 'any' },
    )
    this.step('after')
  }
  async kid(_: Child<Kid>) {}
  async other() {}
  async after() {}
}

let people = 0
const ok = defineJob('ok', async () => 1)

forEachDatabase('a child in a branch that a join can do without', database => {
  const under = useGeneva(database, { workflows: [Kid, Skips, Pauses, Again, Race], jobs: [ok] })

  let name = ''

  beforeEach(async () => {
    await under.setClock(0)
    name = `person ${++people}`
  })

  async function pass(wf: WorkflowHandle<any>, ms = 2000): Promise<WorkflowHandle<any>> {
    await under.runDue()
    await under.setClock(ms)
    await under.runDue()
    return wf.refresh()
  }

  async function ends(wf: WorkflowHandle<any>): Promise<string[]> {
    const rows = (await wf.history()).filter(({ step }) => step === 'kid' || step === 'after')
    return rows.map(({ step, outcome }) => `${step} ${outcome}`).sort()
  }

  it.each([
    [Skips, 'skipped_by_exception', false],
    [Pauses, 'paused_by_exception', true],
  ] as const)(
    'whose place is held is treated as its policy says, and what follows runs (%#)',
    async (type, outcome, partial) => {
      await under.geneva.start(Kid, { hero: { id: name } })
      const wf = await pass(await under.geneva.start(type, { input: { id: name } }))
      expect([wf.state, wf.partial]).toEqual(['finished', partial])
      expect(await ends(wf)).toEqual(['after success', `kid ${outcome}`])
      expect((await wf.history()).find(({ step }) => step === 'kid')?.error?.className).toBe(
        'WorkflowAlreadyActiveError',
      )
      expect(await wf.verifyHistory()).toBeNull()
    },
  )

  it('whose place is held is tried again, and started once it is free', async () => {
    const first = await under.geneva.start(Kid, { hero: { id: name } })
    const wf = await pass(await under.geneva.start(Again, { input: { id: name } }))
    expect((await wf.currentExecutions()).map(({ step, attempt }) => `${step} ${attempt}`)).toEqual(['kid 2'])
    await first.signal('go')
    await pass(wf, 90_000)
    expect((await wf.currentExecutions()).map(({ step, state }) => `${step} ${state}`)).toEqual(['kid waiting'])
  })

  it('of a stored graph whose place is held is treated as its policy says', async () => {
    await under.geneva.start(Kid, { hero: { id: name } })
    const graph = under.geneva.build(w => {
      w.fork(
        'both',
        {
          a: b => b.child('kid', { workflow: Kid, hero: People.ref(name), onException: 'skip' }),
          b: b => b.node('other', { job: ok }),
        },
        { join: 'settled' },
      )
      w.node('after', { job: ok })
    })
    const wf = await pass(await under.geneva.startGraph(graph))
    expect(wf.state).toBe('finished')
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toContain('kid skipped_by_exception')
    expect((await wf.history()).map(({ step, outcome }) => `${step} ${outcome}`)).toContain('after success')
  })

  it('is canceled when the join goes on without it', async () => {
    const wf = await pass(await under.geneva.start(Race, { input: { id: name } }), 90_000)
    expect(wf.state).toBe('finished')
    expect(await ends(wf)).toEqual(['after success', 'kid superseded'])
    await waitFor(async () => {
      await under.runDue()
      const kid = await under.geneva.find({ hero: People.ref(name) })
      return kid?.parentId === wf.id && kid.state === 'canceled'
    })
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
