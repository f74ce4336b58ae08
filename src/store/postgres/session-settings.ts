/**
 * What every statement of ours is run with. Whoever waits for a lock has a connection, and may keep others waiting: better to hear of
 * it, and to try again; but not before a deadlock would have been found, which takes a second. A process that was stopped in
 * mid-transaction keeps its locks no longer than that; others have to get on. And our statements look rows up: whatever a table holds when they are planned, it will not stay that small.
 */
const settings = [`lock_timeout = '2s'`, `idle_in_transaction_session_timeout = '5s'`, 'enable_seqscan = off']

/** Once, on a connection that is ours alone. */
export const setForSession = [...settings, `default_transaction_isolation = 'read committed'`]
  .map(setting => `set ${setting}`)
  .join('; ')

/** Behind a pooler what is set for longer would fall on whoever gets the server's connection next. */
export const setForTransaction = settings.map(setting => `set local ${setting}`).join('; ')

/**
 * Behind code of the application, whose settings, role, locks and tables must not fall on whoever gets the connection next. All that
 * `discard all` does, but prepared statements and plans stay: they are ours, and would have to be made again.
 */
export const resetSession = [
  'close all',
  'set session authorization default',
  // Users may have a role by default.
  'reset role',
  'reset all',
  'unlisten *',
  'select pg_advisory_unlock_all()',
  'discard temp',
  'discard sequences',
  setForSession,
].join('; ')
