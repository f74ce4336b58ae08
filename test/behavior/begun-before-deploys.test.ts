/**
 * Deploys that put a step before something that has begun, though nobody runs it right now: an answer has come that nobody has
 * looked at, or a resumable step stands between two items. The new step comes too late, and what was said or done is kept.
 */
import { expect, it } from 'vitest'
import {
  type AnyWorkflow,
  type Child,
  type ConcreteClass,
  type Decision,
  type Geneva,
  type Iteration,
  type Signal,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { deployOver } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

type Version = ConcreteClass<AnyWorkflow>
type Kind = 'human' | 'signal' | 'child' | 'resumable'
let types = 0
let done: string[] = []

class Parcel extends Workflow {
  static {
    this.human('handOver')
  }
  handOver(_: Decision) {}
}

/** The next version has a step before the one that is under way. `stops`: where the resumable step waits for an hour. */
function orders(kind: Kind, { stops = 'mail3' }: { stops?: 'mail1' | 'mail3' } = {}) {
  const name = `Order ${++types}`
  const version = (deployed: boolean) =>
    class Order extends Workflow {
      static {
        this.named(name)
        this.step('enter')
        if (deployed) this.step('check')
        if (kind === 'human') this.human('approve')
        if (kind === 'signal') this.waitFor('paid')
        if (kind === 'child') this.child('parcel', { workflow: Parcel, start: () => ({}) })
        if (kind === 'resumable') this.resumableStep('mail')
        this.step('end')
      }
      enter() {}
      check() {
        done.push('check')
      }
      approve({ by }: Decision) {
        done.push(`approved by ${by}`)
      }
      paid({ payload }: Signal) {
        done.push(`paid ${payload}`)
      }
      parcel(_: Child<Parcel>) {
        done.push('delivered')
      }
      async mail(iter: Iteration<number>) {
        if (iter.resumed) done.push('resumed')
        for await (const letter of iter.over(['mail1', 'mail2', 'mail3'])) {
          if (letter === stops && !iter.resumed) await iter.suspend({ wait: '1 hour' })
          done.push(letter)
        }
      }
      end() {}
    }
  return { V1: version(false) as Version, V2: version(true) as Version, also: [Parcel] }
}

type Answer = (wf: WorkflowHandle<any>, parcel: WorkflowHandle<any> | undefined) => unknown

const yes = { by: 'ann', decision: 'confirmed' } as const
const answers: [Kind, string, Answer][] = [
  ['human', 'approved by ann', wf => wf.decide('approve', yes)],
  ['signal', 'paid 12', wf => wf.signal('paid', 12)],
  ['child', 'delivered', (_, parcel) => parcel?.decide('handOver', yes)],
]

forEachDatabase('a deploy that puts a step before one that has begun', database => {
  const under = useGeneva(database, { workflows: [] })

  async function expectKept(wf: WorkflowHandle<any>, fresh: Geneva, expected: readonly string[]): Promise<void> {
    await fresh.runDue(quickly)
    expect(done).toEqual(expected)
    expect((await wf.refresh()).state).toBe('finished')
    const late = (await wf.history()).find(({ step }) => step === 'check')
    expect(late).toMatchObject({ state: 'skipped', outcome: 'not_taken' })
    expect((await wf.events()).map(({ type }) => type)).not.toContain('step.withdrawn')
    expect(await wf.verifyHistory()).toBeNull()
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  for (const held of [false, true]) {
    it.each(answers)(`keeps the answer to a ${held ? 'held ' : ''}%s node`, async (kind, expected, answer) => {
      done = []
      const { wf, fresh } = await deployOver(under, orders(kind), async (old, id) => {
        await old.runDue(quickly)
        const before = (await old.find(id)) as WorkflowHandle<any>
        if (held) await before.pause()
        const parcels = (await old.list(Parcel)).items
        await answer(
          before,
          parcels.find(({ parentId }) => parentId === id),
        )
      })
      if (held) await fresh.runDue(quickly)
      if (held) await wf.resume()
      await expectKept(wf, fresh, [expected])
    })
  }

  it.each([
    ['mail3', ['mail1', 'mail2', 'resumed', 'mail3']],
    ['mail1', ['resumed', 'mail1', 'mail2', 'mail3']],
  ] as const)('goes on with a resumable step that has stopped at %s', async (stops, expected) => {
    done = []
    const { wf, fresh } = await deployOver(under, orders('resumable', { stops }))
    expect((await wf.currentExecutions()).map(({ state }) => state)).toEqual(['suspended'])
    ;(await fresh.openedStore()).setClockOffset(3_700_000)
    await expectKept(wf, fresh, expected)
  })
})
