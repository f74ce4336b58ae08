/** What a person may not do is not offered: the dashboard asks for the role and goes by it. */
import { describe, expect, it } from 'vitest'
import { Buyers, Patient, Purchase } from './sample-workflows.ts'
import { sees, useDashboard } from './use-dashboard.ts'

const dashboard = useDashboard({
  authorize: request => {
    const role = /role=(reader|operator|admin)/.exec(request.headers.get('cookie') ?? '')?.[1]
    return role === 'reader' || role === 'operator' || role === 'admin' ? { role, by: `the ${role}` } : null
  },
})

async function openAs(role: string, place: string) {
  const cookies = [{ name: 'role', value: role, domain: '127.0.0.1', path: '/' }].map(cookie => ({
    ...cookie,
    expires: -1,
    httpOnly: false,
    secure: false,
    sameSite: 'Lax' as const,
  }))
  return dashboard.open(place, { storageState: { cookies, origins: [] } })
}

describe('a role', () => {
  it('of a reader sees everything and is offered nothing', async () => {
    const { id } = await dashboard.geneva.start(Purchase, { hero: Buyers.ref('ann') })
    await dashboard.under.runDue()
    const page = await openAs('reader', `workflows/${id}`)
    await sees(page, 'the reader', 'Why is it waiting?')
    await page.locator('.node-box[data-node=approve]').click()
    await page.getByRole('complementary', { name: 'Node approve' }).waitFor()
    const buttons = async () =>
      (await page.locator('main').getByRole('button').allInnerTexts()).map(text => text.trim())
    for (const name of ['Pause', 'Cancel', 'Abort', 'Skip', 'Resolve']) expect(await buttons()).not.toContain(name)
    await page.goto(`${dashboard.address}#/approvals`)
    await sees(page, 'May this be bought?')
    expect(await buttons()).toEqual([])
    await page.goto(`${dashboard.address}#/workflows`)
    await sees(page, 'Purchase')
    expect(await page.locator('main td input').count()).toBe(0)
  })

  it('of an operator is offered what can be taken back, and not what an admin may', async () => {
    const { id } = await dashboard.geneva.start(Patient)
    const page = await openAs('operator', `workflows/${id}`)
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    expect(await page.getByRole('button', { name: 'Abort' }).count()).toBe(0)
    await page.goto(`${dashboard.address}#/workflows`)
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    expect(await page.getByLabel('All that this filter finds').count()).toBe(0)
  })
})
