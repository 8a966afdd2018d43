import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, open, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { isStreamed } from '../http/messages.ts'
import { readPart } from './read-part.ts'

const MIB = 1 << 20
const SIZE = 18 * MIB
const signal = new AbortController().signal

const content = randomBytes(SIZE)
let path: string
let file: FileHandle

beforeEach(async () => {
  path = join(temporaryFolder(), 'file')
  await writeFile(path, content)
  file = await open(path, 'r')
})
afterEach(() => file.close())

async function openLarge(start: number, end: number) {
  const read: Buffer[] = []
  const { body, ...part } = await readPart(file, { start, end }, signal, (chunk) => void read.push(chunk))
  if (!isStreamed(body)) throw new Error('the part is in memory')
  return { ...part, body, read: Buffer.concat(read) }
}

async function sentOf(chunks: AsyncIterable<Uint8Array>): Promise<{ sent: Buffer; error: unknown }> {
  const sent: Uint8Array[] = []
  try {
    for await (const chunk of chunks) sent.push(chunk)
    return { sent: Buffer.concat(sent), error: undefined }
  } catch (error) {
    return { sent: Buffer.concat(sent), error }
  }
}

describe('a large part', () => {
  test('is read once for its checksums, and for each attempt to send it', async () => {
    const wanted = content.subarray(5, SIZE - 7)
    const part = await openLarge(5, SIZE - 7)

    expect(part.read.equals(wanted)).toBe(true)
    expect(part).toMatchObject({ bytes: wanted.length, body: { bytes: wanted.length } })
    expect(part.md5).toEqual(createHash('md5').update(wanted).digest())
    expect(part.body.sha256).toBe(createHash('sha256').update(wanted).digest('hex'))
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { sent, error } = await sentOf(part.body.chunks())
      expect({ isSame: sent.equals(wanted), error }).toEqual({ isSame: true, error: undefined })
    }
  })

  test.each<{ name: string; change: () => Promise<void> }>([
    { name: 'its first byte', change: () => writeFile(path, Buffer.from([(content[0] ?? 0) ^ 1]), { flag: 'r+' }) },
    { name: 'its length', change: () => truncate(path, SIZE - 1) },
    { name: 'everything', change: () => truncate(path, 0) },
  ])('is not sent to its end if a pod changes $name after its checksums', async ({ change }) => {
    const { body } = await openLarge(0, SIZE)
    await change()

    const { sent, error } = await sentOf(body.chunks())

    expect(error).toMatchObject({ code: 'SourceChanged' })
    expect(sent.length).toBeLessThan(SIZE)
  })

  test('of a file that became shorter says so', async () => {
    await truncate(path, 17 * MIB)
    expect(await openLarge(0, SIZE)).toMatchObject({ bytes: 17 * MIB, body: { bytes: 17 * MIB } })
  })
})
