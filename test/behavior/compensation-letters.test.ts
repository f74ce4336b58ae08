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

class Parcel extends Workflow {
  static {
    this.step('weigh', { onException: 'dlq' })
  }
  async weigh() {
    throw new Error('too heavy')
  }
}

forEachDatabase('a dead letter of a compensation', database => {
  const under = useGeneva(database, { workflows: [Booking, Parcel] })

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
})
