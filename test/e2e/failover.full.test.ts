// `npm run e2e:full` runs it.
import { testFailover } from './failover.ts'

testFailover('Directly')
