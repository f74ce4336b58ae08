/** Dead letters: work that is given up stands still at once, and goes on when somebody handles it. */
import { beforeEach, expect, it } from 'vitest'
import { PermanentError, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

const ran: string[] = []
let failing = new Set<string>()
/** What `pack` does once it does not fail. */
let steer: ((wf: Workflow) => void) | null = null
/** Both are under way when the first of them is given up: what has not begun by then is held. */
let together: (step: 'pack' | 'label') => Promise<void> = async () => {}

function meeting(): typeof together {
  const begun = { pack: gate(), label: gate() }
  return async step => {
    if (step === 'pack' && !ran.includes('pack')) return
    begun[step].open()
    await Promise.all([begun.pack.passed, begun.label.passed])
  }
}

function run(name: string): string {
  ran.push(name)
  if (failing.has(name)) throw new Error(`${name} broke`)
  return name
}

class Shipping extends Workflow {
  static {
    this.named('shipping')
    this.step('begin')
    this.task('pack', { dependsOn: 'begin', onException: 'dlq', retry: { attempts: 2, backoff: 'fixed', delay: 0 } })
    this.task('label', { dependsOn: 'begin', onException: 'dlq' })
    this.task('later', { dependsOn: 'begin', wait: '1 day' })
    this.step('ship', { dependsOn: ['pack', 'label'] })
  }
  async begin() {
    run('begin')
  }
  async pack() {
    await together('pack')
    const packed = run('pack')
    steer?.(this)
    return packed
  }
  async label() {
    await together('label')
    return run('label')
  }
  async later() {
    run('later')
  }
  async ship() {
    return run('ship')
  }
}

class Weighing extends Workflow {
  static {
    this.each('weigh', { items: () => [{ grams: 5n }], onException: 'dlq', retry: 3 })
  }
  async weigh(_: { grams: bigint }) {
    throw new PermanentError('too heavy')
  }
}

forEachDatabase('a dead letter', database => {
  const under = useGeneva(database, { workflows: [Shipping, Weighing] })

  beforeEach(async () => {
    ran.length = 0
    failing = new Set()
    steer = null
    together = async () => {}
    for (const letter of await under.geneva.deadLetters()) await under.geneva.discard(letter.id)
  })

  it('is opened when retries are used up: the workflow stands still, and the rest is held', async () => {
    failing.add('pack')
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    const [letter, ...others] = await under.geneva.deadLetters(Shipping)
    expect(others).toEqual([])
    expect(letter).toMatchObject({
      workflowId: wf.id,
      workflowType: 'shipping',
      step: 'pack',
      attempt: 2,
      reason: 'retries_exhausted',
      state: 'open',
      error: { className: 'Error', message: 'pack broke' },
    })
    const states = (await wf.nodesWithState()).map(node => [node.name, node.state])
    expect(states).toContainEqual(['pack', 'paused'])
    expect(states).toContainEqual(['later', 'paused'])
    expect((await wf.history()).find(row => row.outcome === 'dead_lettered')).toMatchObject({
      step: 'pack',
      attempt: 2,
    })
    await expect(wf.resume()).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect(wf.pause()).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('that is requeued goes on with fresh retries, with everything that was held', async () => {
    failing.add('pack')
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters()
    failing.clear()
    await under.geneva.requeue(letter?.id ?? '', { by: 'ann', reason: 'fixed' })
    expect((await wf.refresh()).state).toBe('ready')
    await under.runDue()
    await under.setClock(25 * 3_600_000)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    await under.setClock(0)
    expect(ran.filter(name => name === 'ship')).toHaveLength(1)
    expect(await wf.verifyHistory()).toBeNull()
    const [handled] = await under.geneva.deadLetters({ state: 'requeued', workflowId: wf.id })
    expect(handled).toMatchObject({ id: letter?.id, handledBy: 'ann', handledReason: 'fixed' })
    await expect(under.geneva.requeue(letter?.id ?? '')).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('that was requeued can no longer be discarded', async () => {
    failing.add('pack')
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters()
    await under.geneva.requeue(letter?.id ?? '')
    for (const then of ['skip', 'cancel'] as const) {
      await expect(under.geneva.discard(letter?.id ?? '', { then })).rejects.toMatchObject({ code: 'INVALID_STATE' })
    }
    expect((await wf.refresh()).state).toBe('ready')
  })

  it('is requeued when somebody asks for another attempt at its step', async () => {
    failing.add('pack')
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    failing.clear()
    await wf.reattempt('pack', { by: 'ann' })
    await under.runDue()
    expect(await under.geneva.deadLetters({ state: 'requeued', workflowId: wf.id })).toHaveLength(1)
    expect(ran.filter(name => name === 'ship')).toHaveLength(1)
  })

  it('keeps its workflow while another one is open', async () => {
    failing = new Set(['pack', 'label'])
    together = meeting()
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    const letters = await under.geneva.deadLetters()
    expect(letters.map(letter => letter.step).toSorted()).toEqual(['label', 'pack'])
    failing.clear()
    together = async () => {}
    const pack = letters.find(letter => letter.step === 'pack')
    await under.geneva.requeue(pack?.id ?? '')
    await under.runDue()
    const states = new Map((await wf.nodesWithState()).map(node => [node.name, node.state]))
    expect(states.get('pack')).toBe('completed')
    expect(states.get('label')).toBe('paused')
    await under.geneva.skip(wf.id, 'later')
    expect((await wf.refresh()).state).toBe('dlq')
    await under.geneva.resolve(wf.id, 'label', { output: 'by hand' })
    expect((await wf.refresh()).state).toBe('ready')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await under.geneva.deadLetters()).toEqual([])
  })

  it('that is discarded cancels its workflow, or leaves out its step', async () => {
    failing.add('label')
    const first = await under.geneva.start(Shipping)
    await under.runDue()
    const [one] = await under.geneva.deadLetters({ workflowId: first.id })
    expect(one?.reason).toBe('policy')
    await under.geneva.discard(one?.id ?? '', { by: 'ann' })
    expect((await first.refresh()).state).toBe('canceled')
    const second = await under.geneva.start(Shipping)
    await under.runDue()
    const [two] = await under.geneva.deadLetters({ workflowId: second.id })
    await under.geneva.discard(two?.id ?? '', { then: 'skip' })
    await second.skip('later')
    await under.runDue()
    expect((await second.refresh()).state).toBe('finished')
  })

  it('is closed with a workflow that is canceled', async () => {
    failing.add('pack')
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    await wf.cancel({ by: 'ann' })
    expect((await wf.refresh()).state).toBe('canceled')
    expect(await under.geneva.deadLetters()).toEqual([])
    expect(await under.geneva.deadLetters({ state: 'discarded', workflowId: wf.id })).toHaveLength(1)
  })

  it.each([
    ['finished', (wf: Workflow) => wf.finish()],
    ['canceled', (wf: Workflow) => wf.cancel('sold out')],
  ])('is closed with a workflow that a step has declared %s', async (state, declare) => {
    failing = new Set(['pack', 'label'])
    together = meeting()
    const wf = await under.geneva.start(Shipping)
    await under.runDue()
    const pack = (await under.geneva.deadLetters()).find(letter => letter.step === 'pack')
    failing.clear()
    together = async () => {}
    steer = declare
    await under.geneva.requeue(pack?.id ?? '')
    await under.runDue()
    expect((await wf.refresh()).state).toBe(state)
    expect(await under.geneva.deadLetters()).toEqual([])
    const [closed] = await under.geneva.deadLetters({ state: 'discarded', workflowId: wf.id })
    expect(closed).toMatchObject({ step: 'label', handledReason: 'the workflow has ended' })
    expect((await wf.events()).filter(({ type }) => type === 'letter.discarded')).toHaveLength(1)
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('of a step that is given up at its first failure has the reason policy, also where retries were declared', async () => {
    const wf = await under.geneva.start(Weighing)
    await under.runDue()
    expect(await under.geneva.deadLetters({ workflowId: wf.id })).toMatchObject([{ attempt: 1, reason: 'policy' }])
  })

  it('that is asked for by its id tells what its execution worked on', async () => {
    const wf = await under.geneva.start(Weighing)
    await under.runDue()
    const [listed] = await under.geneva.deadLetters({ workflowId: wf.id })
    const letter = await under.geneva.deadLetter(listed?.id ?? '')
    expect(letter).toEqual({ ...listed, input: { grams: 5n } })
    await under.geneva.requeue(letter.id, { input: { grams: 7n } })
    await under.runDue()
    const [again] = await under.geneva.deadLetters({ workflowId: wf.id })
    expect((await under.geneva.deadLetter(again?.id ?? '')).input).toEqual({ grams: 7n })
    failing.add('label')
    const plain = await under.geneva.start(Shipping)
    await under.runDue()
    const [step] = await under.geneva.deadLetters({ workflowId: plain.id })
    expect((await under.geneva.deadLetter(step?.id ?? '')).input).toBeUndefined()
  })

  it('that does not exist is refused', async () => {
    await expect(under.geneva.requeue('999999999')).rejects.toMatchObject({ code: 'LETTER_NOT_FOUND' })
    await expect(under.geneva.discard('nonsense')).rejects.toMatchObject({ code: 'LETTER_NOT_FOUND' })
  })
})
