/**
 * The live demo behind `npm start`: sample workflows, a worker and the dashboard in one process, on a SQLite file in a
 * temporary folder. Ctrl-C ends it and removes the file.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveHandler } from '../src/http.ts'
import { Geneva } from '../src/index.ts'
import { styled } from './demo/wording.ts'
import { cleanupSchedule } from './live/cleanup.ts'
import { liveWorkflows } from './live/live-workflows.ts'
import { keepStarting, startScenes } from './live/traffic.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-demo-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const geneva = new Geneva({
  database: `sqlite:${join(folder, 'demo.db')}`,
  workflows: liveWorkflows,
  schedules: [cleanupSchedule],
  onError: () => {},
})
await startScenes(geneva)
const served = await serve()
await geneva.startWorker({ concurrency: 50, poll: 200, grace: 1000 })
const stop = keepStarting(geneva)

for (const line of [
  styled('bold', 'Geneva Drive: live workflows on SQLite'),
  '',
  `  Dashboard   ${styled('cyan', `${served.url}/`)}`,
  `  Approve     ${styled('cyan', `${served.url}/#/approvals`)}`,
  `  Put right   ${styled('cyan', `${served.url}/#/dead-letters`)}`,
  '',
  'An import with progress, a newsletter to 1,000 readers, orders that are undone when they cannot be shipped, an expense that',
  'waits for you, a payout to an account that does not exist. Ctrl-C ends it. `npm start -- --headless` ends by itself.',
]) {
  console.log(line)
}

await Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => once(process, signal)))
stop()
await served.close()
await geneva.close()

/** The usual port, so that the address stays the same, or another one if somebody has it. */
async function serve() {
  const handler = geneva.handler()
  const { GENEVA_DEMO_PORT: port } = process.env
  if (port) return serveHandler(handler, { port: Number(port) })
  return serveHandler(handler, { port: 4100 }).catch(() => serveHandler(handler, { port: 0 }))
}
