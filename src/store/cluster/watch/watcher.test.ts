import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { resourceBindings } from '../../../api/karmada.ts'
import { settle, until } from '../../../base/time/clock.fake.ts'
import { buildBinding } from '../../objects.fake.ts'
import { hang, isVersionRequest, isWatchRequest, reset, status, statusObject } from '../api-responses.fake.ts'
import { cut } from './cut.fake.ts'
import { openStage, pass, type Stage } from './reflector.fake.ts'
import { FrameDecoder, FrameTooLargeError } from './watcher.ts'

function watchCount({ server }: Stage): number {
  return server.watchRequests(resourceBindings).length
}

function lastWatch({ server }: Stage): URLSearchParams {
  return server.watchRequests(resourceBindings).at(-1)?.query ?? new URLSearchParams()
}

/** Ends the open watch after it lived long enough to count as healthy, and waits for the next one. */
async function endWatch(stage: Stage): Promise<void> {
  const count = watchCount(stage)
  stage.clock.advance(20_000)
  stage.server.watches(resourceBindings)[0]?.end()
  await until(() => watchCount(stage) === count + 1 && stage.server.watches(resourceBindings).length === 1)
}

describe('a watch', () => {
  test('begins at the version of the list, with bookmarks and a timeout', async () => {
    const stage = await openStage()
    const { metadata } = stage.server.put(resourceBindings, buildBinding('a'))
    await stage.start()
    expect(Object.fromEntries(lastWatch(stage))).toEqual({
      watch: 'true',
      resourceVersion: metadata.resourceVersion,
      allowWatchBookmarks: 'true',
      timeoutSeconds: '450',
    })
  })

  test.each([
    { chance: 0, want: '300' },
    { chance: 0.9999, want: '600' },
  ])('has a timeout of $want seconds for the random number $chance', async ({ chance, want }) => {
    const stage = await openStage()
    stage.clock.chance = chance
    await stage.start()
    expect(lastWatch(stage).get('timeoutSeconds')).toBe(want)
  })

  test('that the server ends is resumed immediately, after the last event or bookmark', async () => {
    const stage = await openStage()
    await stage.start()
    const { metadata } = stage.server.put(resourceBindings, buildBinding('a'))
    await until(() => stage.names().length === 1)
    await endWatch(stage)
    expect(lastWatch(stage).get('resourceVersion')).toBe(metadata.resourceVersion)
    stage.server.watches(resourceBindings)[0]?.send('BOOKMARK', { metadata: { resourceVersion: '4711' } })
    await endWatch(stage)
    expect(lastWatch(stage).get('resourceVersion')).toBe('4711')
    expect(stage.server.lists(resourceBindings)).toHaveLength(1)
  })

  test('treats resource versions as opaque strings', async () => {
    const stage = await openStage()
    await stage.start()
    stage.server.watches(resourceBindings)[0]?.send('BOOKMARK', { metadata: { resourceVersion: 'etcd/07-ä' } })
    stage.server.misbehave(isWatchRequest(resourceBindings), hang)
    stage.clock.advance(20_000)
    stage.server.watches(resourceBindings)[0]?.end()
    await until(() => watchCount(stage) === 2)
    expect(lastWatch(stage).get('resourceVersion')).toBe('etcd/07-ä')
  })

  test('with bookmarks only stays open and advances its version', async () => {
    const stage = await openStage()
    await stage.start()
    for (let minute = 0; minute < 5; minute++) {
      stage.clock.advance(60_000)
      stage.server.watches(resourceBindings)[0]?.bookmark()
      await until(() => (stage.store.contactAges()[0]?.ageMs ?? 1) === 0)
    }
    expect(watchCount(stage)).toBe(1)
    expect(stage.heard.filter((line) => line.startsWith('watch'))).toEqual([])
  })

  test('that becomes silent is resumed without the loss of an event', async () => {
    const stage = await openStage()
    await stage.start()
    const { metadata } = stage.server.put(resourceBindings, buildBinding('a'))
    await until(() => stage.names().length === 1)
    stage.clock.advance(90_000)
    stage.server.put(resourceBindings, buildBinding('b'))
    await until(() => stage.names().length === 2)
    expect(lastWatch(stage).get('resourceVersion')).toBe(metadata.resourceVersion)
    expect(stage.heard).toContain('watch silent')
    expect(stage.heard.filter((line) => line.startsWith('error'))).toEqual([])
    expect(stage.server.lists(resourceBindings)).toHaveLength(1)
  })

  test.each([
    { name: 'the server sends nothing from its version', end: (stage: Stage) => stage.clock.advance(90_000) },
    {
      name: 'the server was not reachable',
      end: async (stage: Stage) => {
        stage.server.misbehave(isWatchRequest(resourceBindings), reset)
        stage.clock.advance(20_000)
        stage.server.watches(resourceBindings)[0]?.end()
        await until(() => stage.heard.some((line) => line.startsWith('error watch failed')))
        stage.clock.advance(2000)
      },
    },
  ])('is replaced by a list after the server was restored from an older state: $name', async ({ end }) => {
    const stage = await openStage()
    stage.server.put(resourceBindings, buildBinding('a'))
    await stage.start()
    const restore = stage.server.objects.backUp()
    stage.server.put(resourceBindings, buildBinding('b'))
    stage.server.remove(resourceBindings, 'shop', 'a')
    await until(() => stage.names().join() === 'b')
    restore()
    await end(stage)
    await until(() => stage.names().join() === 'a')
    expect(stage.heard).toContain('list restored')
    expect(stage.changes).toEqual(['+b', '-a', '-b', '+a'])
    stage.server.put(resourceBindings, buildBinding('c'))
    await until(() => stage.names().join() === 'a,c')
  })

  test('that was silent is resumed when the server confirms that it is not older', async () => {
    const stage = await openStage()
    await stage.start()
    stage.server.misbehave(isVersionRequest(resourceBindings), status(500, 'InternalError'))
    stage.clock.advance(90_000)
    await until(() => stage.heard.some((line) => line.startsWith('error watch failed')))
    expect(watchCount(stage)).toBe(1)
    stage.clock.advance(2000)
    await until(() => watchCount(stage) === 2)
    expect(stage.server.requests.filter(isVersionRequest(resourceBindings))).toHaveLength(2)
    expect(stage.heard.filter((line) => line.startsWith('list'))).toEqual(['list initial', 'listed 0 items, 0 changes'])
  })

  test('without a response ends like a silent one', async () => {
    const stage = await openStage({ silenceMs: 5000 })
    stage.server.misbehave(isWatchRequest(resourceBindings), hang)
    await stage.store.start(new AbortController().signal)
    await until(() => watchCount(stage) === 1)
    stage.clock.advance(5000)
    await until(() => stage.server.watches(resourceBindings).length === 1)
    expect(stage.heard).toContain('watch silent')
  })

  test('that exceeds its timeout ends half a minute later, even with events', async () => {
    const stage = await openStage()
    await stage.start()
    for (let second = 0; second < 450 + 30; second += 60) {
      stage.server.watches(resourceBindings)[0]?.bookmark()
      await until(() => (stage.store.contactAges()[0]?.ageMs ?? 1) === 0)
      stage.clock.advance(60_000)
    }
    await until(() => watchCount(stage) === 2)
    expect(stage.heard).toContain('watch capped')
  })

  test('may be split into chunks anywhere, even inside a character', async () => {
    const stage = await openStage()
    await stage.start()
    const object = {
      ...buildBinding('größe-€-😀'),
      metadata: { namespace: 'shop', name: '😀€', resourceVersion: '900' },
    }
    for (const byte of Buffer.from(`${JSON.stringify({ type: 'ADDED', object })}\n`)) {
      stage.server.watches(resourceBindings)[0]?.sendBytes(Uint8Array.of(byte))
      await settle(1)
    }
    await until(() => stage.store.get(resourceBindings, 'shop', '😀€') !== undefined)
  })

  test('that breaks in the middle of an event receives this event again', async () => {
    const stage = await openStage()
    await stage.start()
    stage.server.watches(resourceBindings)[0]?.sendBytes('{"type":"ADDED","object":{"meta')
    stage.server.objects.put(resourceBindings, buildBinding('a'))
    await settle()
    stage.clock.advance(20_000)
    stage.server.watches(resourceBindings)[0]?.reset()
    await pass(stage.clock, () => stage.names().length === 1)
    expect(stage.server.lists(resourceBindings)).toHaveLength(1)
  })

  test('ignores events of an unknown type', async () => {
    const stage = await openStage()
    await stage.start()
    const watch = stage.server.watches(resourceBindings)[0]
    watch?.send('PAUSED', { ...buildBinding('a'), metadata: { name: 'a', resourceVersion: '900' } })
    watch?.send('ADDED', { ...buildBinding('b'), metadata: { name: 'b', resourceVersion: '901' } })
    await until(() => stage.names().length === 1)
    expect(stage.names()).toEqual(['b'])
    expect(stage.heard.filter((line) => line.startsWith('error'))).toEqual([])
  })
})

