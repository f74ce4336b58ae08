/**
 * What an execution works on is what somebody gave it, and nothing else: what the engine notes in its row for itself is never
 * seen by code, is never taken for a value, and is never lost when somebody gives another.
 */
import { beforeEach, expect, it } from 'vitest'
import { type Child, type Compensation, type Decision, defineJob, type Signal, Workflow } from '../../src/index.ts'
import { type DatabaseName, forEachDatabaseSideBySide } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate } from '../support/wait-for.ts'

/** What happens on one database, beside the others: what was seen, and what becomes of it. */
class Scene {
  readonly seen: unknown[] = []
  begun = gate()
  over = gate()
  hangs = true
  fails = true
  asked: 'throws' | { happened: boolean } = { happened: false }

  /** From here on the next call hangs, and throws. */
  prepare(): void {
    this.seen.length = 0
    this.begun = gate()
    this.over = gate()
    this.hangs = true
    this.fails = true
    this.asked = { happened: false }
  }

  async call(...what: unknown[]): Promise<unknown> {
    this.seen.push(what)
    this.begun.open()
    if (this.hangs) await this.over.passed
    return what[1]
  }

  ask(): { happened: boolean } {
    this.seen.push(['find'])
    if (this.asked === 'throws') throw new Error('nobody answers')
    return this.asked
  }

  failIfToldTo(): void {
    if (this.fails) throw new Error('not now')
  }
}

interface Place {
  readonly on: DatabaseName
}

const scenes: Readonly<Record<DatabaseName, Scene>> = { sqlite: new Scene(), postgres: new Scene(), mysql: new Scene() }
const sceneOf = ({ input }: { readonly input: Place }) => scenes[input.on]

const charge = defineJob('charge', async (args: Place & { amount: number }, job) =>
  scenes[args.on].call('charge', args, job.execution.input),
)
const find = defineJob('find', async ({ on, amount }: Place & { amount: number }) => {
  scenes[on].seen.push(amount)
  return scenes[on].ask()
})
const refund = defineJob('refund', async (args: Place & { amount: number }) => {
  scenes[args.on].seen.push(['refund', args.amount])
})
const breaks = defineJob('breaks', { onException: 'rollback' }, async () => {
  throw new Error('broken')
})

class JobInClass extends Workflow<null, Place> {
  static {
    this.named('job-in-class')
    this.job('pay', {
      job: charge,
      args: wf => ({ on: wf.input.on, amount: 100 }),
      idempotent: false,
      reconcile: 'find',
      onException: 'dlq',
    })
  }
  async find() {
    return sceneOf(this).ask()
  }
}

class PlainStep extends Workflow<null, Place> {
  static {
    this.named('plain-step')
    this.step('pay', { idempotent: false, reconcile: 'find', onException: 'dlq' })
  }
  pay() {
    return sceneOf(this).call('pay', this.execution.input)
  }
  async find() {
    sceneOf(this).seen.push(this.execution.input)
    return sceneOf(this).ask()
  }
}

class People extends Workflow<null, Place> {
  static {
    this.named('people')
    this.human('approve', { onException: 'dlq', compensate: 'forget' })
    this.waitFor('paid', { onException: 'dlq' })
    this.step('end', { onException: 'rollback' })
  }
  async approve({ by }: Decision) {
    sceneOf(this).seen.push([by, this.execution.input])
    sceneOf(this).failIfToldTo()
  }
  async paid({ payload }: Signal<number>) {
    sceneOf(this).seen.push([payload, this.execution.input])
    sceneOf(this).failIfToldTo()
  }
  async end() {
    throw new Error('the end')
  }
  async forget(_: Compensation) {
    sceneOf(this).seen.push(['forget', this.execution.input])
  }
}

class Part extends Workflow<null, Place> {
  static {
    this.named('part-of-letters')
    this.step('only', { onException: 'cancel' })
  }
  async only() {
    sceneOf(this).failIfToldTo()
  }
}

