/**
 * Opens an engine for one test: on a database of its own, with its errors collected instead of printed.
 */
import type { GenevaOptions } from '../client/connection.ts'
import { Geneva } from '../client/geneva.ts'
import { useStrategies } from '../worker/strategies.ts'
import { CollectedErrors } from './collected-errors.ts'
import { temporaryDatabase } from './temporary-database.ts'
import { TestKit } from './test-kit.ts'
import { TestStrategies, type TestStrategyOptions } from './test-strategies.ts'

/** As for `new Geneva`, only that the database may be left out. */
export interface TestGenevaOptions extends Omit<GenevaOptions, 'database'>, TestStrategyOptions {
  /** Where to run instead of an embedded database in a temporary file. It is used as it is, and not emptied. */
  readonly database?: GenevaOptions['database']
}

/** An engine for a test. Close it with `await using`, or with `kit.close()` after the test. */
export async function testGeneva(options: TestGenevaOptions = {}): Promise<TestKit> {
  const { dispatch, bypassBackoff, ...forGeneva } = options
  const errors = new CollectedErrors(options.onError)
  const strategies = new TestStrategies({
    ...(dispatch === undefined ? {} : { dispatch }),
    ...(bypassBackoff === undefined ? {} : { bypassBackoff }),
  })
  const place = options.database === undefined ? temporaryDatabase() : { database: options.database, remove: () => {} }
  try {
    const geneva = new Geneva({ ...forGeneva, database: place.database, onError: errors.collect })
    const store = await geneva.openedStore()
    useStrategies(store, () => strategies.forWorker())
    return new TestKit({ geneva, store, errors, strategies, dispose: place.remove })
  } catch (error) {
    place.remove()
    throw error
  }
}
