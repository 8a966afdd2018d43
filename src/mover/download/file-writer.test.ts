import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BlockPool, FileWriter } from './file-writer.ts'

const KIB = 1024

test.each([
  { what: 'smaller than a block', sizes: [1, 5, 0, 100] },
  { what: 'that fill a block exactly', sizes: [64 * KIB, 64 * KIB, 1] },
  { what: 'that do not divide a block', sizes: Array<number>(40).fill(10_007) },
  { what: 'larger than a block, between small ones', sizes: [7, 300 * KIB, 9, 128 * KIB, 128 * KIB + 1, 3] },
])('chunks $what are written in order, from a position on', async ({ sizes }) => {
  const folder = await mkdtemp(join(tmpdir(), 'lodestone-file-writer-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await using file = await open(join(folder, 'file'), 'w')
  const writer = new FileWriter(file, 10, new BlockPool())
  const written: Buffer[] = []
  const buffer = Buffer.alloc(300 * KIB)

  for (const [i, size] of sizes.entries()) {
    const chunk = buffer.subarray(0, size).fill(i + 1)
    written.push(Buffer.from(chunk))
    writer.write(chunk)
    // The buffer of a connection is used again.
    buffer.fill(0xff)
  }
  writer.flush()

  const content = await readFile(join(folder, 'file'))
  expect(content.subarray(10).equals(Buffer.concat(written))).toBe(true)
})

test('a block is used again after its release', () => {
  const pool = new BlockPool()
  const block = pool.take()
  pool.give(block)
  expect(pool.take()).toBe(block)
})
