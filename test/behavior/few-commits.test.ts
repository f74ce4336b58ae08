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
    /** Whether the transaction that is open on a connection has written something. */
    const open = new Map<unknown, boolean>()
    let commits = 0
    const real = pg.Client.prototype.query
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [given] = args as [string | { text: string }]
      const text = typeof given === 'string' ? given : given.text
      // What goes out together has a text together, and is one transaction unless one is open.
      const parts = text.split(';\n')
      texts.push(...parts)
      const writes = parts.some(part => /^(with s0 as \()?(insert|update|delete) /.test(part))
      if (parts.some(part => part.startsWith('begin'))) open.set(this, false)
      if (open.has(this) && writes) open.set(this, true)
      // One that has written nothing, after a look for work, costs the log nothing.
      if (parts.includes('commit')) {
        if (open.get(this)) commits++
        open.delete(this)
      } else if (!open.has(this) && writes) commits++
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
