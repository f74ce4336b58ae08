/**
 * `npm run screenshots -- [folder]`: every page of the dashboard over the live demo, in light and dark, at the width of a desk
 * and of a phone. For people to look at; nothing is compared.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { chromiumProgram, launchArguments } from './browser/chromium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const [folder = mkdtempSync(join(tmpdir(), 'geneva-screenshots-')), only = '', given = ''] = process.argv.slice(2)
/** Long enough for something to have happened everywhere. */
const runsForMs = 25_000

const demo =
  given === ''
    ? spawn(process.execPath, [join(root, '.build/examples/main.js')], { stdio: ['ignore', 'pipe', 'inherit'] })
    : null
const browser = await chromium.launch({ executablePath: await chromiumProgram(), args: launchArguments })
try {
  const address = given === '' ? await addressOf() : given
  if (demo !== null) await pass(runsForMs)
  const pages = await pagesOf(address)
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const width of [1440, 390]) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } })
      const page = await context.newPage()
      page.on('console', message => message.type() === 'error' && console.error(message.text()))
      for (const [name, place] of pages) {
        if (only !== '' && !only.split(',').includes(name)) continue
        await page.goto(`${address}#/${place}`)
        await page.locator('h1').waitFor()
        await pass(600)
        const clip = { x: 0, y: 0, width, height: width === 390 ? 1500 : 900 }
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true, clip })
      }
      await context.close()
    }
  }
  console.log(folder)
} finally {
  await browser.close()
  demo?.kill('SIGINT')
}

/** @returns {Promise<string>} */
function addressOf() {
  return new Promise((resolve, reject) => {
    let text = ''
    demo?.stdout.setEncoding('utf8').on('data', chunk => {
      text += chunk
      const [address] = /http:\/\/\S+\//.exec(text) ?? []
      if (address) resolve(address)
    })
    demo?.once('close', () => reject(new Error(`The demo ended: ${text}`)))
  })
}

/**
 * @param {string} address
 * @returns {Promise<[name: string, place: string][]>}
 */
async function pagesOf(address) {
  const first = async (/** @type {string} */ query) => {
    const response = await fetch(`${address}api/${query}`)
    return /** @type {{ items: { id: string }[] }} */ (await response.json()).items[0]?.id ?? '0'
  }
  const saga = `workflows/${await first('workflows?type=OrderSaga&state=failed')}`
  return [
    ['overview', ''],
    ['workflows', 'workflows'],
    ['saga', saga],
    ['timeline', `${saga}?tab=timeline`],
    ['attempts', `${saga}?tab=attempts`],
    ['events', `${saga}?tab=events`],
    ['data', `${saga}?tab=data`],
    ['fan-out', `workflows/${await first('workflows?type=Newsletter')}`],
    ['import', `workflows/${await first('workflows?type=BulkImport')}`],
    ['hero', 'heroes/Person/ann'],
    ['approvals', 'approvals'],
    ['dead-letters', 'dead-letters'],
    ['dead-letter', `dead-letters/${await first('dead-letters')}`],
    ['schedules', 'schedules'],
    ['queues', 'queues'],
    ['workers', 'workers'],
    ['definitions', 'definitions'],
    ['definition', 'definitions/OrderSaga'],
  ]
}
