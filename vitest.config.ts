/** How the tests run: real databases from the global set-up, one process per worker. `vitest.unit.config.ts` measures coverage. */
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/types/**', 'node_modules/**'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/leave-nothing.ts'],
    pool: 'forks',
    // A process of its own for each of a hundred files, with the engine loaded anew, took nearly a quarter of a run.
    isolate: false,
    // One more than there are cores where it runs: many tests wait for clocks and processes.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Long: others may use the machine as well, and a test that waits for something in vain gives up before that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
