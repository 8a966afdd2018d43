import { expect, test } from 'vitest'
import { Slots } from './limiter.ts'

const never = new AbortController().signal

/** Calls that the test ends, and the names of the calls that have begun. */
function calls(slots: Slots) {
  const begun: string[] = []
  const gates = new Map<string, () => void>()
  const call = (name: string, signal = never) =>
    slots.run(signal, () => {
      begun.push(name)
      return new Promise<string>((resolve) => gates.set(name, () => resolve(name)))
    })
  return { begun, call, end: (name: string) => gates.get(name)?.() }
}

test('as many calls run as there are slots, and the next one begins when one ends', async () => {
  const { begun, call, end } = calls(new Slots(2))
  const [a, b, c] = [call('a'), call('b'), call('c')]
  await expect.poll(() => begun).toEqual(['a', 'b'])
  end('b')
  expect(await b).toBe('b')
  await expect.poll(() => begun).toEqual(['a', 'b', 'c'])
  end('a')
  end('c')
  expect(await Promise.all([a, c])).toEqual(['a', 'c'])
})

test('a call that is aborted while it waits ends immediately and never begins', async () => {
  const { begun, call, end } = calls(new Slots(1))
  const aborter = new AbortController()
  const a = call('a')
  const aborted = call('b', aborter.signal)
  const c = call('c')
  aborter.abort(new Error('stopped'))
  await expect(aborted).rejects.toThrow('stopped')
  end('a')
  await a
  await expect.poll(() => begun).toEqual(['a', 'c'])
  end('c')
  await c
})

test('a call that fails frees its slot', async () => {
  const slots = new Slots(1)
  await expect(slots.run(never, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(await slots.run(never, async () => 'next')).toBe('next')
})
