/** Nodes of a class whose code is a job: one, or one for each item. */
import { expect, it } from 'vitest'
import { defineJob, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const keys: string[] = []
const double = defineJob('double', async (args: { n: number }, job) => {
  keys.push(job.idempotencyKey)
  if (args.n < 0) job.skip('negative')
  return args.n * 2
})

class Mixed extends Workflow<null, { n: number }> {
  static readonly doubled = this.job('doubled', { job: double, args: wf => ({ n: wf.input.n }) })
  static readonly all = this.eachJob('all', { job: double, items: wf => [{ n: wf.input.n }, { n: -1 }, { n: 3 }] })
  static {
    this.step('report')
  }
  async report() {
    return { doubled: await this.output(Mixed.doubled), all: await this.output(Mixed.all) }
  }
}

forEachDatabase('a job in a class', database => {
  const under = useGeneva(database, { workflows: [Mixed] })

  it('runs with arguments of the workflow, and its output is read by what its verb returned', async () => {
    const wf = await under.geneva.start(Mixed, { input: { n: 5 } })
    await under.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toEqual({ doubled: 10, all: [10, undefined, 6] })
    expect(new Set(keys).size).toBe(keys.length)
    expect((await wf.nodesWithState()).map(node => [node.name, node.state])).toEqual([
      ['doubled', 'completed'],
      ['all', 'completed'],
      ['all/0', 'completed'],
      ['all/1', 'skipped'],
      ['all/2', 'completed'],
      ['report', 'completed'],
    ])
    keys.length = 0
  })
})
