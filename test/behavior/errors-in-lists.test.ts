/** The error in the line of a workflow is one that still stands: what was got over is history. */
import { beforeEach, expect, it } from 'vitest'
import { type Decision, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

let broken = true

class Review extends Workflow {
  static {
    this.step('charge')
    this.human('review', { deadline: '1 hour' })
    this.waitFor('delivered')
  }
  charge() {
    if (broken) throw new RangeError('no money')
  }
  review(_: Decision) {}
  delivered(_: Signal) {}
}

class Lenient extends Workflow {
  static {
    this.step('mail', { onException: 'skip' })
    this.waitFor('delivered')
  }
  mail() {
    throw new TypeError('no address')
  }
  delivered(_: Signal) {}
}

forEachDatabase('a list of workflows', database => {
  const under = useGeneva(database, { workflows: [Review, Lenient] })
  const errorOf = async (id: string) => (await under.geneva.views.workflows({ q: id })).items[0]?.error
  beforeEach(() => {
    broken = true
  })

  it('shows the error of a step until a later attempt has got over it', async () => {
    const wf = await under.geneva.start(Review)
    await under.runDue()
    expect(await errorOf(wf.id)).toBe('charge: RangeError: no money')
    broken = false
    await wf.resume()
    await under.runDue()
    expect(await errorOf(wf.id)).toBeNull()
  })

  it('shows the error of a step that nobody has decided until somebody skips it', async () => {
    broken = false
    const wf = await under.geneva.start(Review)
    await under.runDue()
    await under.setClock(2 * 3_600_000)
    await under.runDue()
    expect(await errorOf(wf.id)).toMatch(/^review: NothingCameError: /)
    await wf.skip('review')
    await under.runDue()
    expect(await errorOf(wf.id)).toBeNull()
    await under.setClock(0)
  })

  it('shows no error of a step that its policy has left out', async () => {
    const wf = await under.geneva.start(Lenient)
    await under.runDue()
    expect(await errorOf(wf.id)).toBeNull()
  })
})
