/**
 * Timers of waits that were set before timers held times: they tell how many moments were over, by a graph that may have changed since. What they
 * were set for is told by when they are due.
 */
import { expect, it } from 'vitest'
import { type Decision, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { deployOver } from '../support/deploy-over.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const hour = 3_600_000

interface Times {
  readonly escalate?: { readonly after: string; readonly to: string }
  readonly deadline: string
}

function version(name: string, times: Times) {
  return class extends Workflow {
    static {
      this.named(name)
      this.human('approve', times as { deadline: '1 hour' })
    }
    async approve(_: Decision) {}
  }
}

const escalate = { after: '1 hour', to: 'lead' }

/** What an earlier version left, and in which state the workflow is after so many hours under the new one. */
const cases = [
  {
    what: 'a deadline that was put off after somebody had been told',
    before: { escalate, deadline: '3 hours' },
    deployed: { deadline: '5 hours' },
    index: 1,
    after: [[3.1, 'ready'] as const, [5.1, 'paused'] as const],
  },
  {
    what: 'a deadline that was put off',
    before: { deadline: '3 hours' },
    deployed: { deadline: '9 hours' },
    index: 0,
    after: [[3.1, 'ready'] as const, [9.1, 'paused'] as const],
  },
  {
    what: 'a deadline before which somebody is told now',
    before: { deadline: '3 hours' },
    deployed: { escalate, deadline: '3 hours' },
    index: 0,
    after: [[1.1, 'ready'] as const, [3.1, 'paused'] as const],
  },
]

forEachDatabase('a wait timer of an earlier version', database => {
  const under = useGeneva(database, { workflows: [] })

  it.each(cases)('keeps $what', async ({ what, before, deployed, index, after }) => {
    const versions = { V1: version(what, before), V2: version(what, deployed) }
    const { wf, fresh } = await deployOver(under, versions, async (old, id) => {
      await old.runDue(quickly)
      if (index > 0) {
        ;(await old.openedStore()).setClockOffset(1.1 * hour)
        await old.runDue(quickly)
      }
      const plain = await connectPlainly(database.name, under.url)
      const timer = `workflow_id = ${id} and slot like '#wait/%'`
      await plain.query(
        `update geneva_drive_active_executions set slot = '#wait/approve', input = '{"index":${index}}' where ${timer}`,
      )
      await plain.close()
    })
    for (const [hours, state] of after) {
      ;(await fresh.openedStore()).setClockOffset(hours * hour)
      await fresh.runDue(quickly)
      expect([hours, (await wf.refresh()).state]).toEqual([hours, state])
    }
  })
})