describe('a watch that fails', () => {
  test.each([
    { name: 'a connection that is reset', answer: reset },
    { name: 'HTTP 500', answer: status(500, 'InternalError') },
    { name: 'HTTP 401', answer: status(401, 'Unauthorized') },
    { name: 'HTTP 403', answer: status(403, 'Forbidden') },
    { name: 'HTTP 503', answer: status(503, 'ServiceUnavailable') },
  ])('by $name is resumed from the same version after a pause, without a list', async ({ answer }) => {
    const stage = await openStage()
    stage.server.misbehave(isWatchRequest(resourceBindings), answer)
    await stage.store.start(new AbortController().signal)
    await until(() => stage.heard.some((line) => line.startsWith('error watch failed')))
    await settle()
    expect(watchCount(stage)).toBe(1)
    stage.clock.advance(400)
    await until(() => stage.server.watches(resourceBindings).length === 1)
    expect(
      new Set(stage.server.watchRequests(resourceBindings).map(({ query }) => query.get('resourceVersion'))).size,
    ).toBe(1)
    expect(stage.server.lists(resourceBindings)).toHaveLength(1)
  })

  test('by a reset is resumed without the loss of an event', async () => {
    const stage = await openStage()
    await stage.start()
    stage.clock.advance(20_000)
    stage.server.watches(resourceBindings)[0]?.reset()
    stage.server.put(resourceBindings, buildBinding('a'))
    await pass(stage.clock, () => stage.names().length === 1)
  })

  test('by an ERROR event of 500 is resumed from the same version', async () => {
    const stage = await openStage()
    await stage.start()
    stage.server.watches(resourceBindings)[0]?.send('ERROR', statusObject(500, 'InternalError'))
    await pass(stage.clock, () => watchCount(stage) === 2)
    expect(stage.server.lists(resourceBindings)).toHaveLength(1)
    expect(stage.heard).toContain('error watch failed: watch of resourcebindings: the server says InternalError')
  })

  test.each([
    { name: 'with a header', headers: { 'retry-after': '7' } },
    { name: 'with a limit for a header of a day', headers: { 'retry-after': '86400' }, wantMs: 300_400 },
  ])('by 429 waits for Retry-After: $name', async ({ headers, wantMs = 7400 }) => {
    const stage = await openStage()
    stage.server.misbehave(isWatchRequest(resourceBindings), status(429, 'TooManyRequests', headers))
    await stage.store.start(new AbortController().signal)
    await until(() => stage.clock.waits.length === 1)
    expect(stage.clock.waits).toEqual([wantMs])
    stage.clock.advance(wantMs)
    await until(() => stage.server.watches(resourceBindings).length === 1)
  })

  test('by repeated immediate ends is delayed', async () => {
    const stage = await openStage()
    const close = (response: { end(): unknown }): void => void response.end()
    stage.server.misbehave(isWatchRequest(resourceBindings), ...Array.from({ length: 6 }, () => close))
    await stage.store.start(new AbortController().signal)
    const waits: number[] = []
    for (let attempt = 1; attempt <= 6; attempt++) {
      await until(() => watchCount(stage) === attempt && stage.clock.waits.length === 1)
      waits.push(stage.clock.waits[0] ?? 0)
      stage.clock.advance(waits.at(-1) ?? 0)
    }
    expect(waits).toEqual([400, 800, 1600, 3200, 6400, 12_800])
  })
})

