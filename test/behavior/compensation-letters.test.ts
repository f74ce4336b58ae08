/** Dead letters of compensations: told from those of steps, found after the end, and asked nothing that they cannot do. */
import { beforeEach, expect, it } from 'vitest'
import { type GenevaEvent, InvalidArgumentError, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const day = 86_400_000
let broken = true
const seen: unknown[] = []

class Booking extends Workflow {
  static {
    this.step('seat', { compensate: { step: 'free', retry: 1 } })
    this.step('meal', { compensate: { step: 'cancelMeal', retry: 1 } })
    this.step('board', { onException: 'rollback' })
  }
  async seat() {
    return 'seat'
  }
  async free() {
    seen.push(this.execution.input)
    if (broken) throw new Error('the seat is stuck')
  }
  async meal() {
    return 'meal'
  }
  async cancelMeal() {
    if (broken) throw new Error('the meal is cooked')
  }
  async board() {
    throw new Error('no plane')
  }
}

/** What undoes its meal is given up at once, what undoes its seat is tried again for long. */
class Cruise extends Workflow {
  static {
    this.step('seat', { compensate: { step: 'free', retry: { attempts: 9, backoff: 'fixed', delay: '1 hour' } } })
    this.step('meal', { compensate: { step: 'cancelMeal', retry: 1 } })
    this.step('board', { onException: 'rollback' })
  }
  async seat() {}
  async free() {
    if (broken) throw new Error('the seat is stuck')
  }
  async meal() {}
  async cancelMeal() {
    if (broken) throw new Error('the meal is cooked')
  }
  async board() {
    throw new Error('no ship')
  }
}

class Parcel extends Workflow {
  static {
    this.step('weigh', { onException: 'dlq' })
  }
  async weigh() {
    throw new Error('too heavy')
  }
}

forEachDatabase('a dead letter of a compensation', database => {
  const under = useGeneva(database, { workflows: [Booking, Cruise, Parcel] })

  beforeEach(() => {
    broken = true
    seen.length = 0
  })

  async function failed() {
    const wf = await under.geneva.start(Booking)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    const letters = await under.geneva.deadLetters({ workflowId: wf.id })
    const letter = letters.find(({ step }) => step === 'seat')
    if (letter === undefined) throw new Error('The compensation of seat was not given up.')
    return { wf, letter, letters }
  }

  it('is told from that of a step by its kind', async () => {
    const { letters } = await failed()
    expect(letters.map(({ step, kind }) => [step, kind])).toEqual([
      ['seat', 'compensate'],
      ['meal', 'compensate'],
    ])
    const parcel = await under.geneva.start(Parcel)
    await under.runDue()
    expect(await under.geneva.deadLetters({ workflowId: parcel.id })).toMatchObject([{ kind: 'forward' }])
  })

  it('is told by an event of the step with the error of the compensation', async () => {
    const { wf } = await failed()
    const events: GenevaEvent[] = []
    const asked = { workflow: wf.id, types: ['step.failed'] as const, follow: false }
    for await (const event of under.geneva.events(asked)) events.push(event)
    expect(events.slice(1)).toMatchObject([
      {
        step: 'meal',
        from: 'compensating',
        outcome: 'compensation_failed',
        error: { className: 'Error', message: 'the meal is cooked' },
      },
      { step: 'seat', outcome: 'compensation_failed', error: { message: 'the seat is stuck' } },
    ])
    expect((await under.geneva.doctor()).findings).toEqual([])
  })

  it('cannot be requeued with an input, and stays as it is', async () => {
    const { letter } = await failed()
    expect(await under.geneva.views.takesInput(letter.id)).toBe(false)
    const asked = under.geneva.requeue(letter.id, { input: { seat: 2 } })
    await expect(asked).rejects.toThrow(InvalidArgumentError)
    await expect(asked).rejects.toThrow(/undoes what step seat of workflow \S+ has done, so it has no input/)
    expect(await under.geneva.deadLetter(letter.id)).toMatchObject({ state: 'open' })
    broken = false
    await under.geneva.requeue(letter.id)
    await under.runDue()
    expect(seen).toEqual([undefined, undefined])
  })

  it('shows no input', async () => {
    const { letter } = await failed()
    expect(await under.geneva.views.inputOf(letter.executionId)).toBeNull()
  })

  it('is named when its workflow is explained, also after the end', async () => {
    const { wf, letter, letters } = await failed()
    const { sentence } = await wf.explain()
    expect(sentence).toMatch(/^It failed at .*: no plane; what undoes step meal was given up at attempt 1, because /)
    expect(sentence).toContain('Error: the meal is cooked, and 1 more like it; requeue or discard letter ')
    for (const { id } of letters) await under.geneva.discard(id)
    expect((await wf.explain()).sentence).not.toContain(letter.id)
  })

  it('is found by a filter without a state, and all of them are requeued or discarded', async () => {
    await under.geneva.all({ letter: 'compensation_exhausted' }).discard()
    const [first, second] = [await failed(), await failed()]
    const all = under.geneva.all({ letter: 'compensation_exhausted' })
    expect(await all.count()).toBe(2)
    expect(await under.geneva.all({ letter: 'compensation_exhausted', state: 'active' }).count()).toBe(0)
    expect(await under.geneva.all({ letter: 'compensation_exhausted', where: { type: 'Booking' } }).count()).toBe(2)
    expect(await under.geneva.all({ letter: 'compensation_exhausted', where: { type: 'Parcel' } }).count()).toBe(0)
    expect(await all.discard({ limit: 1, by: 'ann' })).toMatchObject({ found: 1, changed: 1 })
    expect(await under.geneva.deadLetters({ workflowId: second.wf.id })).toEqual([])
    broken = false
    expect(await all.requeue({ by: 'ann' })).toMatchObject({ found: 1, changed: 1 })
    await under.runDue()
    const rows = await first.wf.history()
    expect(rows.filter(({ step }) => step !== 'board').map(({ state }) => state)).toEqual([
      'rolled_back',
      'rolled_back',
    ])
    expect(await all.count()).toBe(0)
  })

  it('is opened again for one that was requeued when the code has lost what undoes the step', async () => {
    const { wf, letter, letters } = await failed()
    await under.geneva.requeue(letter.id)
    const other = letters.find(({ step }) => step === 'meal')
    await under.geneva.requeue(other?.id ?? '')
    broken = false
    class Later extends Workflow {
      static {
        this.named('Booking')
        this.step('seat', { compensate: { step: 'free', retry: 1 } })
        this.step('meal')
        this.step('board', { onException: 'rollback' })
      }
      async seat() {}
      async free() {}
      async meal() {}
      async board() {}
    }
    const later = under.another({ workflows: [Later] })
    await later.runDue({ poll: 5, grace: 0 })
    const open = await later.deadLetters({ workflowId: wf.id })
    expect(open).toMatchObject([{ kind: 'compensate', step: 'meal', error: { className: 'StepMissingError' } }])
    const states = (await wf.history()).map(({ step, state }) => `${step} ${state}`)
    expect(states).toContain('seat rolled_back')
    expect(states).not.toContain('meal compensating')
    // With the code that knows how, it is undone after all.
    await under.geneva.requeue(open[0]?.id ?? '')
    await under.runDue()
    expect(await under.geneva.deadLetters({ workflowId: wf.id })).toEqual([])
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('that was requeued long after the end keeps its workflow until what undoes the step has run', async () => {
    const { wf, letters } = await failed()
    await under.setClock(40 * day)
    await under.geneva.prune({ olderThan: '30 days' })
    for (const { id } of letters) await under.geneva.requeue(id, { by: 'ann' })
    expect(await under.geneva.prune({ olderThan: '30 days', dryRun: true })).toMatchObject({ workflows: 0 })
    expect(await under.geneva.prune({ olderThan: '30 days' })).toMatchObject({ workflows: 0 })
    broken = false
    await under.runDue()
    const states = (await wf.history()).map(({ step, state }) => `${step} ${state}`)
    expect(states).toEqual(['seat rolled_back', 'meal rolled_back', 'board rolled_back'])
    expect((await under.geneva.prune({ olderThan: '30 days' })).workflows).toBeGreaterThan(0)
    expect(await under.geneva.find(wf.id)).toBeNull()
    await under.setClock(0)
  })

  async function rollingBack() {
    const wf = await under.geneva.start(Cruise)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('rolling_back')
    const [letter, ...others] = await under.geneva.deadLetters({ workflowId: wf.id })
    if (letter === undefined) throw new Error('The compensation of meal was not given up.')
    expect(others).toEqual([])
    return { wf, letter }
  }

  async function undoneAfterAll(workflowId: string, seat = 'failed') {
    const open = await under.geneva.deadLetters({ workflowId })
    expect(open).toMatchObject([
      { step: 'meal', kind: 'compensate', reason: 'compensation_exhausted', error: { message: 'the meal is cooked' } },
    ])
    broken = false
    await under.geneva.requeue(open[0]?.id ?? '')
    await under.runDue()
    const wf = await under.geneva.find(workflowId)
    const states = (await wf?.history())?.map(row => `${row.step} ${row.state}`)
    expect(states).toEqual([`seat ${seat}`, 'meal rolled_back', 'board rolled_back'])
    expect(wf?.state).toBe('aborted')
    expect(await under.geneva.deadLetters({ workflowId })).toEqual([])
    expect((await under.geneva.doctor({ workflow: workflowId })).findings).toEqual([])
  }

  it('stays open when its workflow is aborted during the rollback, and can be requeued', async () => {
    const { wf, letter } = await rollingBack()
    await wf.abort({ by: 'ann' })
    expect(await under.geneva.deadLetter(letter.id)).toMatchObject({ state: 'open' })
    await undoneAfterAll(wf.id)
  })

  it('that was requeued is open again when its workflow is aborted before its turn has come', async () => {
    const { wf, letter } = await rollingBack()
    await under.geneva.requeue(letter.id)
    expect((await wf.history()).map(({ state }) => state)).toContain('compensating')
    await wf.abort({ by: 'ann' })
    expect((await wf.history()).map(({ state }) => state)).not.toContain('compensating')
    await undoneAfterAll(wf.id)
  })

  it('that was requeued is open again when its workflow is aborted while it is tried once more', async () => {
    const { wf, letter } = await rollingBack()
    await under.geneva.requeue(letter.id)
    await under.setClock(7_200_000)
    broken = false
    await under.runDue({ maxSteps: 1, workflowId: wf.id })
    await under.setClock(0)
    const states = (await wf.history()).map(({ state }) => state)
    expect(states.slice(0, 2)).toEqual(['rolled_back', 'compensating'])
    await wf.abort({ by: 'ann' })
    await undoneAfterAll(wf.id, 'rolled_back')
  })
})
