/** The inbox of what waits for people, page by page: nothing is left out, and nothing is shown twice. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

forEachDatabase('the inbox', database => {
  const under = useGeneva(database, {})

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
