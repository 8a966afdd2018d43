/** Properties of any bytes that an API server may send: they are decoded or rejected, and the next list is complete. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { resourceBindings } from '../../../api/karmada.ts'
import { buildBinding } from '../../objects.fake.ts'
import { ListDecoder } from './list-decoder.ts'
import { openStage, pass } from './reflector.fake.ts'
import { FrameDecoder, FrameTooLargeError } from './watcher.ts'

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const borders = [...new Set(at.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...borders].map((from, i) => bytes.subarray(from, borders[i]))
}

const borders = fc.array(fc.nat(), { maxLength: 6 })
const list = JSON.stringify({
  kind: 'List',
  items: [buildBinding('a'), buildBinding('b]}"\\')],
  metadata: { resourceVersion: '7', continue: '' },
})
/** A list with random bytes in one place. */
const editedList = fc
  .tuple(
    fc.nat({ max: list.length }),
    fc.nat({ max: 6 }),
    fc.oneof(fc.stringMatching(/^[{}[\]",:\\a1]{0,4}$/), fc.string({ unit: 'binary', maxLength: 4 })),
  )
  .map(([at, length, other]) => list.slice(0, at) + other + list.slice(at + length))

describe('the bytes of a list', () => {
  test('are rejected when they are not JSON, with any chunk borders and changes', () => {
    fc.assert(
      fc.property(editedList, borders, (text, at) => {
        const bytes = Buffer.from(text)
        const wanted = parsed(bytes.toString())
        const got = decoded(cut(bytes, at))
        expect(got?.items).toEqual(got && wanted ? itemsOf(wanted) : undefined)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('the bytes of a watch', () => {
  test('are lines or an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), borders, (bytes, at) => {
        const decoder = new FrameDecoder(100)
        try {
          const lines = cut(bytes, at).flatMap((chunk) => [...decoder.push(chunk)])
          expect(lines.every((line) => line.trim() !== '' && !line.includes('\n'))).toBe(true)
        } catch (error) {
          if (!(error instanceof FrameTooLargeError || error instanceof TypeError)) throw error
        }
      }),
    )
  })

  const value = fc.oneof(
    fc.constantFrom(null, 0, '', [], {}, { metadata: null }, { metadata: { resourceVersion: 7 } }),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const invalidFrame = fc.oneof(
    fc
      .record({
        type: fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', 'NEWER', '', null, 7),
        object: value,
      })
      .map((frame) => JSON.stringify(frame)),
    fc.constantFrom(
      '{',
      'null',
      '[]',
      '7',
      '"text"',
      '{"type":"ADDED"}',
      '{"object":{}}',
      '\u0000',
      '{"type":"ADDED","object":{"metadata":{"name":{},"resourceVersion":"9"}}}',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )

  test('may be invalid: afterwards the store serves the objects of the server', async () => {
    const stage = await openStage()
    const { server, clock, names } = stage
    server.put(resourceBindings, buildBinding('first'))
    await stage.start()
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(invalidFrame, { minLength: 1, maxLength: 4 }), borders, async (frames, at) => {
        await pass(clock, () => server.watches(resourceBindings).length > 0)
        const watch = server.watches(resourceBindings)[0]
        for (const chunk of cut(Buffer.from(frames.map((frame) => `${frame}\n`).join('')), at)) watch?.sendBytes(chunk)
        // A line without an end stops the watch in any state. The next watch or list is correct.
        watch?.sendBytes('{"type":"ADDED",')
        const name = `after-${++round}`
        server.put(resourceBindings, buildBinding(name))
        watch?.end()
        await pass(clock, () => names().includes(name) && names().includes('first'))
      }),
      { numRuns: 30 },
    )
  }, 60_000)
})

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined // It is not JSON.
  }
}

function decoded(chunks: readonly Uint8Array[]): { items: unknown[] } | undefined {
  const decoder = new ListDecoder()
  try {
    const items = chunks.flatMap((chunk) => decoder.push(chunk))
    decoder.end()
    return { items }
  } catch {
    return undefined // It was rejected.
  }
}

/** The items of a list; empty for a document without items, or with other values in their place. */
function itemsOf(document: object): unknown[] {
  const items: unknown = 'items' in document ? document.items : []
  return Array.isArray(items) ? items : []
}
