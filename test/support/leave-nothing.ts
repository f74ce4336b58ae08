/**
 * Set-up file of every test file: the programs and databases that a file has left go away with it. The modules that keep
 * them are loaded once for all the files of a worker, so they cannot register this themselves.
 */
import { afterAll } from 'vitest'
import { dropOpenDatabases } from './databases.ts'
import './end-with-runner.ts'
import { killRunningPrograms } from './spawn-program.ts'

afterAll(async () => {
  await killRunningPrograms()
  await dropOpenDatabases()
})
