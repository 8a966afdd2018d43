import { expect, test } from 'vitest'
import { SkippingClock } from '../base/time/clock.fake.ts'
import type { ProbeResult } from '../store/cluster/webhook-probe.ts'
import { recordLog } from '../telemetry/logger.fake.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import { untilWebhooksSeen } from './loops.ts'

const unseen = (reason: string): ProbeResult => ({ result: 'unseen', reason })

/** Waits for the webhooks with these answers to probes; after the last one, the signal aborts. */
async function wait(...answers: (ProbeResult | Error)[]) {
  const { log, lines } = recordLog()
  const metrics = openMetrics()
  const clock = new SkippingClock()
  const aborter = new AbortController()
  const seen = await untilWebhooksSeen({
    async probe() {
      const answer = answers.shift()
      if (answers.length === 0 && (answer instanceof Error || answer?.result === 'unseen')) aborter.abort()
      if (answer instanceof Error) throw answer
      return answer ?? unseen('none')
    },
    log,
    metrics,
    clock,
    signal: aborter.signal,
  })
  const gauge = (await metrics.webhooksSeen.get()).values[0]?.value
  return {
    seen,
    gauge,
    waits: clock.skipped,
    log: lines.map(({ msg, reason }) => (reason ? `${msg}: ${reason}` : msg)),
  }
}

const WAITING = 'loops wait until the API server calls the webhooks'

test('the wait ends when the API server calls the webhooks; each reason is logged once', async () => {
  const { seen, gauge, log } = await wait(
    ...[
      unseen('not registered'),
      unseen('refused'),
      unseen('refused'),
      new Error('broken'),
      { result: 'seen' as const },
    ],
  )
  expect([seen, gauge]).toEqual([true, 1])
  expect(log).toEqual([`${WAITING}: refused`, `${WAITING}: Error: broken`, 'the API server calls the webhooks'])
})

test('on an API server without bindings there is nothing to wait for', async () => {
  expect(await wait({ result: 'notNeeded' })).toMatchObject({ seen: true, gauge: 1, log: [] })
})

test('the wait has a back-off of at most 12 s, and ends with its signal', async () => {
  const { seen, gauge, waits } = await wait(...Array.from({ length: 20 }, () => unseen('refused')))
  expect([seen, gauge]).toEqual([false, 0])
  expect(waits.slice(0, 3)).toEqual([100, 200, 400])
  expect(Math.max(...waits)).toBeLessThanOrEqual(12_000)
})
