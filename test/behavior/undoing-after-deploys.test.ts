/** Rollbacks that are still under way when the code of their class changes: newer code goes on with them. */
import { beforeEach, expect, it } from 'vitest'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let broken = true

function version(more: boolean): ConcreteClass<AnyWorkflow> {
  return class extends Workflow {
    static {
      this.named('undone after a deploy')
      this.step('seat', { compensate: { step: 'free', retry: { attempts: 2, backoff: () => 60_000, jitter: false } } })
      if (more) this.step('meal')
      this.step('board', { onException: 'rollback' })
    }
    async seat() {}
    async free() {
      calls.push(more ? 'newer' : 'older')
      if (broken) throw new Error('the seat is stuck')
    }
    async meal() {}
    async board() {
      throw new Error('no plane')
    }
  }
}

const Older = version(false)

forEachDatabase('a rollback when the code has changed', database => {
  const under = useGeneva(database, { workflows: [Older] })

  beforeEach(async () => {
    await under.setClock(0)
    calls.length = 0
    broken = true
  })

  async function runNewer(): Promise<void> {
    const newer = under.another({ workflows: [version(true)] })
    const store = await newer.openedStore()
    store.setClockOffset(120_000)
    await newer.runDue({ ...quickly, maxSteps: 20 })
    await newer.close()
  }

  it('is gone on with by newer code', async () => {
    const wf = await under.geneva.start(Older)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('rolling_back')
    broken = false
    await runNewer()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(['older', 'newer'])
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('leaves what was requeued after the end to newer code', async () => {
    const wf = await under.geneva.start(Older)
    await under.runDue()
    await under.setClock(70_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    await under.geneva.requeue(letter?.id ?? '')
    broken = false
    await runNewer()
    expect(calls).toEqual(['older', 'older', 'newer'])
    expect((await wf.history()).find(({ step }) => step === 'seat')?.state).toBe('rolled_back')
  })
})
