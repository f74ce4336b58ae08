/**
 * One worker process of the demo. All that a worker needs is the database and the classes; the rest of this file is for
 * the show: it tells the parent which step it begins, and follows the parent's fast clock.
 */
import { Geneva } from '../src/index.ts'
import type { FromParent, StepBegins } from './demo/worker-process.ts'
import { allWorkflows } from './workflows/all-workflows.ts'

const [database = '', lease = ''] = process.argv.slice(2)

for (const workflow of allWorkflows) {
  workflow.beforeEach(wf => {
    const message: StepBegins = { begins: wf.execution.id }
    process.send?.(message)
  })
}

const geneva = new Geneva({ database, workflows: allWorkflows, onError: () => {} })

process.on('message', async (message: FromParent) => {
  const store = await geneva.openedStore()
  store.setClockOffset(message.clockOffsetMs)
})
// Ctrl-C reaches every process of the terminal; the parent alone decides what ends when.
process.on('SIGINT', () => {})
process.once('disconnect', async () => {
  await geneva.close()
  process.exit(0)
})

await geneva.startWorker({ concurrency: 4, lease: Number(lease), poll: 100, grace: 1000 })
