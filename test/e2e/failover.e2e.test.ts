// The purge mode that Karmada uses by default; the other one is in failover.full.test.ts.
import { testFailover } from './failover.ts'

testFailover('Gracefully')
