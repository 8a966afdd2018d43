/** Tests the flush of files while more data arrives. */
import type { FileHandle } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { BackgroundFlush } from './background-flush.ts'

/** A file whose flushes end when the test says so. */
function slowFile() {
  const flushes: PromiseWithResolvers<void>[] = []
  const datasync = () => {
    const flush = Promise.withResolvers<void>()
    flushes.push(flush)
    return flush.promise
  }
  return { flushes, file: { datasync } as unknown as FileHandle }
}

test('one flush runs at a time, and the end waits for it', async () => {
  const { file, flushes } = slowFile()
  const flush = new BackgroundFlush()
  for (let part = 0; part < 3; part++) flush.begin(file)
  expect(flushes).toHaveLength(1)
  flushes[0]?.resolve()
  await flush.end()

  flush.begin(file)
  const order: string[] = []
  const ended = flush.end().then(() => order.push('ended'))
  order.push('the flush ends')
  flushes[1]?.resolve()
  await ended
  expect(order).toEqual(['the flush ends', 'ended'])
})

test('an error of the disk ends the download: the kernel does not report it again', async () => {
  const { file, flushes } = slowFile()
  const flush = new BackgroundFlush()
  flush.begin(file)
  flushes[0]?.reject(new Error('EIO: i/o error, fdatasync'))
  await expect(flush.end()).rejects.toThrow('EIO')
  expect(() => flush.begin(file)).toThrow('EIO')
  expect(flushes).toHaveLength(1)
})
