import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from './clock.ts'

test('a wait whose end has passed ends at once and without a warning of Node', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error) => warnings.push(warning)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))

  await new Promise<void>((resolve) => systemClock.after(-30, resolve))
  // Warnings are emitted one tick later than their cause.
  await new Promise(setImmediate)

  expect(warnings).toEqual([])
})
