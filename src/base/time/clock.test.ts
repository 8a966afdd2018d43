import { expect, onTestFinished, test } from 'vitest'
import { aborted, systemClock, untilAborted, withTimeout } from './clock.ts'

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

const never = () => new Promise<string>(() => undefined)

test.each([{ when: 'before' }, { when: 'during' }])(
  'an abort $when the wait for work rejects with its reason at once',
  async ({ when }) => {
    const aborter = new AbortController()
    if (when === 'before') aborter.abort(new Error('stopped'))
    const outcomes = Promise.allSettled([
      untilAborted(never(), aborter.signal),
      withTimeout({ timeoutMs: 60_000, late: new Error('late') }, aborter.signal, never),
    ])
    aborter.abort(new Error('stopped'))

    expect((await outcomes).map((each) => each.status === 'rejected' && each.reason.message)).toEqual([
      'stopped',
      'stopped',
    ])
  },
)

test('work within a time gets a signal, and is ended by its reason after the time', async () => {
  const { signal } = new AbortController()
  const late = new Error('late')

  expect(await withTimeout({ timeoutMs: 60_000, late }, signal, async ({ aborted }) => `aborted: ${aborted}`)).toBe(
    'aborted: false',
  )
  const reasons: unknown[] = []
  const slow = (limited: AbortSignal) => {
    limited.addEventListener('abort', () => reasons.push(limited.reason))
    return never()
  }
  await expect(withTimeout({ timeoutMs: 1, late }, signal, slow)).rejects.toBe(late)
  expect(reasons).toEqual([late])
})
