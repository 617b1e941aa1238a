import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { summaryReporter } from './test/support/summary-reporter.ts'

export default defineConfig({
  // The copy that Node picks for the packages: vite would pick another, and GraphQL refuses schemas of a second one.
  resolve: {
    alias: ['graphql', 'graphql/error'].map((name) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(import.meta.resolve(name)),
    })),
  },
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most of the time the tests wait for something: two at a time halve the run, also on two cores.
    maxWorkers: 2,
    globalSetup: './test/support/global-setup.ts',
    reporters: ['default', summaryReporter()],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
