/** Tests how a mover writes its Events to an API server. */
import { expect, test } from 'vitest'
import type { MoverMoment } from '../core/mover-contract/contract.ts'
import type { MoverEvent } from './event.ts'
import { openEventReporter } from './events.ts'

const identity = { pod: { name: 'mover-1', namespace: 'ns' }, node: 'node-1', attempt: 1 }
const report = (moment: MoverMoment, message = '') => ({
  moment,
  message,
  totalBytes: 0,
  doneBytes: 0,
  totalFiles: 0,
  doneFiles: 0,
})

function open(sink: (event: MoverEvent) => Promise<void>) {
  const failures: unknown[] = []
  const reporter = openEventReporter({ sink, identity, now: () => 0, failed: (error) => failures.push(error) })
  return { reporter, failures }
}

test('two hundred progress reports update one Event, in a few writes', async () => {
  const written: MoverEvent[] = []
  const { reporter } = open(async (event) => void written.push(event))
  for (let i = 0; i < 200; i++) reporter.report(report('progress', `${i}`))
  await reporter.flush(1000)

  expect(new Set(written.map(({ metadata }) => metadata.name)).size).toBe(1)
  expect(written.length).toBeLessThan(5)
  expect(written.at(-1)).toMatchObject({ count: 200, message: expect.stringContaining('"message":"199"') })
})

test('Events are written in the order of the reports before the flush resolves', async () => {
  const written: string[] = []
  const { reporter } = open(async ({ reason }) => void written.push(reason))
  for (const moment of ['started', 'progress', 'completed', 'stopped'] as const) reporter.report(report(moment))
  await reporter.flush(1000)

  expect(written).toEqual(['Data-Path-Started', 'Data-Path-Progress', 'Data-Path-Completed', 'Data-Path-Stopped'])
})

test('an Event that cannot be written is reported, and the next one is written', async () => {
  const written: string[] = []
  const { reporter, failures } = open(async ({ reason }) => {
    if (reason === 'Data-Path-Started') throw new Error('forbidden')
    written.push(reason)
  })
  reporter.report(report('started'))
  reporter.report(report('stopped'))
  await reporter.flush(1000)

  expect(written).toEqual(['Data-Path-Stopped'])
  expect(failures).toEqual([new Error('forbidden')])
})

test('the flush resolves after its timeout when the API server never answers', async () => {
  const { reporter } = open(() => new Promise(() => {}))
  reporter.report(report('stopped'))

  await reporter.flush(10)
})
