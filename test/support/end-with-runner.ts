/**
 * Ends the worker process when the runner has gone, so that a killed run leaves nothing behind. Vitest itself lets an
 * orphaned worker finish its tests.
 */
process.once('disconnect', () => process.exit(1))
