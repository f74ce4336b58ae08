/**
 * Rollbacks and deploys: newer code goes on with those that are under way, and what was done by code that the class has lost
 * since is undone all the same, or left to a person.
 */
import { beforeEach, expect, it } from 'vitest'
import { type AnyWorkflow, type Compensation, type ConcreteClass, type Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { type Deployed, deployOver } from '../support/deploy-over.ts'
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

type Version = ConcreteClass<AnyWorkflow>

const undone: string[] = []
let types = 0
let failing = false

/** What the newer code is like: it has lost `charge`, and perhaps more. */
interface Loss {
  /** Another step that can be undone stays. */
  readonly pack?: boolean
  /** What undid it stays: so that it can be called, or as something else. */
  readonly refund?: 'method' | 'step' | 'transactional'
}

/** A payment and two steps behind it, an hour apart. The newer code does not have the payment any more. */
function payments({ pack = false, refund }: Loss = {}): { V1: Version; V2: Version } {
  const name = `Payment ${++types}`
  const note = ({ node, output }: Compensation<string>) => void undone.push(`${node} ${output}`)
  const both = (undo: Compensation<string>, transaction: unknown) => note(undo) ?? transaction
  class V1 extends Workflow {
    static {
      this.named(name)
      if (pack) this.step('pack', { compensate: 'unpack' })
      this.step('charge', { compensate: 'refund' })
      this.step('ship', { wait: '1 hour' })
      this.step('mail', { wait: '1 hour', onException: 'rollback' })
    }
    async pack() {}
    async unpack(undo: Compensation<any>) {
      note(undo)
    }
    async charge() {
      return 'ch_1'
    }
    async refund(_: Compensation<string>) {
      undone.push('by old code')
    }
    async ship() {}
    async mail() {}
  }
  class V2 extends Workflow {
    static {
      this.named(name)
      if (refund !== undefined) Object.assign(this.prototype, { refund: refund === 'transactional' ? both : note })
      if (pack) this.step('pack', { compensate: 'unpack' })
      this.step('ship', { wait: '1 hour' })
      this.step('mail', { wait: '1 hour', onException: 'rollback' })
      if (refund === 'step') this.step('refund' as never)
    }
    async pack() {}
    async unpack(undo: Compensation<any>) {
      note(undo)
    }
    async ship() {}
    async mail() {
      if (failing) throw new Error('no address')
    }
  }
  return { V1: V1 as Version, V2: V2 as Version }
}

/** A step that has become one for each of several items, or the other way round. */
function bookings(newer: 'step' | 'each', items = 1): { V1: Version; V2: Version } {
  const name = `Booking ${++types}`
  const version = (kind: 'step' | 'each') =>
    class extends Workflow {
      static {
        this.named(name)
        if (kind === 'step') this.step('book', { compensate: 'unbook' })
        else this.each('book' as never, { items: () => Array(items).fill('room') as never, compensate: 'unbook' })
        this.step('ship', { wait: '1 hour' })
        this.step('mail', { wait: '1 hour' })
      }
      async book() {}
      async unbook({ node }: Compensation<any>) {
        undone.push(node)
      }
      async ship() {}
      async mail() {}
    } as unknown as Version
  return { V1: version(newer === 'step' ? 'each' : 'step'), V2: version(newer) }
}

forEachDatabase('what code has done that a deploy took away', database => {
  const under = useGeneva(database, { workflows: [] })
  beforeEach(() => {
    undone.length = 0
    failing = false
  })

  const later = async (geneva: Geneva, hours: number) =>
    (await geneva.openedStore()).setClockOffset(hours * 3_600_000 + 60_000)

  /** The newer code has run one step, so that the workflow goes by it. */
  async function healed(versions: { V1: Version; V2: Version }): Promise<Deployed> {
    const { wf, fresh } = await deployOver(under, versions)
    await later(fresh, 1)
    await fresh.runDue(quickly)
    expect((await wf.events()).some(event => event.type === 'workflow.healed')).toBe(true)
    expect((await wf.history()).map(({ step }) => step)).toContain('ship')
    return { wf, fresh }
  }

  const letters = async ({ wf, fresh }: Deployed) =>
    (await fresh.deadLetters({ workflowId: wf.id })).map(({ step, kind, error }) => [step, kind, error?.className])
  const stateOf = async ({ wf }: Deployed, step: string) => (await wf.history()).find(row => row.step === step)?.state
  const cancel = async ({ wf, fresh }: Deployed) => {
    await wf.cancel()
    await fresh.runDue(quickly)
    await wf.refresh()
  }

  it.each([
    ['and something else can still be undone', { pack: true }],
    ['and nothing of it can be undone any more', {}],
    ['and what undid it is a step by now', { refund: 'step' }],
    ['and what undid it expects a transaction that nobody opens for it', { refund: 'transactional' }],
  ] as const)('leaves a letter when the workflow is canceled, %s', async (_, loss) => {
    const deployed = await healed(payments(loss))
    const { wf, fresh } = deployed
    expect((await wf.previewRollback()).find(({ step }) => step === 'charge')).toMatchObject({ compensation: 'refund' })
    await cancel(deployed)
    expect(wf.state).toBe('failed')
    expect(await letters(deployed)).toEqual([['charge', 'compensate', 'StepMissingError']])
    expect(await stateOf(deployed, 'charge')).toBe('failed')
    expect(await stateOf(deployed, 'ship')).toBe('rolled_back')
    expect(undone).toEqual('pack' in loss ? ['pack undefined'] : [])
    expect((await fresh.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('leaves a letter when a step fails and rolls the workflow back', async () => {
    const deployed = await healed(payments())
    failing = true
    await later(deployed.fresh, 2)
    await deployed.fresh.runDue(quickly)
    expect((await deployed.wf.refresh()).state).toBe('failed')
    expect(await letters(deployed)).toEqual([['charge', 'compensate', 'StepMissingError']])
  })

  it('is undone by the method, where the class still has it', async () => {
    const deployed = await healed(payments({ refund: 'method' }))
    await cancel(deployed)
    expect(deployed.wf.state).toBe('canceled')
    expect(undone).toEqual(['charge ch_1'])
    expect(await letters(deployed)).toEqual([])
    expect(await stateOf(deployed, 'charge')).toBe('rolled_back')
  })

  it('leaves a letter for a step that is run over items now', async () => {
    const deployed = await healed(bookings('each'))
    await cancel(deployed)
    expect(await letters(deployed)).toEqual([['book', 'compensate', 'StepMissingError']])
    expect(undone).toEqual([])
  })

  it('leaves a letter for every item of what is one step now, and none for the whole', async () => {
    const deployed = await healed(bookings('step', 2))
    await cancel(deployed)
    expect((await letters(deployed)).toSorted()).toEqual([
      ['book/0', 'compensate', 'StepMissingError'],
      ['book/1', 'compensate', 'StepMissingError'],
    ])
    expect(undone).toEqual([])
  })

  it.each([0, 2])('does not take %i items of the new code for the step that was there before', async items => {
    const versions = bookings('each', items)
    await deployOver(under, versions)
    const fresh = under.another({ workflows: [versions.V2] })
    const wf = await fresh.start(versions.V2 as ConcreteClass<Workflow>)
    await fresh.runDue(quickly)
    await cancel({ wf, fresh })
    expect(wf.state).toBe('canceled')
    expect(undone).toHaveLength(items)
    await fresh.close()
  })

  it('leaves a workflow alone that the new code has started, and that has nothing to undo', async () => {
    const versions = payments()
    await deployOver(under, versions)
    const fresh = under.another({ workflows: [versions.V2] })
    const wf = await fresh.start(versions.V2 as ConcreteClass<Workflow>)
    await later(fresh, 1)
    await fresh.runDue(quickly)
    await cancel({ wf, fresh })
    expect(wf.state).toBe('canceled')
    expect(await stateOf({ wf, fresh }, 'ship')).toBe('completed')
    await fresh.close()
  })
})
