/**
 * A worker in a process of its own, for what is measured across processes. Its argument is the database's options. Prints
 * a line when it is ready; when its input ends it stops, and prints as JSON what it has met.
 */
import { text } from 'node:stream/consumers'
import { type DatabaseOptions, Geneva } from '../src/index.ts'
import { ClaimCount } from './claim-count.ts'
import { FiveSteps, workerOptions } from './five-steps.ts'

const errors: string[] = []
const database = JSON.parse(process.argv[2] ?? '') as DatabaseOptions
const geneva = new Geneva({
  database,
  workflows: [FiveSteps],
  onError: error => errors.push(error instanceof Error ? error.message : String(error)),
})
const claims = new ClaimCount(await geneva.openedStore())
await geneva.startWorker(workerOptions)
process.stdout.write('ready\n')
await text(process.stdin)
await geneva.close()
process.stdout.write(`${JSON.stringify({ claims: claims.all, errors })}\n`)
