/** Many branches and few places: most branches are claimed later, and reported in parts. What comes after them begins once, after all of them. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { defineJob, type Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const width = 60
const calls = new Map<string, number>()
/** What fails, once. */
const broken = new Set<string>()

/** What waits until it is let go. */
const gates = new Map<string, Promise<void>>()

const work = defineJob('work', async ({ run, n }: { run: string; n: number }) => {
  const key = `${run} ${n}`
  calls.set(key, (calls.get(key) ?? 0) + 1)
  await gates.get(key)
  await pause((n * 7) % 5)
  if (broken.delete(key)) throw new Error('out of paper')
  return n
})
const mark = defineJob('mark', async ({ run }: { run: string }) => {
  calls.set(run, (calls.get(run) ?? 0) + 1)
})

/** The branch that asks to be called again has completed twice, but only its last attempt counts. */
class Twice extends Workflow {
  static open = () => {}
  static called = 0
  static {
    this.step('first')
    this.task('again', { dependsOn: 'first' })
    this.task('other', { dependsOn: 'first' })
    this.task('slow', { dependsOn: 'first' })
    this.task('last', { dependsOn: ['again', 'other', 'slow'] })
  }
  first() {}
  again() {
    if (++Twice.called === 1) this.reattempt()
    this.skip('it has been done')
  }
  other() {}
  async slow() {
    await new Promise<void>(resolve => {
      Twice.open = resolve
    })
  }
  last() {}
}

function fan(geneva: Geneva, run: string) {
  return geneva.build(flow => {
    const start = flow.node('begin', { job: mark, args: { run: `${run} begin` }, dependsOn: null })
    const all = flow.fanOut(
      Array.from({ length: width }, (_, n) => n),
      { name: n => `w_${n}`, job: work, args: n => ({ run, n }), dependsOn: [start] },
    )
    flow.node('end', { job: mark, args: { run: `${run} end` }, dependsOn: all })
  })
}

forEachDatabase('wide fans', database => {
  const few = { poll: 10, concurrency: 7, grace: 0 }
  const under = useGeneva(database, { workflows: [Twice], jobs: [work, mark], worker: few })

  async function expectWhole(id: string, run: string): Promise<void> {
    const workflow = await under.geneva.find(id)
    expect(workflow?.state).toBe('finished')
    expect(await workflow?.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: id })).findings).toEqual([])
    const executions = (await workflow?.history()) ?? []
    const done = executions.filter(({ state }) => state === 'completed')
    expect(done).toHaveLength(width + 2)
    const last = done.find(({ step }) => step === 'end')
    const branches = done.filter(({ step }) => step.startsWith('w_')).map(each => each.id)
    expect(last?.parents.toSorted()).toEqual(branches.toSorted())
    expect([calls.get(`${run} begin`), calls.get(`${run} end`)]).toEqual([1, 1])
  }

  it('run each branch once, and what follows after all of them', async () => {
    const run = `alone ${database.name}`
    const workflow = await under.geneva.startGraph(fan(under.geneva, run))
    await workflow.waitUntilFinished({ timeout: '30s' })
    await expectWhole(workflow.id, run)
    expect(Array.from({ length: width }, (_, n) => calls.get(`${run} ${n}`))).toEqual(Array(width).fill(1))
  })

  it('go on as one where several processes take branches of them', async () => {
    const others = [under.another(), under.another()]
    for (const other of others) await other.startWorker(few)
    const runs = ['x', 'y', 'z'].map(name => `shared ${name} ${database.name}`)
    const workflows = await Promise.all(runs.map(run => under.geneva.startGraph(fan(under.geneva, run))))
    for (const [index, workflow] of workflows.entries()) {
      await workflow.waitUntilFinished({ timeout: '30s' })
      await expectWhole(workflow.id, runs[index] ?? '')
    }
    const owners = new Set((await workflows[0]?.history())?.map(({ owner }) => owner))
    expect(owners.size).toBeGreaterThan(1)
    for (const other of others) await other.close()
  })

  it('wait for a branch that has failed in between, and come after its next attempt', async () => {
    const run = `failing ${database.name}`
    broken.add(`${run} 20`)
    const workflow = await under.geneva.startGraph(fan(under.geneva, run))
    await expect.poll(async () => (await under.geneva.find(workflow.id))?.state, { timeout: 20_000 }).toBe('paused')
    expect(calls.get(`${run} end`)).toBeUndefined()
    await under.geneva.resume(workflow.id)
    await workflow.waitUntilFinished({ timeout: '30s' })
    await expectWhole(workflow.id, run)
    expect(calls.get(`${run} 20`)).toBe(2)
  })

  it('go on where they were after somebody has paused them', async () => {
    const run = `paused ${database.name}`
    let open = () => {}
    gates.set(`${run} 15`, new Promise(resolve => (open = resolve)))
    const workflow = await under.geneva.startGraph(fan(under.geneva, run))
    await expect.poll(() => calls.get(`${run} 15`), { timeout: 20_000 }).toBe(1)
    await under.geneva.pause(workflow.id)
    await under.geneva.resume(workflow.id)
    open()
    await workflow.waitUntilFinished({ timeout: '30s' })
    await expectWhole(workflow.id, run)
  })

  it('come after the last attempt of a branch that was called again, however it ended', async () => {
    Twice.called = 0
    const workflow = await under.geneva.start(Twice)
    const ended = async () => (await workflow.history()).filter(({ endedAt }) => endedAt !== null).length
    await expect.poll(ended, { timeout: 20_000 }).toBe(4)
    Twice.open()
    await workflow.waitUntilFinished({ timeout: '30s' })
    const history = await workflow.history()
    const ids = (step: string) => history.filter(each => each.step === step).map(({ id }) => id)
    expect(history.find(({ step }) => step === 'last')?.parents.toSorted()).toEqual(
      [ids('again').at(-1), ...ids('other'), ...ids('slow')].toSorted(),
    )
    expect(await workflow.verifyHistory()).toBeNull()
  })
})
