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

forEachDatabase('the result of a workflow', database => {
  const under = useGeneva(database, { workflows: [ByIf, ByItself, ByPolicy, ByWay, Wide] })

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
