// `npm run e2e:full` runs it.
import { testChartUpgrade } from './chart-upgrade.ts'

testChartUpgrade({ isLong: true, timeoutMs: 600_000 })
