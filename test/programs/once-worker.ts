/** A worker process that runs transactional steps until a signal ends it, or somebody kills it. Every other one opens the transactions itself. */
import { Geneva } from '../../src/index.ts'
import type { CrashWorkerConfig } from './crash-worker.ts'
import { Counting, countFor } from './harness/counting-workflow.ts'
import { driverTransactions } from './harness/driver-transactions.ts'

const config: CrashWorkerConfig = JSON.parse(process.argv[2] ?? '')
const tell = (message: object) => void (process.connected && process.send?.(message))
// The test may be gone before us; then there is nobody left to tell.
process.on('error', () => {})

countFor(config.bodyMs ?? [0, 0])
const geneva = new Geneva({
  database: config.url,
  workflows: [Counting],
  ...(process.pid % 2 === 0 ? { transactions: driverTransactions(config.url) } : {}),
  onError: (error, context) => tell({ error: String(error), step: context?.step ?? null }),
})
const working = geneva.work(config.options)
tell({ ready: process.pid })
await working
process.channel?.unref()
