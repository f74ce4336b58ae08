/** The inbox of what waits for people, page by page: nothing is left out, and nothing is shown twice. */
import { expect, it } from 'vitest'
import { type Decision, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Late extends Workflow {
  static {
    this.human('review', { wait: '1 hour', deadline: '2 hours' })
  }
  review(_: Decision) {}
}

forEachDatabase('the inbox', database => {
  const under = useGeneva(database, { workflows: [Late] })

  it('counts from when people were asked, not from when the step was planned', async () => {
    const hour = 3_600_000
    const wf = await under.geneva.start(Late)
    await under.setClock(1.5 * hour)
    await under.runDue()
    const { items } = await under.geneva.views.approvals()
    const [approval] = items
    expect(Number(approval?.waitingSince) - Number(wf.createdAt)).toBeGreaterThan(1.4 * hour)
    expect(Number(approval?.deadline) - Number(approval?.waitingSince)).toBe(2 * hour)
    expect((await under.geneva.explain(wf.id)).nodes[0]?.reasons).toMatchObject([{ until: approval?.deadline }])
    await wf.cancel()
    await under.setClock(0)
  })

  it('shows everything once, also where one workflow asks for more than fits on a page', async () => {
    const { geneva } = under
    const names = Array.from({ length: 7 }, (_, index) => `ask ${index}`)
    const many = geneva.build(w => {
      for (const name of names) w.human(name, { dependsOn: null })
    })
    const one = geneva.build(w => w.human('only'))
    for (const graph of [one, many, one, many, one]) await geneva.startGraph(graph)
    await under.runDue()
    for (const limit of [1, 2, 3, 7, 8, 100]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<typeof geneva.views.approvals>> = await geneva.views.approvals({
          limit,
          ...(cursor === null ? {} : { cursor }),
        })
        expect(page.items.length).toBeLessThanOrEqual(limit)
        seen.push(...page.items.map(({ executionId }) => executionId))
        cursor = page.nextCursor
      } while (cursor !== null)
      expect(seen).toHaveLength(17)
      expect(new Set(seen).size).toBe(17)
    }
    for (const cursor of ['x/y', '1/\0', '/']) {
      await expect(geneva.views.approvals({ cursor })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    }
  })
})
