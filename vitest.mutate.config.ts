/** The tests that mutants of src/core run against: those beside the code, with the same random values for each mutant. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/core/**/*.test.ts'],
    testTimeout: 300_000,
    isolate: false,
    setupFiles: ['test/fixed-seed.ts'],
  },
})
