import pino from 'pino'
import { expect, test } from 'vitest'
import type { ServerInfo } from '../core/server-features.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import { openFeatureReport } from './features.ts'

/** Reports for each state of a server, and returns the log lines and the samples of the metric. */
async function report(...states: (() => Promise<ServerInfo>)[]) {
  const lines: unknown[] = []
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  )
  const metrics = openMetrics()
  let state = states[0] as () => Promise<ServerInfo>
  const reportAll = openFeatureReport({ readServerInfo: () => state(), usesGates: true, log, metrics })
  for (state of states) await reportAll()
  const { values } = await metrics.missingFeatures.get()
  return { lines, samples: values.map(({ labels, value }) => [labels.feature, value]) }
}

test('each missing feature is a warning and a sample of the metric', async () => {
  const { lines, samples } = await report(async () => ({ version: 'v1.26.1' }))

  expect(lines).toEqual([
    { level: 'warn', feature: 'matchConditions', version: 'v1.26.1', msg: expect.stringContaining('upgrade to') },
    { level: 'warn', feature: 'schedulingGates', version: 'v1.26.1', msg: expect.stringContaining('upgrade to') },
  ])
  expect(samples).toEqual([
    ['matchConditions', 1],
    ['schedulingGates', 1],
  ])
})

test('a server with all features is one line', async () => {
  expect(await report(async () => ({ version: 'v1.28.15' }))).toEqual({
    lines: [{ level: 'info', version: 'v1.28.15', msg: 'the API server has all features' }],
    samples: [],
  })
})

test('an error is a warning, and nothing else', async () => {
  const failed = () => Promise.reject(new Error('GET /version: 403 Forbidden'))
  expect(await report(failed)).toEqual({
    lines: [{ level: 'warn', reason: 'GET /version: 403 Forbidden', msg: 'features of the API server not checked' }],
    samples: [],
  })
})

test('nothing is reported twice, and an upgrade removes the samples', async () => {
  const older = async () => ({ version: 'v1.27.3' })
  const newer = async () => ({ version: 'v1.31.14' })
  const failed = () => Promise.reject(new Error('GET /version: 503 Service Unavailable'))

  const { lines, samples } = await report(older, older, failed, failed, older, newer, newer)

  expect(lines).toMatchObject([
    { level: 'warn', feature: 'matchConditions', version: 'v1.27.3' },
    { level: 'warn', reason: 'GET /version: 503 Service Unavailable' },
    { level: 'info', version: 'v1.31.14' },
  ])
  expect(samples).toEqual([])
})
