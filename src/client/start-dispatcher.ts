/** Starts a dispatcher on an open database; what it has to say goes where this instance says things. */
import { ClosedError } from '../errors.ts'
import { Dispatcher, type DispatcherOptions } from '../worker/dispatcher.ts'
import type { ErrorListener } from '../worker/error-listener.ts'
import type { Connection } from './connection.ts'

export async function startDispatcher(
  connection: Connection,
  errors: ErrorListener,
  options: DispatcherOptions,
): Promise<Dispatcher> {
  const { store } = (await connection.open()).engine
  // Closed meanwhile: nobody would stop it any more.
  if (connection.closed) throw new ClosedError()
  const dispatcher = new Dispatcher(options, {
    store,
    onError: error => errors.report(error, null),
    onTurnedDown: work => connection.telemetry?.tell({ kind: 'unserved', workerId: 'dispatcher', ...work }),
  })
  dispatcher.start()
  return dispatcher
}
