// The short form of the rolling restarts, for every run; the full one is in rolling-restarts.full.test.ts.
import { testRollingRestarts } from './rolling-restarts.ts'

testRollingRestarts({ restarts: 2, workloads: 400, timeoutMs: 600_000 })
