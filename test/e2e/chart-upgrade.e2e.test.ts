import { testChartUpgrade } from './chart-upgrade.ts'

testChartUpgrade({ isLong: false, timeoutMs: 180_000 })