function decode(chunks: Uint8Array[], maxBytes?: number): string[] {
  const decoder = new FrameDecoder(maxBytes)
  return chunks.flatMap((chunk) => [...decoder.push(chunk)])
}

describe('watch frames', () => {
  test('are complete and in order, with any chunk borders', () => {
    const lines = fc.array(
      fc
        .string({ unit: 'binary', minLength: 1 })
        .filter((line) => !line.includes('\n') && line.trim() !== '' && line.isWellFormed()),
    )
    fc.assert(
      fc.property(lines, fc.array(fc.nat({ max: 40 })), (wanted, sizes) => {
        const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''))
        expect(decode(cut(bytes, sizes))).toEqual(wanted.map((line) => line.replace(/^\uFEFF/, '')))
      }),
    )
  })

  test('may end with LF or CRLF, and empty lines are skipped', () => {
    expect(decode([Buffer.from('{"a":1}\r\n\n  \n{"b":2}\n')]).map((line) => JSON.parse(line))).toEqual([
      { a: 1 },
      { b: 2 },
    ])
  })

  test('without an end throw at a limit', () => {
    const decoder = new FrameDecoder(100)
    expect([...decoder.push(new Uint8Array(60))]).toEqual([])
    expect(() => [...decoder.push(new Uint8Array(60))]).toThrow(FrameTooLargeError)
  })

  test('have a size limit each, not for their sum', () => {
    const line = `${'x'.repeat(90)}\n`
    expect(decode([Buffer.from(line.repeat(1000))], 100)).toHaveLength(1000)
    expect(() => decode([Buffer.from(`${'x'.repeat(101)}\n`)], 100)).toThrow(FrameTooLargeError)
  })

  test('that are incomplete are not returned', () => {
    expect(decode([Buffer.from('{"a":1}\n{"type":"ADD')])).toEqual(['{"a":1}'])
  })

  test('that are not UTF-8 throw, since a replaced character could change a name', () => {
    expect(() => decode([Uint8Array.of(0xff, 0xfe, 0x0a)])).toThrow(TypeError)
  })
})
