/** Starts a dispatcher on an open database; what it has to say goes where this instance says things. */
import { timerHandler } from '../engine/plan.ts'
import { ClosedError } from '../errors.ts'
import { Dispatcher, type DispatcherOptions } from '../worker/dispatcher.ts'
import type { ErrorListener } from '../worker/error-listener.ts'
import { UnservedSteps } from '../worker/unserved-steps.ts'
import type { Connection } from './connection.ts'

export async function startDispatcher(
  connection: Connection,
  errors: ErrorListener,
  options: DispatcherOptions,
): Promise<Dispatcher> {
  const { store } = (await connection.open()).engine
  // Closed meanwhile: nobody would stop it any more.
  if (connection.closed) throw new ClosedError()
  const steps = new UnservedSteps(store.housekeeping)
  const dispatcher = new Dispatcher(options, {
    store,
    noteUnserved: async work => {
      if (work.handler !== timerHandler) await steps.tell([work])
    },
    onError: error => errors.report(error, null),
    onTurnedDown: work => connection.telemetry?.tell({ kind: 'unserved', workerId: 'dispatcher', ...work }),
  })
  dispatcher.start()
  return dispatcher
}
