/** A step that a deploy has renamed: what was scheduled under the former name runs as the step that it is now. */
import { beforeEach, expect, it } from 'vitest'
import { type Iteration, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { deployOver } from '../support/deploy-over.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const ran: string[] = []

/** As the first deploy has it. The classes differ only in their names of steps. */
class Before extends Workflow {
  static {
    this.named('Import')
    this.allowMultiple()
    this.step('check', { if: () => false })
    this.resumableStep('load')
    this.each('send', { items: () => ['x', 'y'] })
  }
  check() {
    ran.push('check')
  }
  async load(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2])) ran.push(`load ${item}`)
  }
  async send(item: string) {
    ran.push(`send ${item}`)
  }
}

class After extends Workflow {
  static {
    this.named('Import')
    this.allowMultiple()
    this.step('verify', { if: () => false })
    this.resumableStep('read')
    this.each('mail', { items: () => ['x', 'y'] })
    this.renamed({ check: 'verify', load: 'read', send: 'mail' })
  }
  verify() {
    ran.push('verify')
  }
  async read(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2])) ran.push(`read ${item}`)
  }
  async mail(item: string) {
    ran.push(`mail ${item}`)
  }
}

/** A signal that comes early is kept under the name that the step has then. */
class Dispatch extends Workflow {
  static {
    this.named('Dispatch')
    this.step('send')
    this.waitFor('delivered')
  }
  send() {}
  delivered({ payload }: Signal<string>) {
    return payload
  }
}

class Shipping extends Workflow {
  static {
    this.named('Dispatch')
    this.step('send')
    this.waitFor('arrived')
    this.renamed({ delivered: 'arrived' })
  }
  send() {}
  arrived({ payload }: Signal<string>) {
    return payload
  }
}

forEachDatabase('a step that was renamed', database => {
  const under = useGeneva(database, { workflows: [Before] })
  beforeEach(() => {
    ran.length = 0
  })

  const deploy = () => under.another({ workflows: [After] })

  it.each([
    [0, ['read 1', 'read 2', 'mail x', 'mail y'], ['verify', 'read', 'mail', 'mail/0', 'mail/1']],
    [1, ['read 1', 'read 2', 'mail x', 'mail y'], ['check', 'read', 'mail', 'mail/0', 'mail/1']],
    [2, ['load 1', 'load 2', 'mail x', 'mail y'], ['check', 'load', 'mail', 'mail/0', 'mail/1']],
    [4, ['load 1', 'load 2', 'send x', 'mail y'], ['check', 'load', 'mail', 'send/0', 'mail/1']],
  ])('after %i steps goes on as what it is now: a condition, an iteration, items', async (steps, expected, names) => {
    const wf = await under.geneva.start(Before)
    if (steps > 0) await under.runDue({ maxSteps: steps, concurrency: 1 })
    await deploy().runDue({ ...quickly, concurrency: 1 })
    expect((await wf.refresh()).state).toBe('finished')
    expect(ran).toEqual(expected)
    expect((await wf.history()).map(execution => execution.step).toSorted()).toEqual(names.toSorted())
    const outcomes = (await wf.history()).map(execution => execution.outcome)
    expect(outcomes.filter(outcome => outcome === 'skipped_by_condition')).toHaveLength(1)
  })

  const signaled = () =>
    deployOver(under, { V1: Dispatch, V2: Shipping }, (old, id) =>
      old.signal(id, 'delivered', 'to Bob', { key: 'scan-1' }),
    )

  it('finds the signal that came before it was reached, and before it was renamed', async () => {
    const { wf, fresh } = await signaled()
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('arrived')).toBe('to Bob')
  })

  it('knows a signal that is sent again under either name', async () => {
    const { wf, fresh } = await signaled()
    await wf.signal('arrived', 'to Bob', { key: 'scan-1' })
    await fresh.signal(wf.id, 'delivered', 'to Bob', { key: 'scan-1' })
    await fresh.runDue(quickly)
    expect((await wf.refresh()).state).toBe('finished')
    expect((await wf.events()).filter(event => event.type === 'signal.received')).toHaveLength(1)
  })
})
