/**
 * The tests of the pure folders by themselves: they need no database, and must reach nearly every line of the pure code without the help
 * of others. Counting lines takes as long as the code itself, so it is done here only.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
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
