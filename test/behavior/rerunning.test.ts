/** A part of a workflow that is run again as a new one: what was only half done is done whole. */
import { beforeEach, expect, it } from 'vitest'
import { Workflow, WorkflowNotFoundError } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

let broken = true
const calls: string[] = []

class Mailing extends Workflow {
  static {
    this.each('mail', { items: () => ['ann', 'bob'] })
    this.step('report')
    this.task('archive')
  }
  async mail(name: string) {
    calls.push(name)
    if (broken && name === 'bob') throw new Error('no such mailbox')
    return `to ${name}`
  }
  async report() {
    calls.push('report')
    return (await this.output(this.mail))?.length
  }
  async archive() {
    calls.push('archive')
  }
}

forEachDatabase('a workflow that is run again', database => {
  const under = useGeneva(database, { workflows: [Mailing] })

  beforeEach(() => {
    broken = true
    calls.length = 0
  })

  async function halfDone() {
    const wf = await under.geneva.start(Mailing)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.cancel()
    broken = false
    calls.length = 0
    return wf
  }

  it.each([
    ['behind', 'report', ['ann', 'bob', 'report']],
    ['beside', 'archive', ['ann', 'archive', 'bob', 'report']],
  ] as const)('from a step %s items of which one has failed runs all of them again, and finishes', async (...given) => {
    const [, from, expected] = given
    const old = await halfDone()
    const wf = await under.geneva.rerun(old.id, { from })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls.toSorted()).toEqual(expected)
    expect(await wf.output('mail')).toEqual(['to ann', 'to bob'])
    expect(await wf.output('report')).toBe(2)
    expect(await wf.verifyHistory()).toBeNull()
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
  })

  it('takes over the items of a step that has finished', async () => {
    broken = false
    const old = await under.geneva.start(Mailing)
    await under.runDue()
    calls.length = 0
    const wf = await under.geneva.rerun(old.id, { from: 'report' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['report'])
    expect(await wf.output('mail')).toEqual(['to ann', 'to bob'])
  })

  it('does not run again what was done when half of the old one is gone: there is no such workflow any more', async () => {
    broken = false
    const old = await under.geneva.start(Mailing)
    await under.runDue()
    calls.length = 0
    // As a prune does that is cut off: the workflow itself goes last.
    const plain = await connectPlainly(database.name, under.url)
    for (const table of ['events', 'step_executions']) {
      await plain.query(`delete from geneva_drive_${table} where workflow_id = ${old.id}`)
    }
    await plain.close()
    const rerun = under.geneva.rerun(old.id, { from: 'report' })
    await expect(rerun).rejects.toBeInstanceOf(WorkflowNotFoundError)
    await under.runDue()
    expect(calls).toEqual([])
  })
})
