/**
 * Kills, stops and races real worker processes on real, durable databases, and audits what they leave:
 * `npm run crash -- --kills 200 --database postgres`. The harness is TypeScript, compiled with the programs of the tests.
 */
import { crashCommand } from '../.build/test/programs/harness/crash-command.js'
import { startDatabases } from './databases.mjs'

process.exitCode = await crashCommand(process.argv.slice(2), kinds =>
  startDatabases({ durable: true, only: kinds.filter(kind => kind !== 'sqlite') }),
)
