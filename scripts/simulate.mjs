/**
 * Plays random graphs with random failures, requests and deaths of workers against a simple model:
 * `npm run simulate -- --seeds 1000 --database postgres`. The simulation is TypeScript, compiled with the programs of the
 * tests.
 */
import { simulateCommand } from '../.build/test/simulation/simulate-command.js'
import { startDatabases } from './databases.mjs'

process.exitCode = await simulateCommand(process.argv.slice(2), kinds =>
  startDatabases({ only: kinds.filter(kind => kind !== 'sqlite') }),
)