class Family extends Workflow<null, Place> {
  static {
    this.named('family')
    this.child('part', { workflow: Part, start: wf => ({ input: wf.input }), onException: 'dlq' })
  }
  async part(child: Child<typeof Part>) {
    sceneOf(this).seen.push(child.id)
  }
}

class Letters extends Workflow<null, Place> {
  static {
    this.named('letters')
    this.step('read', { idempotent: false, reconcile: 'find', onException: 'dlq' })
    this.child('part', { workflow: Part, start: wf => ({ input: wf.input }) })
  }
  async read() {
    sceneOf(this).seen.push(this.execution.input)
    sceneOf(this).failIfToldTo()
  }
  async find() {
    return sceneOf(this).ask()
  }
  async part(_: Child<typeof Part>) {
    sceneOf(this).seen.push(['part', this.execution.input])
  }
}

/** What the engine notes for itself has looked like some of these. */
const lookalikes = [
  { reconcile: true },
  { came: 'decision', on: '1' },
  { came: 'nothing' },
  { child: '1' },
  { existing: '1' },
  { undoes: '1' },
  { $geneva: 'mark', value: { reconcile: true } },
  null,
]

forEachDatabaseSideBySide('what an execution is given', database => {
  const workflows = [JobInClass, PlainStep, People, Letters, Part, Family]
  const under = useGeneva(database, { workflows, jobs: [charge, find, refund, breaks] })

  const input: Place = { on: database.name }
  const scene = scenes[database.name]
  const { seen } = scene

  beforeEach(() => scene.prepare())

  /** The worker is told to stop while the step is in its call, and does not wait for it. */
  async function cutOff(): Promise<void> {
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    await scene.begun.passed
    await worker.stop()
    scene.hangs = false
    scene.over.open()
  }

  async function letterOf(workflowId: string) {
    const [letter] = await under.geneva.deadLetters({ workflowId })
    if (letter === undefined) throw new Error(`Workflow ${workflowId} has no open letter.`)
    return letter
  }

  const ended = async (wf: { refresh(): Promise<{ state: string }> }) => {
    await under.runDue()
    return (await wf.refresh()).state
  }

  it('stays the arguments of a job in a class whose lost call did not happen', async () => {
    const wf = await under.geneva.start(JobInClass, { input })
    await cutOff()
    expect(await ended(wf)).toBe('finished')
    const call = ['charge', { ...input, amount: 100 }, undefined]
    expect(seen).toEqual([call, ['find'], call])
  })

  it('is nothing for a step whose lost call did not happen, nor for the method that is asked', async () => {
    const wf = await under.geneva.start(PlainStep, { input })
    await cutOff()
    expect(await ended(wf)).toBe('finished')
    expect(seen).toEqual([['pay', undefined], undefined, ['find'], ['pay', undefined]])
  })

  it('is kept when the call that had it is lost, and reaches the method that is asked', async () => {
    scene.asked = 'throws'
    const wf = await under.geneva.start(PlainStep, { input })
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    // The letter is about the question: whoever gives an input does not answer it.
    scene.asked = { happened: false }
    expect(await under.geneva.views.inputOf((await letterOf(wf.id)).executionId)).toBeNull()
    await under.geneva.requeue((await letterOf(wf.id)).id, { input: { card: 2 } })
    scene.hangs = true
    scene.begun = gate()
    scene.over = gate()
    seen.length = 0
    await cutOff()
    expect(seen).toEqual([{ card: 2 }, ['find'], ['pay', { card: 2 }]])
    expect(await ended(wf)).toBe('finished')
    expect(seen.slice(3)).toEqual([{ card: 2 }, ['find'], ['pay', { card: 2 }]])
  })

  it('is not called before it is known whether the lost call happened, whoever requeues it with another input', async () => {
    scene.asked = 'throws'
    const wf = await under.geneva.start(JobInClass, { input })
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    scene.asked = { happened: true }
    await under.geneva.requeue((await letterOf(wf.id)).id, { input: { ...input, amount: 7 } })
    expect(await ended(wf)).toBe('finished')
    expect(seen.filter(each => Array.isArray(each) && each[0] === 'charge')).toHaveLength(1)
  })

  it('in a stored graph is kept when its call is lost, asked about, called again and undone', async () => {
    const graph = under.geneva.build(w => {
      const args = { ...input, amount: 3 }
      w.node('pay', { job: charge, args, idempotent: false, reconcile: find, compensate: refund, onException: 'dlq' })
      w.node('breaks', { job: breaks })
    })
    const wf = await under.geneva.startGraph(graph)
    scene.asked = 'throws'
    await cutOff()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('dlq')
    scene.asked = { happened: false }
    seen.length = 0
    await under.geneva.requeue((await letterOf(wf.id)).id, { input: { ...input, amount: 4 } })
    expect(await ended(wf)).toBe('failed')
    const given = { ...input, amount: 4 }
    expect(seen).toEqual([4, ['find'], ['charge', given, given], ['refund', 4]])
  })

  it.each(lookalikes.map(each => [each]))('is a value of its own, whatever it looks like: %j', async given => {
    const wf = await under.geneva.start(Letters, { input })
    await under.runDue()
    await under.geneva.requeue((await letterOf(wf.id)).id, { input: given })
    // Once more, so that it has been through all that repeats an attempt.
    await under.runDue()
    scene.fails = false
    await under.geneva.requeue((await letterOf(wf.id)).id)
    expect(await ended(wf)).toBe('finished')
    expect(seen).toEqual([undefined, given, given, ['part', undefined]])
  })

  it('cannot take the place of what people have decided or what was sent: nobody is asked twice', async () => {
    const wf = await under.geneva.start(People, { input })
    await under.runDue()
    await wf.decide('approve', { decision: 'confirmed', by: 'ann' })
    expect(await ended(wf)).toBe('dlq')
    const letter = await letterOf(wf.id)
    expect(await under.geneva.views.inputOf(letter.executionId)).toBeNull()
    await expect(under.geneva.requeue(letter.id, { input: { limit: 5 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/approve.*decided.*Requeue it without an input/s),
    })
    expect((await letterOf(wf.id)).id).toBe(letter.id)
    scene.fails = false
    await under.geneva.requeue(letter.id)
    await under.runDue()
    scene.fails = true
    await wf.signal('paid', 7)
    expect(await ended(wf)).toBe('dlq')
    const paid = await letterOf(wf.id)
    for (const { id } of [letter, paid]) expect(await under.geneva.views.takesInput(id)).toBe(false)
    await expect(under.geneva.requeue(paid.id, { input: 8 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/paid.*sent.*Requeue it without an input/s),
    })
    scene.fails = false
    await under.geneva.requeue(paid.id)
    expect(await ended(wf)).toBe('failed')
    const ann = ['ann', undefined]
    expect(seen).toEqual([ann, ann, [7, undefined], [7, undefined], ['forget', undefined]])
    const { items } = await under.geneva.views.history(wf.id)
    expect(items.map(attempt => attempt.input)).toEqual(items.map(() => null))
  })

  it('is not a child that has not finished: a requeue starts another one', async () => {
    const wf = await under.geneva.start(Family, { input })
    expect(await ended(wf)).toBe('dlq')
    const letter = await letterOf(wf.id)
    expect(await under.geneva.views.takesInput(letter.id)).toBe(false)
    await expect(under.geneva.requeue(letter.id, { input: 1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    scene.fails = false
    await under.geneva.requeue(letter.id)
    expect(await ended(wf)).toBe('finished')
    const [second, first] = (await under.geneva.list(Part)).items.filter(({ parentId }) => parentId === wf.id)
    expect([first?.state, second?.state]).toEqual(['canceled', 'finished'])
    expect(seen).toEqual([second?.id])
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
