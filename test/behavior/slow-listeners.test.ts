/** Whatever those who listen do, the engine does the same in the same time: two of them, one that throws and one that is slow. */
import { expect, it } from 'vitest'
import { type GenevaEvent, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

class Parcel extends Workflow {
  static {
    this.step('pack')
    this.step('ship', { onException: 'reattempt' })
  }
  pack() {}
  ship() {
    if (this.execution.attempt === 1) throw new Error('no stamp')
  }
}

const batch = 60

forEachDatabase('listeners of which one throws and one is slow', database => {
  const under = useGeneva(database, { workflows: [Parcel] })

  /** What is left of a batch, and how long it took. */
  async function runBatch() {
    const workflows = await under.geneva.startMany(Parcel, Array(batch).fill({}))
    const since = performance.now()
    await under.runDue({ concurrency: 10 })
    const ms = performance.now() - since
    const [first] = workflows
    const states = await Promise.all(workflows.map(async wf => (await wf.refresh()).state))
    const story = (await first?.events())?.map(({ type, node, attempt, from, to, outcome }) => ({
      type: `${type} ${node} ${attempt}`,
      change: `${from} ${to} ${outcome}`,
    }))
    return { ms, left: { states, story } }
  }

  /** The quickest of several is what it takes; all else is the machine. Turn by turn, so that it is the same machine. */
  async function compare(listen: () => () => void) {
    const alone: number[] = []
    const heard: number[] = []
    const expected = (await runBatch()).left
    for (let round = 0; round < 3; round++) {
      const quiet = await runBatch()
      alone.push(quiet.ms)
      const stop = listen()
      const loud = await runBatch()
      heard.push(loud.ms)
      stop()
      expect(quiet.left).toEqual(expected)
      expect(loud.left).toEqual(expected)
    }
    return { alone: Math.min(...alone), heard: Math.min(...heard) }
  }

  it('change neither what the engine does nor how long it takes', { timeout: 60_000 }, async () => {
    const never = gate()
    const slow: GenevaEvent[] = []
    let thrown = 0
    const { alone, heard } = await compare(() => {
      const ends = [
        under.geneva.on('*', () => {
          thrown++
          throw new Error('listener')
        }),
        under.geneva.on('*', async event => {
          slow.push(event)
          await never.passed
        }),
      ]
      return () => ends.forEach(end => end())
    })
    // The slow one has held up nobody: it still stands at the first event of each round.
    expect(slow.map(event => event.type)).toEqual(Array(3).fill('workflow.started'))
    await waitFor(() => under.errors.filter(({ error }) => (error as Error).message === 'listener').length === thrown)
    expect(thrown).toBeGreaterThan(3 * batch)
    // An engine that waited for the slow one would never come to an end. What is left is the time of the listeners
    // themselves, which a busy machine has little of.
    expect(heard).toBeLessThan(alone * 2 + 1000)
    expect(await under.geneva.doctor()).toMatchObject({ ok: true, workflows: 7 * batch })
    never.open()
  })
})
