/** The dashboard of a process that does not have the code of the workflows, like `geneva dashboard --database`. */
import { expect, it } from 'vitest'
import { Buyers, Purchase, samples } from './sample-workflows.ts'
import { barriersOn, sees, useDashboard } from './use-dashboard.ts'

const dashboard = useDashboard({}, {})

it('an approval whose form is not known here takes its data as JSON, and the step gets it', async () => {
  const elsewhere = dashboard.under.another(samples)
  const workflow = await elsewhere.start(Purchase, { hero: Buyers.ref('far') })
  await elsewhere.runDue()
  const page = await dashboard.open('approvals')
  await sees(page, 'May this be bought?', 'JSON, if the step asks for data.')
  expect(await barriersOn(page)).toEqual([])
  await page.getByLabel('Data').fill('{ "limit": 5, ')
  await page.getByRole('button', { name: 'Confirm' }).click()
  await sees(page, 'The data is not JSON.')
  expect(await workflow.decisions()).toEqual([])
  await page.getByLabel('Data').fill('{ "limit": 5, "account": "other" }')
  await page.getByRole('button', { name: 'Confirm' }).click()
  await sees(page, 'Nothing waits for you.')
  const data = { limit: 5, account: 'other' }
  expect(await workflow.decisions()).toMatchObject([{ decision: 'confirmed', by: 'local', data }])
  await elsewhere.runDue()
  expect(await workflow.output('approve')).toEqual(data)
})
