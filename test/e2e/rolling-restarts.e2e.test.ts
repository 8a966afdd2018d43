// The short form of the rolling restarts, for every run; the full one is in rolling-restarts.full.test.ts.
import { testRollingRestarts } from './rolling-restarts.ts'

testRollingRestarts({ restarts: 3, workloads: 1_000, timeoutMs: 600_000 })
