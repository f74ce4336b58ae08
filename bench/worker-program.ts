/**
 * A worker in a process of its own, for what is measured across processes. Its arguments are the database's options and the
 * worker's. Prints a line when it is ready, begins when it is given one and prints another; when its input ends it stops, and
 * prints as JSON what it has met.
 */
import { createInterface } from 'node:readline'
import { type DatabaseOptions, Geneva, type WorkerOptions } from '../src/index.ts'
import { ClaimCount } from './claim-count.ts'
import { FiveSteps } from './five-steps.ts'

const errors: string[] = []
const [database = '', options = ''] = process.argv.slice(2)
const geneva = new Geneva({
  database: JSON.parse(database) as DatabaseOptions,
  workflows: [FiveSteps],
  onError: error => errors.push(error instanceof Error ? error.message : String(error)),
})
const claims = new ClaimCount(await geneva.openedStore())
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
process.stdout.write('ready\n')
if (!(await input.next()).done) {
  await geneva.startWorker(JSON.parse(options) as WorkerOptions)
  process.stdout.write('working\n')
  await input.next()
}
await geneva.close()
process.stdout.write(`${JSON.stringify({ claims: claims.all, errors })}\n`)
