/** Old and new code side by side: who runs what after a deploy, and what becomes of steps that the new code has lost. */
import { beforeEach, expect, it } from 'vitest'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const ran: string[] = []

/** The class Order as one deploy has it: its steps, each of which waits an hour, and its names. */
function order(
  version: string,
  steps: readonly string[],
  names: readonly string[] = ['Order'],
): ConcreteClass<AnyWorkflow> {
  const [name = 'Order', ...former] = names
  return class extends Workflow {
    static {
      this.named(name, ...former)
      for (const step of steps) {
        this.inline(step, { wait: '1 hour' }, wf => {
          if (wf.execution.attempt === 1 && step.startsWith('fails')) throw new Error(step)
          ran.push(`${version} ${step}`)
        })
      }
    }
  }
}

const start = (geneva: ReturnType<typeof useGeneva>['geneva'], workflow: ConcreteClass<AnyWorkflow>) =>
  geneva.start(workflow as ConcreteClass<Workflow>)

forEachDatabase('a deploy', database => {
  const under = useGeneva(database, { workflows: [] })
  let count = 0
  beforeEach(() => {
    ran.length = 0
  })

  /** One process with its code; `run` works off all that falls due until hours later. */
  function deploy(workflow: ConcreteClass<AnyWorkflow>) {
    const geneva = under.another({ workflows: [workflow] })
    return {
      geneva,
      async run(hours: number): Promise<void> {
        const store = await geneva.openedStore()
        store.setClockOffset(hours * 3_600_000 + hours * 60_000)
        await geneva.runDue(quickly)
        store.setClockOffset(0)
      },
    }
  }

  const type = () => `Order ${++count}`

  it('lets new code go on with what old code began, along the new steps', async () => {
    const name = type()
    const V1 = order('v1', ['a', 'b', 'd'], [name])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    const fresh = deploy(order('v2', ['a', 'b', 'c', 'd'], [name]))
    for (const hours of [2, 3, 4]) await fresh.run(hours)
    expect(ran).toEqual(['v1 a', 'v2 b', 'v2 c', 'v2 d'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('keeps old code away from what new code has begun', async () => {
    const name = type()
    const V1 = order('v1', ['a', 'b'], [name])
    const V2 = order('v2', ['a', 'x', 'b'], [name])
    const old = deploy(V1)
    const before = await start(old.geneva, V1)
    await old.geneva.migrate()
    const fresh = deploy(V2)
    const after = await start(fresh.geneva, V2)
    await old.run(1)
    expect(ran).toEqual(['v1 a'])
    await fresh.run(1)
    expect(ran).toEqual(['v1 a', 'v2 a'])
    await old.run(2)
    expect(ran).toEqual(['v1 a', 'v2 a', 'v1 b'])
    expect((await before.refresh()).state).toBe('finished')
    await fresh.run(2)
    await old.run(3)
    await fresh.run(3)
    expect(ran).toEqual(['v1 a', 'v2 a', 'v1 b', 'v2 x', 'v2 b'])
    expect((await after.refresh()).state).toBe('finished')
  })

  it('does not throw a workflow back to old code when that is asked to resume or skip', async () => {
    const name = type()
    const V1 = order('v1', ['a'], [name])
    const V2 = order('v2', ['a', 'fails', 'b'], [name])
    const old = deploy(V1)
    await old.geneva.migrate()
    const fresh = deploy(V2)
    const wf = await start(fresh.geneva, V2)
    await fresh.run(1)
    await fresh.run(2)
    expect((await wf.refresh()).state).toBe('paused')
    await old.geneva.resume(wf.id)
    await old.run(3)
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'fails', state: 'scheduled', attempt: 2 }])
    await fresh.run(3)
    await old.geneva.skip(wf.id, 'b')
    expect((await wf.refresh()).state).toBe('finished')
    expect(ran).toEqual(['v2 a', 'v2 fails'])
  })

  it('pauses a workflow at a step that the newest code has lost, and says so', async () => {
    const name = type()
    const V1 = order('v1', ['a', 'lost', 'b'], [name])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    const fresh = deploy(order('v2', ['a', 'b'], [name]))
    await fresh.run(2)
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history())[1]).toMatchObject({
      step: 'lost',
      state: 'failed',
      outcome: 'paused_by_exception',
      error: { className: 'StepMissingError' },
    })
    expect(under.errors.at(-1)?.error).toMatchObject({ code: 'STEP_MISSING' })
    // With the code back, a resume runs it; without, it can be skipped.
    await old.geneva.resume(wf.id)
    await old.run(3)
    expect(ran).toEqual(['v1 a', 'v1 lost'])
  })

  it('goes on behind a lost step when that is skipped, failed or still waiting', async () => {
    for (const fails of [true, false]) {
      const name = type()
      const V1 = order('v1', ['a', 'lost', 'b'], [name])
      const old = deploy(V1)
      const wf = await start(old.geneva, V1)
      await old.run(1)
      const fresh = deploy(order('v2', ['a', 'c', 'b'], [name]))
      if (fails) await fresh.run(2)
      await fresh.geneva.skip(wf.id, 'lost')
      expect(await wf.currentExecutions()).toMatchObject([{ step: 'c', state: 'scheduled' }])
      await wf.cancel()
    }
  })

  it('ends a workflow whose last step was lost while it was paused', async () => {
    const name = type()
    const V1 = order('v1', ['a', 'lost'], [name])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    await wf.pause()
    const fresh = deploy(order('v2', ['a'], [name]))
    await fresh.geneva.skip(wf.id, 'lost')
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('runs workflows that were stored under a former name', async () => {
    const [former, name] = [type(), type()]
    const V1 = order('v1', ['a', 'b'], [former])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    const V2 = order('v2', ['a', 'b', 'c'], [name, former])
    const fresh = deploy(V2)
    expect((await fresh.geneva.list(V2)).items.map(item => item.id)).toEqual([wf.id])
    expect((await fresh.geneva.find(V2, wf.id))?.type).toBe(former)
    for (const hours of [2, 3]) await fresh.run(hours)
    expect(ran).toEqual(['v1 a', 'v2 b', 'v2 c'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('lets a process without the code steer a renamed workflow', async () => {
    const [former, name] = [type(), type()]
    for (const version of [1, 2]) await deploy(order(`v${version}`, ['x', `x${version}`], [former])).geneva.migrate()
    const V1 = order('v1', ['fails', 'b'], [former])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    expect((await wf.refresh()).state).toBe('paused')
    const fresh = deploy(order('v2', ['fails', 'b'], [name, former]))
    await fresh.geneva.migrate()
    await under.geneva.resume(wf.id)
    await fresh.run(2)
    await fresh.run(3)
    expect(ran).toEqual(['v2 fails', 'v2 b'])
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('runs no step twice when the steps were put in another order', async () => {
    const name = type()
    const V1 = order('v1', ['a', 'b', 'c'], [name])
    const old = deploy(V1)
    const wf = await start(old.geneva, V1)
    await old.run(1)
    const fresh = deploy(order('v2', ['b', 'd', 'a', 'c'], [name]))
    for (const hours of [2, 3, 4, 5]) await fresh.run(hours)
    // What now stands before a step that has ended comes too late.
    expect(ran.toSorted()).toEqual(['v1 a', 'v2 b', 'v2 c'])
    const left = (await wf.history()).find(execution => execution.step === 'd')
    expect(left).toMatchObject({ state: 'skipped', outcome: 'not_taken', startedAt: null })
    expect((await wf.refresh()).state).toBe('finished')
  })
})
