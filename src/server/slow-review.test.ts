import { expect, test } from 'vitest'
import { recordLog } from '../telemetry/logger.fake.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import { serveCalls } from './call.ts'

test('a slow decision is logged as a warning with its size, and is counted', async () => {
  const { log, lines } = recordLog()
  const metrics = openMetrics()
  let now = 0
  const serve = serveCalls(
    {
      name: 'pod',
      expects: 'an AdmissionReview',
      logMessages: { answered: 'reviewed', refused: 'review refused', failed: 'review failed' },
      decode: (parsed) => ({ request: parsed as { ms: number } }),
      decide({ ms }) {
        now += ms
        return { body: '{}', decision: 'allowed', line: {} }
      },
      describe: () => ({}),
    },
    { log, metrics },
    () => now,
  )

  serve('{"ms":99}')
  serve('{"ms":100}')

  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    ['info', 'reviewed'],
    ['info', 'reviewed'],
    ['warn', 'slow decision'],
  ])
  expect(lines.at(-1)).toMatchObject({ webhook: 'pod', characters: 10, ms: 100 })
  expect(await metrics.registry.metrics()).toContain('lodestone_slow_reviews_total{webhook="pod"} 1')
})
