/**
 * A savepoint at the beginning of a transaction in which code of the application runs. It is there for as long as that
 * transaction is: releasing it tells whether the code, or the server, has ended it meanwhile.
 */
import { raw } from './sql.ts'

export const setStepMark = raw('savepoint geneva_step')
export const findStepMark = raw('release savepoint geneva_step')
