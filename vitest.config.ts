/** How the tests run: real databases from the global set-up, one process per worker, coverage for the pure folders only. */
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
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // Long: others may use the machine as well, and a test that waits for something in vain gives up before that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: {
      provider: 'v8',
      include: [
        'src/primitives/**',
        'src/definition/**',
        'src/engine/{transitions,decide,schedule,heal,wind-down,each-items,ancestry,plan,rename-row,change-draft}*',
        'src/engine/{finish-targets,id-pool}*',
      ],
      reporter: ['text', 'lcov'],
      thresholds: { lines: 90, functions: 90, branches: 90, statements: 90 },
    },
  },
})
