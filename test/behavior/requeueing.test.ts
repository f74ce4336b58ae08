/** Requeueing dead letters: with another input, under a pause, beside other failures; and what becomes of letters at the end. */
import { expect, it } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

const gates = new Gates()
const seen: unknown[] = []

class Import extends Workflow {
  static {
    this.step('read', { onException: 'dlq' })
    this.each('rows', { items: () => [1, -2, 3], onException: 'dlq' })
  }
  async read() {
    seen.push(this.execution.input)
    if (this.execution.input === undefined) throw new Error('no file')
    return this.execution.input
  }
  async rows(row: number) {
    if (row < 0) throw new Error(`row ${row}`)
    return row * 10
  }
}

const charge = defineJob(
  'charge',
  // A schema written by hand, without the types of a library.
  { args: amountSchema() as any, onException: 'dlq', retry: { attempts: 2, backoff: () => 0, jitter: false } },
  async (args: { amount: number }) => {
    seen.push(args.amount)
    if (args.amount < 0 || seen.length < 5) throw new Error('declined')
    return args.amount
  },
)

function amountSchema() {
  const validate = (value: unknown) =>
    typeof (value as { amount: unknown }).amount === 'number'
      ? { value }
      : { issues: [{ message: 'amount must be a number' }] }
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

/** Two branches that meet their ends when the test says so. */
class Branches extends Workflow<null, { gate: string; other: 'pause' | 'finish' | 'cancel' | 'nothing' }> {
  static {
    this.task('dead', { onException: 'dlq' })
    this.task('other')
    this.step('end', { dependsOn: ['dead'] })
  }
  async dead() {
    await gates.stop(`dead ${this.input.gate}`, this.signal)
    if (this.execution.attempt === 1) throw new Error('dead')
  }
  async other() {
    const { gate, other } = this.input
    await gates.stop(`other ${gate}`, this.signal)
    if (other === 'finish') this.finish('enough')
    if (other === 'cancel') this.cancel('enough')
    if (other === 'pause') throw new Error('other')
  }
  async end() {}
}

forEachDatabase('a dead letter', database => {
  const under = useGeneva(database, { workflows: [Import, Branches], jobs: [charge] })
  let count = 0

  async function letterOf(workflowId: string) {
    const [letter] = await under.geneva.deadLetters({ workflowId })
    if (letter === undefined) throw new Error(`Workflow ${workflowId} has no open letter.`)
    return letter
  }

  async function bothRun(other: 'pause' | 'finish' | 'cancel' | 'nothing') {
    const gate = `${database.name} ${count++}`
    const wf = await under.geneva.start(Branches, { input: { gate, other } })
    const running = under.runDue()
    await Promise.all([gates.arrived(`dead ${gate}`), gates.arrived(`other ${gate}`)])
    const dies = async () => {
      gates.open(`dead ${gate}`)
      await waitFor(async () => (await under.geneva.deadLetters({ workflowId: wf.id })).length > 0)
    }
    const ends = async () => {
      gates.open(`other ${gate}`)
      await running
    }
    return { wf, dies, ends }
  }

  it('can be requeued with another input, which the step reads, and an item becomes', async () => {
    seen.length = 0
    const wf = await under.geneva.start(Import)
    await under.runDue()
    await under.geneva.requeue((await letterOf(wf.id)).id, { input: { file: 'b.csv' }, by: 'ann' })
    await under.runDue()
    expect(seen).toEqual([undefined, { file: 'b.csv' }])
    expect(await wf.output('read')).toEqual({ file: 'b.csv' })
    const letter = await letterOf(wf.id)
    expect(letter.step).toBe('rows/1')
    expect(await under.geneva.views.takesInput(letter.id)).toBe(true)
    await under.geneva.requeue(letter.id, { input: 2 })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(await wf.output('rows')).toEqual([10, 20, 30])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('of a job is requeued with other arguments, which its schema checks first, and retries keep them', async () => {
    seen.length = 0
    const graph = under.geneva.build(w => w.node('pay', { job: charge, args: { amount: -1 } }))
    const wf = await under.geneva.startGraph(graph)
    await under.runDue()
    const { id } = await letterOf(wf.id)
    await expect(under.geneva.requeue(id, { input: { amount: 'ten' } })).rejects.toMatchObject({
      code: 'ARGS_INVALID',
    })
    expect((await wf.refresh()).state).toBe('dlq')
    await under.geneva.requeue(id, { input: { amount: 7 } })
    await under.runDue()
    // The first two are those before; the second try of the third attempt goes wrong once more.
    expect(seen).toEqual([-1, -1, 7, 7])
    await under.geneva.requeue((await letterOf(wf.id)).id)
    await under.runDue()
    expect(seen.at(-1)).toBe(7)
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('that is given an input which cannot be stored stays as it is', async () => {
    const wf = await under.geneva.start(Import)
    await under.runDue()
    const { id } = await letterOf(wf.id)
    await expect(under.geneva.requeue(id, { input: () => 1 })).rejects.toMatchObject({ code: 'UNSTORABLE_VALUE' })
    expect((await letterOf(wf.id)).id).toBe(id)
    await wf.cancel()
  })

  it('that is requeued does not undo the pause of a person', async () => {
    const { wf, dies, ends } = await bothRun('nothing')
    await wf.pause({ by: 'ann', reason: 'audit' })
    await dies()
    expect((await wf.refresh()).state).toBe('dlq')
    await ends()
    await under.geneva.requeue((await letterOf(wf.id)).id, { by: 'bob' })
    expect((await wf.refresh()).state).toBe('paused')
    await under.runDue()
    expect((await wf.history()).at(-1)).toMatchObject({ step: 'dead', attempt: 2, state: 'paused' })
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('that is requeued leaves another failure what it is: the workflow is paused in the end', async () => {
    const { wf, dies, ends } = await bothRun('pause')
    await dies()
    await ends()
    await under.geneva.requeue((await letterOf(wf.id)).id)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.explain()).sentence).toContain('step other has failed')
    await wf.cancel()
  })

  it('that is requeued after a step has declared the workflow finished waits for a resume, which ends it', async () => {
    const { wf, dies, ends } = await bothRun('finish')
    await dies()
    await ends()
    expect((await wf.refresh()).state).toBe('dlq')
    await under.geneva.requeue((await letterOf(wf.id)).id)
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    expect(wf.state).toBe('finished')
  })

  it('is closed when its workflow ends, whoever ends it', async () => {
    const { wf, dies, ends } = await bothRun('cancel')
    await dies()
    await ends()
    expect((await wf.refresh()).state).toBe('canceled')
    expect(await under.geneva.deadLetters({ workflowId: wf.id })).toEqual([])
    expect(await under.geneva.deadLetters({ workflowId: wf.id, state: 'discarded' })).toMatchObject([
      { handledReason: 'the workflow has ended' },
    ])
    const workflow = (await (await under.geneva.openedStore()).findWorkflow(wf.id))?.workflow
    expect(workflow?.openLetters).toBe(0)
  })

  it('is explained: which letter, why, and what to do', async () => {
    const wf = await under.geneva.start(Import)
    await under.runDue()
    const { id } = await letterOf(wf.id)
    const { sentence } = await wf.explain()
    expect(sentence).toContain('in the dead letter queue')
    expect(sentence).toContain('step read was given up at attempt 1, because its policy says so: Error: no file')
    expect(sentence).toContain(`requeue or discard letter ${id}`)
    await wf.cancel()
  })

  it('goes with its workflow when that is removed, and keeps it while it is open', async () => {
    const wf = await under.geneva.start(Import)
    await under.runDue()
    const open = await under.geneva.start(Import)
    await under.runDue()
    await wf.cancel()
    await under.setClock(3_600_000)
    await under.geneva.prune({ olderThan: '1 min' })
    expect(await under.geneva.find(wf.id)).toBeNull()
    expect(await under.geneva.deadLetters({ workflowId: wf.id, state: 'all' })).toEqual([])
    expect(await under.geneva.deadLetters({ workflowId: open.id })).toHaveLength(1)
    await under.setClock(0)
  })

  it('leaves everything as its events say', async () => {
    expect((await under.geneva.doctor()).findings).toEqual([])
  })
})
