/** What an execution tells of where it comes from: which executions it came after, proof of it, and who ran it. */
import { expect, it } from 'vitest'
import { ancestryHash } from '../../src/engine/ancestry.ts'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Diamond extends Workflow {
  static {
    this.step('a')
    this.step('b')
    this.task('c', { dependsOn: 'a', onException: 'reattempt' })
    this.step('d', { dependsOn: ['b', 'c'], wait: '1 day' })
  }
  a() {}
  b() {}
  c() {
    if (this.execution.attempt === 1) throw new Error('once')
  }
  d() {}
}

forEachDatabase('the ancestry of executions', database => {
  const under = useGeneva(database, { workflows: [Diamond] })

  it('is told with each of them, under way and ended, and fits together', async () => {
    const wf = await under.geneva.start(Diamond)
    const [first] = await wf.currentExecutions()
    expect(first).toMatchObject({ owner: null, parents: [], ancestryHash: ancestryHash('a', 1, []) })
    await under.runDue()
    const history = await wf.history()
    const of = (step: string, attempt: number) => history.find(one => one.step === step && one.attempt === attempt)
    const [a, b, failed, c, d] = [of('a', 1), of('b', 1), of('c', 1), of('c', 2), of('d', 1)]
    expect(b?.parents).toEqual([a?.id])
    expect(failed?.parents).toEqual([a?.id])
    expect(d?.parents.toSorted()).toEqual([b?.id, c?.id].toSorted())
    expect(d?.ancestryHash).toBe(ancestryHash('d', 1, [b?.ancestryHash ?? '', c?.ancestryHash ?? '']))
    expect(c?.ancestryHash).not.toBe(failed?.ancestryHash)
    expect([a, b, failed, c].map(one => typeof one?.owner)).toEqual(['string', 'string', 'string', 'string'])
    expect(d?.owner).toBeNull()
    expect(await wf.currentExecutions()).toMatchObject([{ ancestryHash: d?.ancestryHash, parents: d?.parents }])
    expect(await wf.verifyHistory()).toBeNull()
  })
})
