/** The result of a workflow: the same for whoever waits for it, in the process that ends it or in another. */
import { expect, it } from 'vitest'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

/** Its last step is left out, each time in another way. */
class ByIf extends Workflow {
  static {
    this.named('left out by if')
    this.step('first')
    this.step('last', { if: () => false })
  }
  async first() {
    return 'first'
  }
  async last() {
    return 'last'
  }
}

class ByItself extends Workflow {
  static {
    this.named('left out by itself')
    this.step('first')
    this.step('last')
  }
  async first() {
    return 'first'
  }
  async last() {
    this.skip()
  }
}

class ByPolicy extends Workflow {
  static {
    this.named('left out by policy')
    this.step('first')
    this.step('last', { onException: 'skip' })
  }
  async first() {
    return 'first'
  }
  async last() {
    throw new Error('no')
  }
}

/** One way is longer than the other, and what comes after both is left out. */
class ByWay extends Workflow<null, { long: boolean }> {
  static {
    this.named('left out by a way')
    this.condition('ask', wf => wf.input.long, {
      then: b => {
        b.step('one')
        b.step('two')
      },
      else: b => b.step('only'),
    })
    this.step('last', { if: () => false })
  }
  async one() {
    return 'one'
  }
  async two() {
    return 'two'
  }
  async only() {
    return 'only'
  }
  async last() {
    return 'last'
  }
}

/** The branch that ends last is the shorter one. */
class Wide extends Workflow {
  static {
    this.named('two leaves')
    this.task('a')
    this.task('b', { dependsOn: 'a' })
    this.task('late', { wait: '1 min' })
  }
  async a() {
    return 'a'
  }
  async b() {
    return 'b'
  }
  async late() {
    return 'late'
  }
}

/** Its result is put together from those of its items, of which one is left out and one returns what JSON does not know. */
class Mailing extends Workflow<null, { count: number }> {
  static {
    this.named('mails')
    this.each('mail', { items: wf => Array.from({ length: wf.input.count }, (_, index) => index) })
    this.step('tidy')
    this.result('mail')
  }
  async mail(item: number) {
    if (item === 1) this.skip()
    return item === 2 ? new Date(0) : { item }
  }
  async tidy() {
    return 'tidy'
  }
}

class Paying extends Workflow {
  static {
    this.named('pays')
    this.step('pay')
    this.step('tidy')
    this.result('pay')
  }
  async pay() {
    return 'paid'
  }
  async tidy() {}
}

class Charging extends Workflow {
  static {
    this.named('pays')
    this.step('charge')
    this.step('tidy')
    this.renamed({ pay: 'charge' })
    this.result('charge')
  }
  async charge() {
    return 'charged'
  }
  async tidy() {}
}

forEachDatabase('the result of a workflow', database => {
  const under = useGeneva(database, { workflows: [ByIf, ByItself, ByPolicy, ByWay, Wide, Mailing, Paying] })

  it('is shown as whoever waits gets it, in the form in which it is stored: put together from items', async () => {
    const wf = await under.geneva.start(Mailing, { input: { count: 4 } })
    await under.runDue()
    expect(await wf.waitUntilFinished()).toEqual([{ item: 0 }, undefined, new Date(0), { item: 3 }])
    const { output } = await under.geneva.views.workflow(wf.id)
    const date = { $geneva: 'date', value: '1970-01-01T00:00:00.000Z' }
    expect(output).toEqual([{ item: 0 }, null, date, { item: 3 }])
  })

  it('is shown with its first thousand items, however many there are', async () => {
    const wf = await under.geneva.start(Mailing, { input: { count: 1003 } })
    await under.runDue({ concurrency: 100 })
    expect(await wf.waitUntilFinished()).toHaveLength(1003)
    const { output } = await under.geneva.views.workflow(wf.id)
    expect(output).toHaveLength(1000)
    expect((output as unknown[]).at(-1)).toEqual({ item: 999 })
  })

  it('is shown as whoever waits gets it: of a step that ran under its former name', async () => {
    const { id } = await under.geneva.start(Paying)
    await under.runDue()
    const later = under.another({ workflows: [Charging] })
    expect(await (await later.find(id))?.waitUntilFinished()).toBe('paid')
    expect((await later.views.workflow(id)).output).toBe('paid')
  })

  it('is shown where the class is not known: what completed last', async () => {
    const { id } = await under.geneva.start(ByIf)
    await under.runDue()
    expect((await under.another({}).views.workflow(id)).output).toBe('first')
  })

  it.each<[string, ConcreteClass<AnyWorkflow>, object, unknown]>([
    ['was left out by a condition', ByIf, {}, 'first'],
    ['has left itself out', ByItself, {}, 'first'],
    ['was left out by its policy', ByPolicy, {}, 'first'],
    ['was left out after the longer way', ByWay, { input: { long: true } }, 'two'],
    ['was left out after the shorter way', ByWay, { input: { long: false } }, 'only'],
    ['lies less far from the start', Wide, {}, 'b'],
  ])('is that of what completed before, if the last step %s', async (_, Class, start, expected) => {
    await under.setClock(0)
    const wf = await under.geneva.start(Class as ConcreteClass<any>, start as never)
    const waited = wf.waitUntilFinished()
    await under.runDue()
    await under.setClock(70_000)
    await under.runDue()
    const elsewhere = await under.another().find(wf.id)
    expect([await waited, await elsewhere?.waitUntilFinished()]).toEqual([expected, expected])
  })
})
