/** Every page of the dashboard, looked at in Chromium: what it says, that everybody can use it, and that it fits a phone. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { Buyers, Patient, Payout, Purchase, Shaky, Wide } from './sample-workflows.ts'
import { barriersOn, sees, sidewaysOn, useDashboard } from './use-dashboard.ts'

const dashboard = useDashboard()
const ids = { purchase: '', shaky: '', wide: '', letter: '' }

beforeAll(async () => {
  const { geneva, under } = dashboard
  const hero = Buyers.ref('ann')
  ids.purchase = (await geneva.start(Purchase, { hero, input: { what: 'a lamp' } }, { tags: ['vip'] })).id
  ids.shaky = (await geneva.start(Shaky, { input: { text: 'the gateway did not answer' } })).id
  ids.wide = (await geneva.start(Wide)).id
  await geneva.start(Payout, { input: { account: 'wrong' } })
  await geneva.start(Patient)
  await under.runDue()
  await under.runDue()
  ids.letter = (await geneva.deadLetters())[0]?.id ?? ''
})

const pages: readonly (readonly [name: string, place: () => string, says: readonly (string | RegExp)[]])[] = [
  ['overview', () => '', ['Active', 'Dead letters', 'Workflows by state', 'Queues', 'Workers', 'paused']],
  ['list of workflows', () => 'workflows', ['5 workflows', 'Purchase', 'Buyer ann', 'trip: TypeError: the gateway']],
  ['list with a filter', () => 'workflows?state=paused&error=gateway', ['1 workflow', 'Shaky', 'Clear filter']],
  ['empty list', () => 'workflows?type=Nothing', ['No workflow fits this filter.', 'show all']],
  [
    'graph of a workflow',
    () => `workflows/${ids.purchase}`,
    ['reserve', 'approve', 'Why is it waiting?', 'vip', 'release'],
  ],
  [
    'folded graph with a progress bar',
    () => `workflows/${ids.wide}`,
    ['isBig', 'not taken', '× 40', '80 of 200 (40 %'],
  ],
  ['timeline of a workflow', () => `workflows/${ids.shaky}?tab=timeline`, ['first', 'trip', 'completed', 'failed']],
  [
    'attempts of a workflow',
    () => `workflows/${ids.shaky}?tab=attempts`,
    ['TypeError', 'the gateway did not', 'Stack'],
  ],
  ['events of a workflow', () => `workflows/${ids.shaky}?tab=events`, ['workflow.started', 'step.failed', 'trip']],
  ['input of a workflow', () => `workflows/${ids.purchase}?tab=data`, ['"what": "a lamp"', 'Output']],
  ['hero', () => 'heroes/Buyer/ann', ['Everything that ever happened', 'Purchase', 'step.completed']],
  ['approvals', () => 'approvals', ['May this be bought?', 'Up to how much', 'a lamp', 'Confirm', 'Reject']],
  ['dead letters', () => 'dead-letters', ['transfer', 'no such account: wrong', 'policy']],
  ['dead letter', () => `dead-letters/${ids.letter}`, ['RangeError', 'Requeue', 'Discard']],
  ['schedules', () => 'schedules', ['nightly', '0 3 * * *', 'Start now']],
  ['queues', () => 'queues', ['default', 'slow', 'Pause']],
  ['workers', () => 'workers', ['Workers', 'lease']],
  ['definitions', () => 'definitions', ['Purchase', 'Wide', 'Show workflows']],
  ['definition', () => 'definitions/Wide', ['isBig', 'grow', 'shrink', 'mail', 'Start one']],
  ['page that does not exist', () => 'nowhere', ['There is nothing at this address.']],
]

const desk = { width: 1440, height: 900 }
const phone = { width: 390, height: 844 }
let page: Page

beforeAll(async () => {
  page = await dashboard.open('', { reducedMotion: 'reduce' })
})

describe('the page', () => {
  it.each(pages)('%s says what it should, to everybody, on a desk and on a phone', async (_, place, says) => {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize(desk)
    await page.goto(`${dashboard.address}#/${place()}`)
    await sees(page, ...says)
    expect(await barriersOn(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize(phone)
    await sees(page, ...says)
    expect(await barriersOn(page, 'colors')).toEqual([])
    expect(await sidewaysOn(page)).toBe(0)
  })

  it('of a workflow that is not there says so, and what may be the reason', async () => {
    await page.goto(`${dashboard.address}#/workflows/999999`)
    await sees(page, /no workflow/i, 'It may have been pruned')
    // What was not found is in the console of the browser, and should be.
    expect(dashboard.complaints.splice(0)).toContainEqual(expect.stringContaining('404'))
  })
})
