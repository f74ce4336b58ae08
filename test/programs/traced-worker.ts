/** Works off what is due in a process of its own, and says which spans that has made. */
import { Geneva } from '../../src/index.ts'
import { RecordedTelemetry } from './harness/recorded-telemetry.ts'
import { Relay } from './harness/traced-workflows.ts'

const [database = ''] = process.argv.slice(2)
const recorded = new RecordedTelemetry()
const geneva = new Geneva({
  database,
  workflows: [Relay],
  telemetry: { openTelemetry: recorded.api },
  onError: () => {},
})
await geneva.runDue()
await geneva.close()
process.send?.({ pid: process.pid, spans: recorded.spans() })
await recorded.end()
process.disconnect?.()
