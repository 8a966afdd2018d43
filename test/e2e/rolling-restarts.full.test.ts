// The full form of the rolling restarts: `npm run e2e:full`. It takes 10 to 25 minutes on two cores.
import { testRollingRestarts } from './rolling-restarts.ts'

testRollingRestarts({ restarts: 20, workloads: 20_000, timeoutMs: 3_600_000 })
