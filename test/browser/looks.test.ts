/** How things look in Chromium: what fits its frame, what covers what, and how moments are written. */
import type { Locator } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { Buyers, Patient, Payout, Purchase, touch } from './sample-workflows.ts'
import { barriersOn, sees, sidewaysOn, useDashboard } from './use-dashboard.ts'

const dashboard = useDashboard()
const ids = { purchase: '', payout: '', patient: '', large: '', many: '', letter: '' }
const phone = { viewport: { width: 375, height: 812 }, hasTouch: true }
const elsewhere = { locale: 'de-DE', timezoneId: 'Asia/Tokyo' }

beforeAll(async () => {
  const { geneva, under } = dashboard
  ids.purchase = (await geneva.start(Purchase, { hero: Buyers.ref('ann') })).id
  ids.payout = (await geneva.start(Payout, { input: { account: 'wrong' } })).id
  ids.patient = (await geneva.start(Patient)).id
  const large = geneva.build(w => {
    let before: string[] = []
    for (let layer = 0; layer < 90; layer++) {
      const names = Array.from({ length: 10 }, (_, at) => `layer ${layer} ${at}`)
      for (const [at, name] of names.entries())
        w.node(name, { job: touch, args: { at }, dependsOn: before[at] === undefined ? null : [before[at]] })
      before = names
    }
  })
  ids.large = (await geneva.startGraph(large)).id
  const many = geneva.build(w => {
    w.fanOut(Array.from({ length: 1000 }).keys(), { job: touch, name: at => `n_${at}`, args: at => ({ at }) })
  })
  ids.many = (await geneva.startGraph(many)).id
  await geneva.pause(ids.large)
  await geneva.pause(ids.many)
  await under.runDue()
  ids.letter = (await geneva.deadLetters())[0]?.id ?? ''
})

describe('a drawn graph', () => {
  it('of a saga is all in its frame on a phone, and needs no map', async () => {
    const page = await dashboard.open(`workflows/${ids.purchase}`, phone)
    await page.locator('.node-box').first().waitFor()
    const frame = await boxOf(page.locator('.graph-canvas'))
    const boxes = await page.locator('.node-box').all()
    expect(boxes).toHaveLength(5)
    for (const box of boxes) {
      const { left, right } = await boxOf(box)
      expect(left).toBeGreaterThanOrEqual(frame.left)
      expect(right).toBeLessThanOrEqual(frame.right)
    }
    expect(await page.locator('.graph-map').count()).toBe(0)
    expect(await sidewaysOn(page)).toBe(0)
  })

  it('that is larger than its frame has a map in its proportions, which covers nothing and moves it', async () => {
    for (const viewport of [phone.viewport, { width: 1280, height: 900 }]) {
      const page = await dashboard.open(`workflows/${ids.large}`, { viewport })
      const map = page.getByRole('img', { name: 'Map of the graph' })
      await map.scrollIntoViewIfNeeded()
      const [frame, drawing, place] = [
        await boxOf(page.locator('.graph-canvas')),
        await boxOf(page.locator('.graph-canvas .react-flow')),
        await boxOf(map),
      ]
      expect(place.top).toBeGreaterThanOrEqual(drawing.bottom)
      expect(place.right).toBeLessThanOrEqual(frame.right)
      if (viewport.width > 1000) expect((place.right - place.left) / (place.bottom - place.top)).toBeGreaterThan(10)
      const first = page.locator('.node-box', { hasText: /^layer 0 0/ })
      await first.waitFor()
      await page.mouse.move(place.left + 10, (place.top + place.bottom) / 2)
      await page.mouse.down()
      await page.mouse.move(place.right - 10, place.bottom - 10, { steps: 5 })
      await page.mouse.up()
      await first.waitFor({ state: 'detached' })
      expect(await sidewaysOn(page)).toBe(0)
      expect(await barriersOn(page)).toEqual([])
    }
  })

  it('tells folded nodes by their job, where their names have nothing in common that could be read', async () => {
    const page = await dashboard.open(`workflows/${ids.many}`)
    await page.locator('.node-box .node-name', { hasText: /^touch\s*× 1,000$/ }).waitFor()
    expect(await page.getByTitle('n_0 … n_999').innerText()).toBe('touch')
  })
})

describe('a moment', () => {
  it('is written for the place of the viewer in sentences, reasons and timelines alike, with its zone on hover', async () => {
    const page = await dashboard.open(`workflows/${ids.patient}`, elsewhere)
    const inSentence = page.locator('.waiting-sentence time')
    const iso = (await inSentence.getAttribute('datetime')) ?? ''
    const expected = new Intl.DateTimeFormat('de-DE', {
      dateStyle: 'medium',
      timeStyle: 'medium',
      timeZone: 'Asia/Tokyo',
    }).format(new Date(iso))
    expect(await inSentence.innerText()).toBe(expected)
    expect(await page.locator('.waiting-sentence').innerText()).not.toContain('UTC')
    const title = (await inSentence.getAttribute('title')) ?? ''
    expect(title).toContain(new Date(iso).toISOString())
    expect(title).toMatch(/GMT\+9|JST/)
    await page.getByText('Node by node').click()
    expect(await page.locator('.reasons time').first().innerText()).toBe(expected)
    await page.getByRole('tab', { name: 'Timeline' }).click()
    const last = page.locator('.timeline-scale time').last()
    expect(await last.innerText()).toBe(expected)
    expect(await last.getAttribute('title')).toContain(new Date(iso).toISOString().slice(0, 19))
  })
})

describe('a sentence', () => {
  it('links to the dead letter that it names', async () => {
    const page = await dashboard.open(`workflows/${ids.payout}`)
    await page
      .locator('.waiting-sentence')
      .getByRole('link', { name: `letter ${ids.letter}` })
      .click()
    await page.waitForURL(`**/#/dead-letters/${ids.letter}`)
    await sees(page, 'no such account: wrong')
  })
})

describe('a chart', () => {
  it('draws a value that stands alone as a dot', async () => {
    const page = await dashboard.open('workers')
    const at = [0, 1, 2].map(minute => new Date(minute * 60_000).toISOString())
    await page.route('**/api/overview*', async route => {
      const response = await route.fetch()
      const point = { started: 0, finished: 0, failed: 0, stepsPerSecond: 0, p50: null, p95: null }
      const series = at.map((each, index) => ({ ...point, at: each, ...(index === 1 ? { p50: 40, p95: 80 } : {}) }))
      await route.fulfill({ response, json: { ...(await response.json()), series } })
    })
    await page.goto(`${dashboard.address}#/`)
    const latency = page.getByRole('img', { name: /^How long steps take/ })
    await latency.locator('circle').nth(1).waitFor()
    expect(await latency.locator('circle').count()).toBe(2)
  })
})

async function boxOf(locator: Locator) {
  await locator.waitFor()
  const box = await locator.boundingBox()
  if (box === null) throw new Error('It is not in sight.')
  return { left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height }
}
