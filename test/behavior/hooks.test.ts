/** Hooks and inheritance: in which order everything is called, and that a subclass never changes its parent. */
import { beforeEach, expect, it } from 'vitest'
import { defineHero, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface User {
  readonly id: number
  readonly deactivated: boolean
  readonly expired: boolean
}

const Users = defineHero('User', {
  id: (user: User) => user.id,
  load: (id): User => ({ id, deactivated: id === 666, expired: id === 404 }),
})

const calls: string[] = []

class Hooked extends Workflow<null, { around?: 'forgets' | 'twice' | 'swallows' | 'replaces' }> {
  static {
    this.beforeEach((_, step) => calls.push(`before 1 ${step.name} ${step.attempt}`))
    this.beforeEach(async () => calls.push('before 2'))
    this.afterEach(() => calls.push('after 1'))
    this.afterEach(() => calls.push('after 2'))
    this.aroundEach(async (wf, _, next) => {
      calls.push('outer in')
      const result = await next()
      calls.push(`outer out ${result}`)
      return wf.input.around === 'replaces' ? 'replaced' : result
    })
    this.aroundEach(async (wf, _, next) => {
      calls.push('inner in')
      if (wf.input.around === 'forgets') return
      if (wf.input.around === 'twice') await next()
      const result = await next().catch((error: Error) => {
        if (wf.input.around !== 'swallows') throw error
      })
      calls.push('inner out')
      return result
    })
    this.step('only')
    this.inline({ wait: 0 }, () => 'anonymous')
  }
  only() {
    calls.push('body')
    if (this.input.around === 'swallows') throw new Error('swallowed')
    return 'output'
  }
}

/** Begins with a node that does nothing itself. */
class Guarded extends Workflow {
  static {
    this.beforeEach((_, step) => {
      if (!['left', 'right', 'after'].includes(step.name)) throw new Error(`a hook for ${step.name}`)
      calls.push(step.name)
    })
    this.fork('split', { one: b => b.step('left'), two: b => b.step('right') })
    this.step('after')
  }
  async left() {}
  async right() {}
  async after() {}
}

class Saved extends Workflow {
  static {
    this.beforeEach((_, step) => calls.push(step.name))
    this.savePoint('begun')
    this.step('after')
  }
  async after() {}
}

class UserWorkflow extends Workflow<User> {
  static {
    this.heroes(Users)
    this.cancelIf(wf => wf.hero.deactivated)
    this.jobOptions({ queue: 'users', priority: 7 })
    this.onException('skip')
    this.beforeEach((_, step) => calls.push(`parent before ${step.name}`))
    this.step('greet')
    this.step('leave')
  }
  greet() {
    return `hello ${this.hero.id}`
  }
  leave() {
    return 'bye'
  }
}

class Premium extends UserWorkflow {
  static {
    this.cancelIf('isExpired')
    this.jobOptions({ queue: 'premium' })
    this.beforeEach((_, step) => calls.push(`child before ${step.name}`))
    this.step('gift', { afterStep: 'greet' })
    this.step('check', { beforeStep: 'greet' })
  }
  isExpired() {
    return this.hero.expired
  }
  override greet() {
    return `welcome ${this.hero.id}`
  }
  async gift() {
    throw new Error(`no gift after ${await this.output(this.greet)}`)
  }
  check() {}
}

class Untouched extends UserWorkflow {}

forEachDatabase('hooks and inheritance', database => {
  const under = useGeneva(database, { workflows: [Hooked, Guarded, Saved, UserWorkflow, Premium, Untouched] })
  beforeEach(() => {
    calls.length = 0
  })

  it('call what comes before, then around from the outside in, the body, and what comes after', async () => {
    const wf = await under.geneva.start(Hooked, {})
    await under.runDue()
    expect(calls.slice(0, 9)).toEqual([
      'before 1 only 1',
      'before 2',
      'outer in',
      'inner in',
      'body',
      'inner out',
      'outer out output',
      'after 1',
      'after 2',
    ])
    expect(calls[9]).toBe('before 1 step_1 1')
    expect(await wf.waitUntilFinished()).toBe('anonymous')
    expect((await wf.history()).map(execution => execution.step)).toEqual(['only', 'step_1'])
  })

  it('keep the output of the body, whatever a hook around it returns', async () => {
    const wf = await under.geneva.start(Hooked, { input: { around: 'replaces' } })
    await under.runDue()
    expect(await wf.output('only')).toBe('output')
  })

  it('fail the step when one around it does not call next, or calls it twice', async () => {
    const forgets = await under.geneva.start(Hooked, { input: { around: 'forgets' } })
    const twice = await under.geneva.start(Hooked, { input: { around: 'twice' } })
    await under.runDue()
    expect((await forgets.history())[0]?.error?.message).toBe('An aroundEach hook of step only did not call `next`.')
    expect((await twice.history())[0]?.error?.message).toBe('An aroundEach hook of step only called `next` twice.')
    expect(calls.filter(call => call === 'body')).toHaveLength(1)
    expect([(await forgets.refresh()).state, (await twice.refresh()).state]).toEqual(['paused', 'paused'])
  })

  it('are not called for a fork or a save point, also where the workflow begins with it', async () => {
    const guarded = await under.geneva.start(Guarded)
    await under.runDue()
    expect((await guarded.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(['after', 'left', 'right'])
    calls.length = 0
    const saved = await under.geneva.start(Saved)
    await under.runDue()
    expect((await saved.refresh()).state).toBe('finished')
    expect(calls).toEqual(['after'])
  })

  it('may swallow what the body throws', async () => {
    const wf = await under.geneva.start(Hooked, { input: { around: 'swallows' } })
    await under.runDue()
    expect((await wf.history())[0]).toMatchObject({ state: 'completed', outcome: 'success', error: null })
    expect(await wf.output('only')).toBeUndefined()
  })

  it('give a subclass the steps, conditions, policies, hooks and options of its parent, and its own', async () => {
    const wf = await under.geneva.start(Premium, { hero: Users.ref(1) })
    expect(await under.runDue({ queues: ['users', 'default'] })).toBe(0)
    await under.runDue({ queues: ['premium'] })
    expect((await wf.history()).map(execution => [execution.step, execution.outcome])).toEqual([
      ['check', 'success'],
      ['greet', 'success'],
      ['gift', 'skipped_by_exception'],
      ['leave', 'success'],
    ])
    expect((await wf.history())[2]?.error?.message).toBe('no gift after welcome 1')
    expect(calls.slice(0, 2)).toEqual(['parent before check', 'child before check'])
  })

  it('leave the parent as it was', async () => {
    const wf = await under.geneva.start(UserWorkflow, { hero: Users.ref(404) })
    await under.runDue({ queues: ['users'] })
    expect((await wf.history()).map(execution => [execution.step, execution.outcome])).toEqual([
      ['greet', 'success'],
      ['leave', 'success'],
    ])
    expect(await wf.output('greet')).toBe('hello 404')
    expect(calls).toEqual(['parent before greet', 'parent before leave'])
  })

  it('ask the conditions of the parent and of the subclass', async () => {
    const states = []
    for (const id of [666, 404, 200]) {
      const wf = await under.geneva.start(Premium, { hero: Users.ref(id) })
      await under.runDue()
      states.push((await wf.refresh()).state)
    }
    expect(states).toEqual(['canceled', 'canceled', 'finished'])
  })

  it('make of a subclass without rules of its own a workflow of its own', async () => {
    const parent = await under.geneva.start(UserWorkflow, { hero: Users.ref(50) })
    const child = await under.geneva.start(Untouched, { hero: Users.ref(50) })
    await under.runDue()
    expect([parent.type, child.type]).toEqual(['UserWorkflow', 'Untouched'])
    expect(await child.output('leave')).toBe('bye')
    expect((await under.geneva.list(UserWorkflow, { hero: Users.ref(50) })).items.map(wf => wf.id)).toEqual([parent.id])
  })
})
