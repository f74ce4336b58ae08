/** A worker process that runs random sagas until a signal ends it, or somebody kills it. */
import { Geneva } from '../../src/index.ts'
import type { CrashWorkerConfig } from './crash-worker.ts'
import { runningSaga } from './harness/saga-workflows.ts'

const config: CrashWorkerConfig = JSON.parse(process.argv[2] ?? '')
const tell = (message: object) => void (process.connected && process.send?.(message))
// The test may be gone before us; then there is nobody left to tell.
process.on('error', () => {})

const geneva = new Geneva({
  database: config.url,
  workflows: (config.seeds ?? []).map(seed => runningSaga(seed, config.bodyMs).workflow),
  onError: (error, context) => tell({ error: String(error), step: context?.step ?? null }),
})
const working = geneva.work(config.options)
tell({ ready: process.pid })
await working
process.channel?.unref()
