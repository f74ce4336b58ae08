/** Heroes: ids come back as they were, records and references mean the same, and a hero that is gone ends its workflow. */
import { beforeEach, expect, it } from 'vitest'
import { defineHero, type HeroId, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface Thing<Id extends HeroId = HeroId> {
  readonly id: Id
  readonly kind: 'thing'
}
interface Cat {
  readonly id: string
  readonly purrs: true
}
interface Dog {
  readonly id: string
  readonly barks: true
}

const loaded: unknown[] = []
const gone = new Set<HeroId>()

function load<T extends { id: HeroId }>(make: (id: T['id']) => T) {
  return (id: T['id']) => {
    loaded.push(id)
    return gone.has(id) ? null : make(id)
  }
}

const Things = defineHero('Thing', {
  id: (thing: Thing) => thing.id,
  load: load<Thing>(id => ({ id, kind: 'thing' })),
})
const Cats = defineHero('Cat', {
  id: (cat: Cat) => cat.id,
  load: load<Cat>(id => ({ id, purrs: true })),
  is: (pet: object) => 'purrs' in pet,
})
const Dogs = defineHero('Dog', {
  id: (dog: Dog) => dog.id,
  load: async id => load<Dog>(dogId => ({ id: dogId, barks: true }))(id),
  is: (pet: object) => 'barks' in pet,
})

class AboutThing extends Workflow<Thing> {
  static {
    this.heroes(Things)
    this.step('look')
    this.step('lookAgain', { wait: '1 hour' })
  }
  look() {
    return this.hero
  }
  lookAgain() {
    return this.hero
  }
}

class AboutPet extends Workflow<Cat | Dog> {
  static {
    this.heroes(Cats, Dogs)
    this.step('sound')
  }
  sound() {
    return 'purrs' in this.hero ? 'purr' : 'woof'
  }
}

class Outlives extends Workflow<Thing | null> {
  static {
    this.mayOutliveHero()
    this.heroes(Things)
    this.step('look')
  }
  look() {
    return this.hero === null ? 'nobody' : this.hero.id
  }
}

class WithoutHero extends Workflow {
  static {
    this.step('look')
  }
  look() {
    return this.hero
  }
}

forEachDatabase('a hero', database => {
  const under = useGeneva(database, { workflows: [AboutThing, AboutPet, Outlives, WithoutHero] })
  beforeEach(() => {
    loaded.length = 0
    gone.clear()
  })

  it('is loaded by the id that it was given with, in its own type', async () => {
    const ids = [
      42,
      -7,
      0,
      Number.MAX_SAFE_INTEGER,
      9007199254740993n,
      -1n,
      'ann',
      '0190f5fe-7c00-7a00-8000-0123456789ab',
      'x'.repeat(191),
      'päivi 🦊',
      "it's; drop table --",
    ]
    const started = await Promise.all(ids.map(id => under.geneva.start(AboutThing, { hero: { id, kind: 'thing' } })))
    await under.runDue()
    expect(new Set(loaded)).toEqual(new Set(ids))
    for (const [index, wf] of started.entries()) {
      const id = ids[index] as HeroId
      expect(wf.hero).toEqual({ type: 'Thing', id })
      expect(await wf.output('look')).toEqual({ id, kind: 'thing' })
      expect((await under.geneva.find(AboutThing, { hero: Things.ref(id) }))?.id).toBe(wf.id)
    }
  })

  it('given as a record or as a reference is the same hero', async () => {
    const wf = await under.geneva.start(AboutThing, { hero: { id: 'same', kind: 'thing' } })
    await expect(under.geneva.start(AboutThing, { hero: Things.ref('same') })).rejects.toMatchObject({
      code: 'ALREADY_ACTIVE',
      workflowId: wf.id,
    })
    await expect(
      under.geneva.start(AboutThing, { hero: Things.of({ id: 'same', kind: 'thing' }) }),
    ).rejects.toMatchObject({ workflowId: wf.id })
    await wf.cancel()
  })

  it('may be one of several types, told apart by the record or the reference', async () => {
    const cat = await under.geneva.start(AboutPet, { hero: { id: 'tom', purrs: true } })
    const dog = await under.geneva.start(AboutPet, { hero: { id: 'tom', barks: true } })
    await under.runDue()
    expect([await cat.output('sound'), await dog.output('sound')]).toEqual(['purr', 'woof'])
    expect([cat.hero?.type, dog.hero?.type]).toEqual(['Cat', 'Dog'])
    const byRef = await under.geneva.start(AboutPet, { hero: Dogs.ref('rex') })
    await under.runDue()
    expect(await byRef.output('sound')).toBe('woof')
  })

  it('that is gone cancels the workflow at its next step', async () => {
    const wf = await under.geneva.start(AboutThing, { hero: { id: 'leaving', kind: 'thing' } })
    await under.runDue()
    gone.add('leaving')
    await under.setClock(2 * 3_600_000)
    await under.runDue()
    await under.setClock(0)
    expect((await wf.refresh()).state).toBe('canceled')
    expect((await wf.history())[1]).toMatchObject({
      state: 'canceled',
      outcome: 'canceled_by_condition',
      reason: 'the hero is gone',
    })
    expect(under.errors).toEqual([])
  })

  it('that is gone is null to a class that may outlive it', async () => {
    gone.add('dead')
    const wf = await under.geneva.start(Outlives, { hero: Things.ref('dead') })
    await under.runDue()
    expect(await wf.waitUntilFinished()).toBe('nobody')
    expect(wf.hero).toEqual({ type: 'Thing', id: 'dead' })
  })

  it('may be left out where the class may do without', async () => {
    const wf = await under.geneva.start(Outlives, { hero: null })
    const other = await under.geneva.start(Outlives, { hero: null })
    const none = await under.geneva.start(WithoutHero)
    await under.runDue()
    expect(await wf.output('look')).toBe('nobody')
    expect(await other.output('look')).toBe('nobody')
    expect(await none.output('look')).toBeNull()
    expect([wf.hero, none.hero]).toEqual([null, null])
    expect(loaded).toEqual([])
  })

  it.each([
    ['no hero', AboutThing, undefined],
    ['no hero', AboutThing, null],
    ['a record of no declared type', AboutPet, { id: 'nemo', swims: true }],
    ['a record of two types', AboutPet, { id: 'catdog', purrs: true, barks: true }],
    ['a reference of another type', AboutThing, Cats.ref('tom')],
    ['a text', AboutThing, 'ann'],
    ['a hero where none is declared', WithoutHero, { id: 1, kind: 'thing' }],
    ['an id that is empty', AboutThing, { id: '', kind: 'thing' }],
    ['an id that is missing', AboutThing, { kind: 'thing' }],
    ['an id that is no whole number', AboutThing, { id: 1.5, kind: 'thing' }],
    ['an id that is too large a number', AboutThing, { id: 2 ** 60, kind: 'thing' }],
    ['an id that is too long', AboutThing, { id: 'x'.repeat(192), kind: 'thing' }],
    ['an id with NUL', AboutThing, { id: 'a\0b', kind: 'thing' }],
    ['an id with half a surrogate pair', AboutThing, { id: 'a\ud800', kind: 'thing' }],
    ['an id that is an object', AboutThing, { id: {}, kind: 'thing' }],
  ])('is refused: %s', async (_, workflow, hero) => {
    const start = under.geneva.start(workflow as typeof AboutThing, { hero } as { hero: Thing })
    await expect(start).rejects.toMatchObject({ code: 'HERO_TYPE' })
  })

  it('whose type the code no longer declares fails the step, which can be resumed once it does', async () => {
    const wf = await under.geneva.start(AboutPet, { hero: Dogs.ref('max') })
    const cats = under.another({ workflows: [catsOnly()] })
    await cats.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history())[0]).toMatchObject({ state: 'failed', error: { className: 'HeroTypeError' } })
    await wf.resume()
    await under.runDue()
    expect(await wf.waitUntilFinished()).toBe('woof')
  })
})

/** The same class after a deploy that forgot about dogs. */
function catsOnly() {
  return class AboutPet extends Workflow<Cat> {
    static {
      this.heroes(Cats)
      this.step('sound')
    }
    sound() {
      return 'purr'
    }
  }
}
