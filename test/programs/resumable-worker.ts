/** A worker process for resumable steps: told by its one argument what to do, it works until a signal ends it. */
import { Geneva, type WorkerOptions } from '../../src/index.ts'
import { openAccess } from './harness/plain-access.ts'
import { resumableWorkflows, surroundItems, writeItem } from './harness/resumable-workflows.ts'

export interface ResumableWorkerConfig {
  readonly url: string
  readonly options: WorkerOptions
}

const config: ResumableWorkerConfig = JSON.parse(process.argv[2] ?? '')
const tell = (message: object) => void (process.connected && process.send?.(message))
// The test may be gone before us; then there is nobody left to tell.
process.on('error', () => {})

const access = await openAccess(config.url)
surroundItems({ write: (workflowId, item) => writeItem(access, workflowId, item), tell })
const geneva = new Geneva({
  database: config.url,
  workflows: resumableWorkflows,
  onError: error => tell({ error: String(error) }),
})
await geneva.migrate()
tell({ ready: process.pid })
await geneva.work(config.options)
tell({ stopped: process.pid })
await access.close()
// From here on nothing of ours keeps the process alive, if the engine keeps nothing either.
process.channel?.unref()
