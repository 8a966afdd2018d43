import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** What a test waits for comes within milliseconds, but not on a machine that is busy with other things. */
const patient = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 45_000 } } }

/** Processes that tests start do not compile TypeScript again that did not change. */
const compiled = { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules', '.cache', 'node-compile') }

const endToEnd = {
  testTimeout: 300_000,
  hookTimeout: 900_000,
  // A file waits for its control plane more than it uses the CPU: two at once keep two cores busy.
  maxWorkers: 2,
  // No test needs another one. The seed is in the output: `--sequence.seed=N` repeats an order.
  sequence: { shuffle: { tests: true }, groupOrder: 1 },
  env: compiled,
}

export default defineConfig({
  test: {
    // Tests wait for a part of their time, so one worker more than processors keeps these busy. The command itself hardly uses one.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'test/prose/*.test.ts', '.ci/**/*.test.ts'],
          // The files of a worker share their modules: to load them anew for each file takes two thirds of the CPU time. So a test must not
          // depend on the state of a module, and restores what it replaces.
          isolate: false,
          env: compiled,
          ...patient,
          // Nothing here waits for another process for long: a look every 10 ms is cheap, and ends most waits five times earlier.
          expect: { poll: { ...patient.expect.poll, interval: 10 } },
        },
      },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], env: compiled, ...patient } },
      { test: { name: 'e2e', include: ['test/e2e/**/*.e2e.test.ts'], ...endToEnd } },
      { test: { name: 'full', include: ['test/e2e/**/*.full.test.ts'], ...endToEnd } },
    ],
  },
})
