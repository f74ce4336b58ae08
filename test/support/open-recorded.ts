/** A store on a database of its own that remembers its statements, so that a test can ask how they are carried out. */
import type { DatabaseOptions } from '../../src/store/database-options.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import type { TestDatabase } from './databases.ts'
import { planners } from './planners.ts'
import { type Recording, recordingDatabase } from './recording-database.ts'

export interface Recorded {
  readonly real: Database
  readonly recording: Recording
  readonly store: SqlStore
}

export async function openRecorded(
  database: TestDatabase,
  options: Pick<DatabaseOptions, 'keyType'> = {},
): Promise<Recorded> {
  const { url } = await database.isolated()
  const real = await planners[database.name].open(url)
  const recording = recordingDatabase(real)
  const store = new SqlStore(recording.database, options)
  await store.migrate()
  return { real, recording, store }
}
