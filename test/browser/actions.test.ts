/** Every action of the dashboard, done by clicking in Chromium, and what has really come of it in the database. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { routeTable } from '../../src/http/route-table.ts'
import { makeOrder } from '../support/open-store.ts'
import { waitFor } from '../support/wait-for.ts'
import { Buyers, Contract, Lease, Parcel, Patient, Payout, Purchase, Shaky } from './sample-workflows.ts'
import { barriersOn, sees, useDashboard } from './use-dashboard.ts'

const dashboard = useDashboard()
let page: Page
/** What the clicks below have asked of the API, as methods and paths. */
const asked = new Set<string>()

beforeAll(async () => {
  page = await dashboard.open('', { reducedMotion: 'reduce' })
  page.on('request', request => asked.add(`${request.method()} ${new URL(request.url()).pathname}`))
})

async function go(place: string): Promise<void> {
  await page.goto(`${dashboard.address}#/${place}`)
}

/** Presses the button that asks, gives the reason, and says yes. */
async function act(button: string, confirm = button, reason = 'because'): Promise<void> {
  await page.locator('main').getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill(reason)
  await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

async function stateOf(id: string): Promise<string | undefined> {
  return (await dashboard.geneva.find(id))?.state
}

describe('a workflow', () => {
  it('is paused and resumed, with who and why on record', async () => {
    const workflow = await dashboard.geneva.start(Patient)
    await dashboard.under.runDue()
    await go(`workflows/${workflow.id}`)
    await act('Pause', 'Pause the workflow', 'the month is not over')
    await sees(page, 'Paused.')
    expect(await stateOf(workflow.id)).toBe('paused')
    const paused = (await workflow.events()).find(({ type }) => type === 'workflow.paused')
    expect(paused).toMatchObject({ by: 'local', reason: 'the month is not over' })
    await act('Resume', 'Resume the workflow')
    expect(await stateOf(workflow.id)).toBe('ready')
  })

  it('shows what a cancel would undo, in order, before it is canceled', async () => {
    const workflow = await dashboard.geneva.start(Purchase, { hero: Buyers.ref('cancel') })
    await dashboard.under.runDue()
    await go(`workflows/${workflow.id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('These steps would be undone, in this order').waitFor()
    expect(await dialog.getByRole('listitem').allInnerTexts()).toEqual(['reserve by release'])
    expect(await barriersOn(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel the workflow' }).click()
    await dialog.waitFor()
    expect(await stateOf(workflow.id), 'it takes a reason').toBe('ready')
    await dialog.getByLabel('Reason').fill('the customer asked')
    await dialog.getByRole('button', { name: 'Cancel the workflow' }).click()
    await waitFor(async () => (await stateOf(workflow.id)) === 'rolling_back')
    await dashboard.under.runDue()
    await sees(page, 'rolled back')
    expect(await stateOf(workflow.id)).toBe('canceled')
  })

  it('is aborted', async () => {
    const workflow = await dashboard.geneva.start(Patient)
    await go(`workflows/${workflow.id}`)
    await act('Abort', 'Abort the workflow')
    expect(await stateOf(workflow.id)).toBe('aborted')
  })

  it('is started from its definition', async () => {
    await go('definitions/Payout')
    await page.getByRole('button', { name: 'Start one' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Input').fill('{ "account": "right" ')
    await dialog.getByText(/JSON at position|Expected/).waitFor()
    await dialog.getByLabel('Input').fill('{ "account": "right" }')
    await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL(/workflows\/\d+/)
    const id = /workflows\/(\d+)/.exec(page.url())?.[1] ?? ''
    expect(await (await dashboard.geneva.find(id))?.input()).toEqual({ account: 'right' })
    await dashboard.geneva.cancel(id)
  })
})

describe('a start', () => {
  it('with the id of a hero asks for its type as well, and does not leave the hero out', async () => {
    await go('definitions/Payout')
    const before = (await dashboard.geneva.list(Payout)).items.length
    await page.getByRole('button', { name: 'Start one' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Hero id').fill('7')
    await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    await dialog.getByLabel('Hero type').and(page.locator(':invalid:focus')).waitFor()
    expect((await dashboard.geneva.list(Payout)).items).toHaveLength(before)
    await dialog.getByRole('button', { name: 'Back' }).click()
  })
})

describe('the dialog of a start', () => {
  it('is gone once the workflow is started, though somebody is back on the page before that has noticed it was left', async () => {
    await go('definitions/Payout')
    await page.evaluate(`navigation.addEventListener('currententrychange',
      () => { location.hash = '#/definitions/Payout' }, { once: true })`)
    await page.getByRole('button', { name: 'Start one' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Input').fill('{ "account": "right" }')
    await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    await sees(page, 'Payout is started.')
    await dialog.waitFor({ state: 'detached' })
    expect(page.url()).toContain('definitions/Payout')
    await dashboard.geneva.all({ where: { type: 'Payout' } }).cancel()
  })
})

describe('a start whose answer is lost', () => {
  it('is sent again from the same dialog, and starts one workflow; the next dialog starts another', async () => {
    await go('definitions/Payout')
    const before = (await dashboard.geneva.list(Payout)).items.length
    const dialog = page.getByRole('dialog')
    const start = async () => {
      await dialog.getByLabel('Input').fill('{ "account": "right" }')
      await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    }
    await page.route('**/api/workflows', async route => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Start one' }).click()
    await start()
    await dialog.getByText('The server does not answer.').waitFor()
    await dialog.getByText('What you asked for may have happened').waitFor()
    expect(dashboard.complaints.splice(0)).toEqual([expect.stringContaining('Failed to load resource')])
    await page.unroute('**/api/workflows')
    await start()
    await page.waitForURL(/workflows\/\d+/)
    expect((await dashboard.geneva.list(Payout)).items).toHaveLength(before + 1)
    await go('definitions/Payout')
    await page.getByRole('button', { name: 'Start one' }).click()
    await start()
    await page.waitForURL(/workflows\/\d+/)
    expect((await dashboard.geneva.list(Payout)).items).toHaveLength(before + 2)
    await dashboard.geneva.all({ where: { type: 'Payout' } }).cancel()
  })
})

describe('a node', () => {
  it('that failed is tried again, taken as done, or left out', async () => {
    const [again, done, out] = await dashboard.geneva.startMany(Shaky, [{}, {}, {}])
    if (!again || !done || !out) throw new Error('There must be three.')
    await dashboard.under.runDue()
    for (const [workflow, button] of [
      [again, 'Reattempt'],
      [done, 'Resolve'],
      [out, 'Skip'],
    ] as const) {
      await go(`workflows/${workflow.id}`)
      await page.locator('.node-box[data-node=trip]').click()
      await page.getByRole('complementary', { name: 'Node trip' }).getByText('tripped over').first().waitFor()
      await act(button)
    }
    await dashboard.under.runDue()
    const tripOf = async (workflow: typeof again) =>
      (await workflow.nodesWithState()).find(({ name }) => name === 'trip')
    expect(await tripOf(again)).toMatchObject({ state: 'failed', attempt: 2 })
    expect(await tripOf(done)).toMatchObject({ state: 'completed', outcome: 'resolved' })
    expect(await tripOf(out)).toMatchObject({ state: 'skipped' })
  })

  it('that waits for a signal gets it, with its payload', async () => {
    const workflow = await dashboard.geneva.start(Purchase, { hero: Buyers.ref('signal') })
    await dashboard.under.runDue()
    await workflow.decide('approve', { decision: 'confirmed', by: 'ann', data: { limit: 5, account: 'other' } })
    await dashboard.under.runDue()
    await go(`workflows/${workflow.id}`)
    await page.locator('.node-box[data-node=delivered][data-state=waiting]').click()
    await page.getByRole('button', { name: 'Signal' }).click()
    await page.getByRole('dialog').getByLabel('Payload').fill('{ "by": "Bob" }')
    await page.getByRole('dialog').getByRole('button', { name: 'Signal' }).click()
    await sees(page, 'The signal is sent.')
    await dashboard.under.runDue()
    expect(await workflow.output('delivered')).toBe('Bob')
    expect(await stateOf(workflow.id)).toBe('finished')
  })
})

describe('an approval', () => {
  async function waitingPurchase(hero: string) {
    const workflow = await dashboard.geneva.start(Purchase, { hero: Buyers.ref(hero), input: { what: `for ${hero}` } })
    await dashboard.under.runDue()
    await go('approvals')
    return { workflow, card: page.getByRole('article').filter({ hasText: `Buyer ${hero}` }) }
  }

  it('is confirmed with what its form asks for and a comment', async () => {
    const { workflow, card } = await waitingPurchase('yes')
    await card.getByText('for yes').waitFor()
    await card.getByLabel('limit').fill('250')
    await card.getByLabel('account').selectOption('travel')
    await card.getByLabel('Comment').fill('a good one')
    await card.getByRole('button', { name: 'Confirm' }).click()
    await card.waitFor({ state: 'detached' })
    expect(await workflow.decisions()).toMatchObject([
      {
        decision: 'confirmed',
        by: 'local',
        comment: 'a good one',
        data: { limit: 250, account: 'travel', urgent: false },
      },
    ])
  })

  it('is confirmed, not rejected, by Enter in a field of its form', async () => {
    const { workflow, card } = await waitingPurchase('enter')
    await card.getByLabel('account').selectOption('other')
    await card.getByLabel('limit').press('Enter')
    await card.locator('input:invalid:focus').waitFor()
    expect(await workflow.decisions(), 'the form is not filled in yet').toEqual([])
    await card.getByLabel('limit').fill('7')
    await card.getByLabel('limit').press('Enter')
    await card.waitFor({ state: 'detached' })
    expect(await workflow.decisions()).toMatchObject([{ decision: 'confirmed', data: { limit: 7, account: 'other' } }])
  })

  async function waitingContract() {
    const workflow = await dashboard.geneva.start(Contract)
    await dashboard.under.runDue()
    await go('approvals')
    return {
      workflow,
      card: page.getByRole('article').filter({ has: page.locator(`a[href$="workflows/${workflow.id}"]`) }),
    }
  }

  it('of a schema that cannot be drawn is given its data as JSON', async () => {
    const { workflow, card } = await waitingContract()
    await card.getByLabel('Data').fill('{ "ink": "blue" }')
    await card.getByRole('button', { name: 'Confirm' }).click()
    await waitFor(async () => (await workflow.decisions()).length === 1)
    expect(await workflow.decisions()).toMatchObject([{ decision: 'confirmed', data: { ink: 'blue' } }])
    await workflow.cancel()
  })

  it('that takes two people is said to be confirmed when the second has, and not before', async () => {
    const { workflow, card } = await waitingContract()
    // What was told before is not taken for news.
    await page.reload()
    await card.getByLabel('Data').fill('{ "ink": "blue" }')
    await card.getByRole('button', { name: 'Confirm' }).click()
    await sees(page, 'Your confirmation of sign is recorded (1 of 2).')
    await card.getByText('1 of 2 have decided').waitFor()
    expect(await page.getByText('sign is confirmed.').count()).toBe(0)
    await workflow.cancel()
    const { workflow: other, card: second } = await waitingContract()
    await other.decide('sign', { decision: 'confirmed', by: 'ann', data: { ink: 'red' } })
    await second.getByText('1 of 2 have decided').waitFor()
    await second.getByLabel('Data').fill('{ "ink": "blue" }')
    await second.getByRole('button', { name: 'Confirm' }).click()
    await sees(page, 'sign is confirmed.')
    await dashboard.under.runDue()
    expect(await other.output('sign')).toBe(2)
  })

  it('does not leave the browser before its form is filled in, but a no needs no form', async () => {
    const { workflow, card } = await waitingPurchase('no')
    await card.getByRole('button', { name: 'Confirm' }).click()
    await card.locator('input:invalid:focus').waitFor()
    expect(await workflow.decisions()).toEqual([])
    await card.getByLabel('Comment').fill('too dear')
    await card.getByRole('button', { name: 'Reject' }).click()
    await card.waitFor({ state: 'detached' })
    expect(await workflow.decisions()).toMatchObject([{ decision: 'rejected', comment: 'too dear' }])
  })
})

describe('a dead letter', () => {
  async function deadPayout() {
    const workflow = await dashboard.geneva.start(Payout, { input: { account: 'wrong' } })
    await dashboard.under.runDue()
    const [letter] = await dashboard.geneva.deadLetters({ workflowId: workflow.id })
    await go(`dead-letters/${letter?.id}`)
    return workflow
  }

  it('is requeued with an input that somebody has corrected, and the workflow ends well', async () => {
    const workflow = await deadPayout()
    await page.getByRole('button', { name: 'Begin from this' }).click()
    const editor = page.getByLabel('Input', { exact: true })
    expect(await editor.inputValue()).toContain('"account": "wrong"')
    await editor.fill('{ "account": "right" }')
    await act('Requeue with the new input', 'Requeue')
    await sees(page, 'transfer is requeued.')
    await dashboard.under.runDue()
    expect(await workflow.output('transfer')).toEqual({ account: 'right' })
    expect(await stateOf(workflow.id)).toBe('finished')
  })

  it('whose input was cleared is not requeued with the old one: no input is written as null', async () => {
    const workflow = await deadPayout()
    const error = async () => (await dashboard.geneva.deadLetters({ workflowId: workflow.id }))[0]?.error?.message
    await page.getByLabel('Input', { exact: true }).fill('{ "account": "older" }')
    await act('Requeue with the new input', 'Requeue')
    await dashboard.under.runDue()
    expect(await error()).toBe('no such account: older')
    const [letter] = await dashboard.geneva.deadLetters({ workflowId: workflow.id })
    await go(`dead-letters/${letter?.id}`)
    await page.getByLabel('Input', { exact: true }).fill('')
    await sees(page, 'Write null for no input.')
    await page.getByRole('button', { name: 'Requeue with the new input' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Requeue' }).click()
    await dialog.getByText('The input is empty.').waitFor()
    expect(await stateOf(workflow.id)).toBe('dlq')
    await dialog.getByRole('button', { name: 'Back' }).click()
    await page.getByLabel('Input', { exact: true }).fill('null')
    await act('Requeue with the new input', 'Requeue')
    await dashboard.under.runDue()
    expect(await error(), 'it went by the input of the workflow').toBe('no such account: wrong')
    await dashboard.geneva.cancel(workflow.id)
  })

  it('is discarded, and the workflow goes on without the step', async () => {
    const workflow = await deadPayout()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByLabel('Then').selectOption('skip')
    await page.getByRole('dialog').getByLabel('Reason').fill('paid by hand')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await sees(page, 'discarded')
    await dashboard.under.runDue()
    expect(await stateOf(workflow.id)).toBe('finished')
  })
})

describe('a dead letter of a step that has waited for somebody', () => {
  it('offers no input to be corrected, which would be refused, and is requeued as it is', async () => {
    const workflow = await dashboard.geneva.start(Parcel)
    await workflow.signal('arrived', { at: 'nowhere' })
    await dashboard.under.runDue()
    const [letter] = await dashboard.geneva.deadLetters({ workflowId: workflow.id })
    await go(`dead-letters/${letter?.id}`)
    await sees(page, 'there is no input to correct')
    expect(await page.getByLabel('Input', { exact: true }).count()).toBe(0)
    await act('Requeue')
    await sees(page, 'arrived is requeued.')
  })
})

describe('a dead letter of a compensation', () => {
  it('has no input to be corrected, and is discarded without a word about the workflow, which keeps its end', async () => {
    const workflow = await dashboard.geneva.start(Lease)
    await dashboard.under.runDue()
    const [letter] = await dashboard.geneva.deadLetters({ workflowId: workflow.id })
    await go(`dead-letters/${letter?.id}`)
    await sees(page, 'Dead letter: undoing sign')
    await page.getByRole('button', { name: 'Requeue', exact: true }).waitFor()
    expect(await page.getByLabel('Input', { exact: true }).count()).toBe(0)
    await page.locator('main').getByRole('button', { name: 'Discard' }).click()
    expect(await page.getByRole('dialog').getByLabel('Then').count()).toBe(0)
    await page.getByRole('dialog').getByLabel('Reason').fill('burnt by hand')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await stateOf(workflow.id)).toBe('failed')
    expect(await dashboard.geneva.deadLetters({ workflowId: workflow.id })).toEqual([])
  })
})

describe('many workflows', () => {
  it('are paused where they were selected, and only those', async () => {
    const [one, two, three] = await dashboard.geneva.startMany(Patient, [{}, {}, {}])
    if (!one || !two || !three) throw new Error('There must be three.')
    await go('workflows?type=Patient&state=ready')
    for (const { id } of [one, three]) await page.getByLabel(`Select Patient ${id}`).check()
    await sees(page, '2 workflows selected')
    await act('Pause', 'Pause 2 workflows')
    await sees(page, 'Pause: done for 2 workflows.')
    expect(await Promise.all([one, two, three].map(({ id }) => stateOf(id)))).toEqual(['paused', 'ready', 'paused'])
  })

  it('are canceled by a filter, after their number was told and confirmed', async () => {
    await go('workflows?type=Patient&state=paused')
    await page.getByLabel('All that this filter finds').check()
    const { length } = (await dashboard.geneva.list(Patient, { state: 'paused' })).items
    await act('Cancel', `Cancel ${length} workflows`)
    await sees(page, `Cancel: done for ${length} workflows.`)
    expect((await dashboard.geneva.list(Patient, { state: 'paused' })).items).toEqual([])
  })
})

describe('workflows that a search does not reach all of', () => {
  it('are said to be more than are shown, and cannot be acted on together', async () => {
    const store = await dashboard.geneva.openedStore()
    const record = (index: number) => ({ type: 'Customer', idText: `cus_${index}`, idKind: 'string' }) as const
    const orders = Array.from({ length: 1001 }, (_, index) => makeOrder(store, { hero: record(index) }))
    await store.start(await Promise.all(orders))
    await go('workflows?q=cus_')
    await sees(page, 'at least 1,000 workflows', 'Not all were looked at', 'Search for more of the id.')
    expect(await barriersOn(page)).toEqual([])
    await page.getByLabel('All that this filter finds').check()
    await page.locator('main').getByRole('button', { name: 'Pause', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('One request does not reach all that fit').waitFor()
    expect(await dialog.getByRole('button', { name: /^Pause / }).isDisabled()).toBe(true)
    expect(await barriersOn(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Back' }).click()
    await go('workflows?q=cus_1')
    await sees(page, '112 workflows')
    expect(await page.getByText('Not all were looked at').count()).toBe(0)
  })
})

describe('the engine room', () => {
  it('pauses a queue and lets it go on', async () => {
    await go('queues')
    await page.getByRole('button', { name: 'Pause slow' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('the provider is down')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume slow' }).waitFor()
    await page.getByRole('row', { name: /Paused queue slow.*local.*the provider is down/ }).waitFor()
    const slow = async () => (await dashboard.geneva.queues.list()).find(({ name }) => name === 'slow')
    expect(await slow()).toMatchObject({ paused: true, pausedBy: 'local' })
    await page.getByRole('button', { name: 'Resume slow' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause slow' }).waitFor()
    expect(await slow()).toMatchObject({ paused: false })
  })

  it('pauses a schedule, lets it go on, and starts it at once', async () => {
    await go('schedules')
    const nightly = async () => dashboard.geneva.schedules.find('nightly')
    for (const [button, confirm, expected] of [
      ['Pause nightly', 'Pause', { paused: true }],
      ['Resume nightly', 'Resume', { paused: false }],
      ['Start now nightly', 'Start now', { paused: false }],
    ] as const) {
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('dialog').getByRole('button', { name: confirm }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await nightly()).toMatchObject(expected)
    }
    expect((await dashboard.geneva.list({ tag: 'schedule:nightly' })).items).toHaveLength(1)
  })
})

describe('every mutation of the API', () => {
  it('was asked for by a click above; only removing old workflows is left to the command line', () => {
    const left = routeTable()
      .filter(({ method }) => method === 'POST')
      .filter(({ method, path }) => {
        const pattern = new RegExp(`^${method} /api${path.replace(/:\w+/g, '[^/]+')}$`)
        return ![...asked].some(request => pattern.test(request))
      })
    expect(left.map(({ path }) => path)).toEqual(['/prune'])
  })
})
