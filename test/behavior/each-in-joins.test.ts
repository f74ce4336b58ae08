/**
 * An `each` in a branch of a join that need not wait for all. An item that has failed for good ends its branch as a step
 * does: the others get its place, the join goes on without the branch, or is lost and the policy acts.
 */
import { expect, it } from 'vitest'
import { type JoinNotation, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabaseSideBySide } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

interface Plan {
  /** Items that throw. */
  readonly broken: readonly number[]
  readonly other: 'completes' | 'throws' | 'skips'
}

/** Letters go out one at a time in one branch, while the other does something else. */
function mailing(name: string, join: JoinNotation, onException: 'pause' | 'rollback') {
  return class Mailing extends Workflow<null, Plan> {
    static {
      this.named(name)
      this.step('enter', { compensate: 'leave' })
      this.fork(
        'both',
        {
          a: b => b.each('mail', { items: () => [0, 1, 2], concurrency: 1, onException }),
          b: b => b.step('other', { wait: '1 min' }),
        },
        { join },
      )
      this.step('after')
    }
    async enter() {}
    async leave() {}
    async mail(item: number) {
      if (this.input.broken.includes(item)) throw new Error(`item ${item}`)
    }
    async other() {
      if (this.input.other === 'throws') throw new Error('other')
      if (this.input.other === 'skips') this.skip()
    }
    async after() {}
  }
}

const Settled = mailing('mailing settled', 'settled', 'pause')
const Any = mailing('mailing any', 'any', 'pause')
const Undone = mailing('mailing undone', 'any', 'rollback')

forEachDatabaseSideBySide('an each in a branch that a join can do without', database => {
  const under = useGeneva(database, { workflows: [Settled, Any, Undone] })

  async function run(workflow: typeof Settled, input: Plan): Promise<WorkflowHandle<any>> {
    await under.setClock(0)
    const wf = await under.geneva.start(workflow, { input })
    await under.runDue()
    await under.setClock(90_000)
    await under.runDue()
    return wf.refresh()
  }

  async function told(wf: WorkflowHandle<any>): Promise<string[]> {
    const rows = (await wf.history()).filter(({ step }) => /mail|after/.test(step))
    return rows.map(({ step, state, outcome }) => `${step} ${state} ${outcome}`).sort()
  }

  it('is settled when its items have ended, also if one has failed', async () => {
    const wf = await run(Settled, { broken: [0, 2], other: 'completes' })
    expect(wf.state).toBe('finished')
    expect(await told(wf)).toEqual([
      'after completed success',
      'mail canceled superseded',
      'mail/0 failed paused_by_exception',
      'mail/1 completed success',
      'mail/2 failed paused_by_exception',
    ])
    expect(wf.partial).toBe(true)
    expect(await wf.currentExecutions()).toEqual([])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('is done without when another branch completes', async () => {
    const wf = await run(Any, { broken: [0], other: 'completes' })
    expect(wf.state).toBe('finished')
    expect(await told(wf)).toContain('mail canceled superseded')
    expect(await told(wf)).toContain('after completed success')
    expect(wf.partial).toBe(false)
  })

  it('loses the join with the other branch, and goes on once somebody has settled the item', async () => {
    const wf = await run(Any, { broken: [1], other: 'throws' })
    expect(wf.state).toBe('paused')
    expect(await told(wf)).toEqual([
      'mail waiting null',
      'mail/0 completed success',
      'mail/1 failed paused_by_exception',
      'mail/2 completed success',
    ])
    await wf.resolve('mail/1')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await told(wf)).toContain('after completed success')
  })

  it('lets the policy of its item act when the join is lost later', async () => {
    const wf = await run(Undone, { broken: [0], other: 'skips' })
    expect(wf.state).toBe('failed')
    expect((await wf.history()).find(({ step }) => step === 'enter')?.state).toBe('rolled_back')
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
