/** What `nextNode` promises of workflows whose branches run side by side, on every database. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Diamond extends Workflow<null, { fails?: boolean }> {
  static {
    this.step('a')
    this.step('b')
    this.task('c', { dependsOn: 'a' })
    this.step('d', { dependsOn: ['b', 'c'] })
  }
  a() {}
  b() {
    if (this.input.fails && this.execution.attempt === 1) throw new Error('b is broken')
  }
  c() {}
  d() {}
}

class Fan extends Workflow {
  static {
    this.task('leaf', { wait: '1 day' })
    this.task('e', { wait: '1 day' })
    this.task('z', { dependsOn: 'e' })
  }
  leaf() {}
  e() {}
  z() {}
}

forEachDatabase('the next node', database => {
  const under = useGeneva(database, { workflows: [Diamond, Fan] })

  it('is the one that a resume runs again, whatever has ended after it', async () => {
    const wf = await under.geneva.start(Diamond, { input: { fails: true } })
    expect(await wf.nextNode()).toBe('b')
    await under.runDue()
    expect(await wf.nextNode()).toBe('b')
    expect((await wf.resume()).state).toBe('ready')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'b', attempt: 2 }])
    expect(await wf.nextNode()).toBe('d')
    await under.runDue()
    expect(await wf.nextNode()).toBeNull()
    expect(wf.state).toBe('finished')
  })

  it('is what is still to come, not what comes behind the newest row', async () => {
    const wf = await under.geneva.start(Fan)
    expect((await wf.currentExecutions()).map(({ step }) => step).toSorted()).toEqual(['e', 'leaf'])
    expect(await wf.nextNode()).toBe('z')
    await wf.skip('e')
    expect(await wf.nextNode()).toBeNull()
    await wf.cancel()
    expect(await wf.nextNode()).toBeNull()
  })
})
