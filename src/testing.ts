/**
 * The entry `geneva-drive/testing`: the real engine on a database that lasts for one test, with a clock that the test
 * moves. It needs no particular test runner.
 */
export { type TestGenevaOptions, testGeneva } from './testing/test-geneva.ts'
export type { FailOptions, TestKit } from './testing/test-kit.ts'
export type { TestStrategyOptions } from './testing/test-strategies.ts'
