/**
 * Every error that a user of the library can meet, each with a stable code. A message says what happened,
 * to which id, and what to do about it.
 */
export * from './errors/geneva-error.ts'
export * from './errors/mistakes.ts'
export * from './errors/request-errors.ts'
export * from './errors/running-errors.ts'
export * from './errors/steering-errors.ts'
export * from './errors/system-errors.ts'
