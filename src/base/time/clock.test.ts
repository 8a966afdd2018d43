import { expect, onTestFinished, test } from 'vitest'
import { aborted, systemClock } from './clock.ts'

test('a wait with a negative delay ends immediately, without a warning of Node', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error) => warnings.push(warning)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))

  await new Promise<void>((resolve) => systemClock.after(-30, resolve))
  // Node emits warnings one tick after their cause.
  await new Promise(setImmediate)

  expect(warnings).toEqual([])
})

test.each([{ when: 'before' }, { when: 'during' }])(
  'a wait for a signal that aborts $when the wait ends',
  async ({ when }) => {
    const aborter = new AbortController()
    if (when === 'before') aborter.abort()
    const wait = aborted(aborter.signal)
    aborter.abort()

    await expect(wait).resolves.toBeUndefined()
  },
)
