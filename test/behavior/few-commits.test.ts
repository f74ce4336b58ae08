/** What an idle workflow costs its database, counted at the driver. */
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Five extends Workflow {
  static {
    for (const name of ['one', 'two', 'three', 'four', 'five'] as const) this.step(name)
  }
  one() {}
  two() {}
  three() {}
  four() {}
  five() {}
}

// Where the driver is asked for each statement in turn; what is sent is the same on all three.
for (const database of databases.filter(({ name }) => name === 'postgres')) {
  const under = useGeneva(database, { workflows: [Five], worker: { poll: 60_000 } })

  it('an idle workflow of five steps takes at most seven commits, and one round trip for each step', async () => {
    // Names of statements and ids are at hand after the first.
    await (await under.geneva.start(Five)).waitUntilFinished()
    const texts: string[] = []
    const writing = new Set<unknown>()
    let commits = 0
    const real = pg.Client.prototype.query
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [given] = args as [string | { text: string }]
      const text = typeof given === 'string' ? given : given.text
      // What goes out together has a text together.
      for (const one of text.split(';\n')) {
        texts.push(one)
        if (/^(insert|update|delete) /.test(one)) writing.add(this)
        // One that has written nothing, after a look for work, costs the log nothing.
        if (one === 'commit' && writing.delete(this)) commits++
      }
      return Reflect.apply(real, this, args)
    } as never)
    await (await under.geneva.start(Five)).waitUntilFinished()
    spy.mockRestore()
    expect(commits).toBeGreaterThan(4)
    expect(commits).toBeLessThanOrEqual(7)
    // Whoever reads first and writes then would have begun to look at the rows of the workflow.
    expect(texts.filter(text => /^select w\.id as w_id.* for no key update$/s.test(text))).toEqual([])
  })
}
