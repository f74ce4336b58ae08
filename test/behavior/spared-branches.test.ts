/** Branches that have failed and that a join can do without: nobody is told to settle them, and whoever wants to may, as long as the join is open. */
import { beforeEach, expect, it } from 'vitest'
import { type Decision, type Execution, type Signal, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const broken = new Set<string>()

function work(step: string): void {
  if (broken.has(step)) throw new Error(`${step} is broken`)
}

/** One courier is enough. */
class Delivery extends Workflow {
  static {
    this.parallel('couriers', b => [b.step('askDhl'), b.step('askUps')], { join: 'any' })
    this.step('book')
    this.human('sign')
  }
  async askDhl() {
    work('askDhl')
  }
  async askUps() {
    work('askUps')
  }
  async book() {
    work('book')
  }
  async sign(_decision: Decision) {}
}

/** Each branch may fail, and what follows waits for all to end. */
class Survey extends Workflow {
  static {
    this.fork(
      'ask',
      {
        mail: b => {
          b.step('write')
          b.step('send')
        },
        letters: b => b.each('print', { items: () => [1, 2] }),
        people: b => b.waitFor('call'),
      },
      { join: 'settled' },
    )
    this.waitFor('counted')
  }
  async write() {
    work('write')
    return 'written'
  }
  async send() {}
  async print(item: number) {
    work(`print ${item}`)
  }
  async call(_signal: Signal) {}
  async counted(_signal: Signal) {}
}

/** What a condition has left out waits for the step that fails, too. */
class Invoice extends Workflow {
  static {
    this.task('fetch')
    this.condition('isLarge', { then: yes => yes.step('review', { alsoDependsOn: 'fetch' }) })
  }
  async fetch() {
    work('fetch')
  }
  isLarge() {
    return false
  }
  async review() {}
}

forEachDatabase('a failed branch that a join can do without', database => {
  const under = useGeneva(database, { workflows: [Delivery, Survey, Invoice] })

  beforeEach(async () => {
    await under.geneva.all({}).abort()
    broken.clear()
  })

  async function delivery(...failing: string[]): Promise<WorkflowHandle<any>> {
    for (const step of failing) broken.add(step)
    return begun(Delivery)
  }

  async function begun(workflow: new () => Workflow<null, any>): Promise<WorkflowHandle<any>> {
    const wf: WorkflowHandle<any> = await under.geneva.start(workflow)
    await under.runDue()
    broken.clear()
    return wf.refresh()
  }

  async function expectFinished(wf: WorkflowHandle<any>): Promise<void> {
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  }

  async function last(wf: WorkflowHandle<any>, step: string): Promise<Execution | undefined> {
    return (await wf.history()).findLast(execution => execution.step === step)
  }

  it('is not what explain names when a later step has failed', async () => {
    const wf = await delivery('askDhl', 'book')
    const { sentence, nodes, decision } = await wf.explain()
    expect(sentence).toMatch(
      /^It was paused at .* UTC, because step book has failed at attempt 1: Error: book is broken\.$/,
    )
    expect(nodes.find(({ id }) => id === 'askDhl')).toMatchObject({ state: 'failed', reasons: [{ kind: 'left_out' }] })
    expect(decision).toBe('blocked_by_failures')
  })

  it('does not block a workflow that waits for a person', async () => {
    const wf = await delivery('askDhl')
    expect(wf.state).toBe('ready')
    const { sentence, decision } = await wf.explain()
    expect(decision).toBe('waiting_for_dependencies')
    expect(sentence).toBe('Step sign waits for a person to decide.')
  })

  it.each(['reattempt', 'skip', 'resolve'] as const)(
    'is not in the way of a request to %s what has failed',
    async verb => {
      const wf = await delivery('askDhl', 'book')
      expect(await under.geneva.all({ state: 'paused' })[verb]()).toEqual({ found: 1, changed: 1, refused: [] })
      await under.runDue()
      expect((await wf.explain()).sentence).toBe('Step sign waits for a person to decide.')
      expect(await last(wf, 'askDhl')).toMatchObject({ attempt: 1, state: 'failed' })
      expect(await last(wf, 'book')).toMatchObject({ attempt: 2 })
    },
  )

  it('is tried again with the others that had failed when the join was lost', async () => {
    const wf = await delivery('askDhl', 'askUps')
    expect(wf.state).toBe('paused')
    expect(await under.geneva.all({ state: 'paused' }).reattempt()).toEqual({ found: 1, changed: 1, refused: [] })
    const rows = await wf.currentExecutions()
    expect(rows.map(({ step, attempt }) => `${step} ${attempt}`).toSorted()).toEqual(['askDhl 2', 'askUps 2'])
  })

  it('is left alone once another that was resolved lets the join go on', async () => {
    const wf = await delivery('askDhl', 'askUps')
    expect(await under.geneva.all({ state: 'paused' }).resolve()).toEqual({ found: 1, changed: 1, refused: [] })
    await under.runDue()
    expect((await wf.explain()).sentence).toBe('Step sign waits for a person to decide.')
    expect(await last(wf, 'askDhl')).toMatchObject({ outcome: 'resolved' })
    expect(await last(wf, 'askUps')).toMatchObject({ attempt: 1, state: 'failed' })
  })

  it.each(['reattempt', 'skip', 'resolve'] as const)('can be dealt with while its join waits: %s', async verb => {
    broken.add('write')
    const wf = await begun(Survey)
    expect(wf.state).toBe('ready')
    expect(await last(wf, 'write')).toMatchObject({ state: 'failed' })
    await wf[verb]('write', { by: 'ann' })
    await under.runDue()
    expect(await last(wf, 'write')).toMatchObject({ attempt: 2, state: verb === 'skip' ? 'skipped' : 'completed' })
    expect(await last(wf, 'send')).toMatchObject({ state: 'completed' })
    await wf.signal('call')
    await wf.signal('counted')
    await expectFinished(wf)
    expect(wf.partial).toBe(false)
  })

  it('can be dealt with though it is an item, while its node and the join wait', async () => {
    broken.add('print 2')
    const wf = await begun(Survey)
    await wf.reattempt('print/1')
    await under.runDue()
    expect(await last(wf, 'print')).toMatchObject({ state: 'completed' })
    await wf.signal('call')
    await wf.signal('counted')
    await expectFinished(wf)
    expect(wf.partial).toBe(false)
  })

  it('can be dealt with no more once the join is decided', async () => {
    broken.add('write')
    const wf = await begun(Survey)
    await wf.signal('call')
    await under.runDue()
    await expect(wf.reattempt('write')).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(wf.skip('write')).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await wf.signal('counted')
    await expectFinished(wf)
    expect(wf.partial).toBe(true)
  })

  it('can be reattempted where a condition has left out what comes after it', async () => {
    broken.add('fetch')
    const wf = await begun(Invoice)
    expect(wf.state).toBe('paused')
    expect(await last(wf, 'review')).toMatchObject({ outcome: 'not_taken' })
    await wf.reattempt('fetch')
    await expectFinished(wf)
    expect(await last(wf, 'review')).toMatchObject({ attempt: 1, outcome: 'not_taken' })
  })
})
