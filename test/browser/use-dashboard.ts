/**
 * The dashboard in a real browser: served by the real handler over a real SQLite file, one Chromium for each test file. Every
 * page that is opened keeps what it complains about, and a test that leaves complaints fails.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { chromiumProgram, launchArguments } from '../../scripts/browser/chromium.mjs'
import { type Served, serveHandler } from '../../src/http.ts'
import type { HandlerOptions } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { GenevaUnderTest } from '../support/use-geneva.ts'
import { samples } from './sample-workflows.ts'

const built = fileURLToPath(new URL('../../dist/dashboard/index.html', import.meta.url))
/** Chromium may have to be fetched first, and a busy machine takes its time to start it. */
const patienceMs = 180_000
const stepMs = 20_000

export class DashboardUnderTest {
  readonly under: GenevaUnderTest
  readonly complaints: string[] = []
  readonly #options: HandlerOptions
  #browser: Browser | null = null
  #served: Served | null = null

  constructor(under: GenevaUnderTest, options: HandlerOptions) {
    this.under = under
    this.#options = options
  }

  get geneva() {
    return this.under.geneva
  }

  /** Where the dashboard lies, with a slash at the end. */
  get address(): string {
    return `${this.#served?.url}${this.#options.basePath ?? ''}/`
  }

  async start(): Promise<void> {
    if (!existsSync(built)) throw new Error('The dashboard is not built: run npm run build first.')
    await this.under.open()
    this.#served = await serveHandler(this.geneva.handler(this.#options), { port: 0 })
    this.#browser = await chromium.launch({ executablePath: await chromiumProgram(), args: launchArguments })
  }

  /** A page in a profile of its own, at a place like `workflows/7`. */
  async open(place: string, options: BrowserContextOptions = {}): Promise<Page> {
    if (this.#browser === null) throw new Error('The tests have not begun yet.')
    const context = await this.#browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
    context.setDefaultTimeout(stepMs)
    const page = await context.newPage()
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
    page.on('pageerror', error => this.complaints.push(String(error)))
    page.on('dialog', async dialog => {
      this.complaints.push(`A dialog opened: ${dialog.message()}`)
      await dialog.dismiss()
    })
    page.on('request', request => {
      if (!request.url().startsWith(this.address)) this.complaints.push(`Asked for ${request.url()}`)
    })
    await page.goto(`${this.address}#/${place}`)
    await page.locator('main h1').waitFor()
    return page
  }

  async stop(): Promise<void> {
    await this.#browser?.close()
    await this.#served?.close()
    await this.under.close()
  }
}

/** One dashboard for the tests of a file, in a process that has the code of the samples unless it is told other. */
export function useDashboard(
  options: HandlerOptions = {},
  code: Partial<typeof samples> = samples,
): DashboardUnderTest {
  const [sqlite] = databases
  if (sqlite === undefined) throw new Error('There is no database to test on.')
  const dashboard = new DashboardUnderTest(new GenevaUnderTest(sqlite, code), options)
  beforeAll(() => dashboard.start(), patienceMs)
  afterEach(() => {
    expect(dashboard.complaints.splice(0)).toEqual([])
  })
  afterAll(() => dashboard.stop())
  return dashboard
}

/** What the accessibility checker finds wrong with the page as it is now, in a line each. */
export async function barriersOn(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`)
  const options = { resultTypes: ['violations'], ...(rules === 'all' ? {} : { runOnly: ['color-contrast'] }) }
  const found = await page.evaluate<{ id: string; nodes: { html: string; failureSummary?: string }[] }[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(result => result.violations)`,
  )
  return found.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  )
}

/** Waits until the text stands somewhere on the page, in sight. */
export async function sees(page: Page, ...texts: readonly (string | RegExp)[]): Promise<void> {
  for (const text of texts) await page.locator('body').getByText(text).locator('visible=true').first().waitFor()
}

/** How far the page can be scrolled sideways: a phone should never have to. */
export function sidewaysOn(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')
}
