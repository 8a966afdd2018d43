import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { openLineWriter } from './line-writer.ts'
import { useLogFile } from './log-file.fake.ts'

const { fd, written } = useLogFile()

test('every line of many is written once and in order', async () => {
  const writer = openLineWriter(fd())
  const lines = Array.from({ length: 5_000 }, (_, i) => `${i} äöü ${'x'.repeat(i % 50)}\n`)

  for (const line of lines) writer.write(line)
  await writer.flush()

  expect(written()).toBe(lines.join(''))
})

test('a line is written when it is sent', async () => {
  const writer = openLineWriter(fd())

  writer.write('alone\n')
  writer.send()

  await expect.poll(written).toBe('alone\n')
})

test('without a reader, the newest lines are dropped and counted above a limit', async () => {
  const writer = openLineWriter(fd())
  const line = `${'x'.repeat(1023)}\n`

  for (let i = 0; i < 6 * 1024; i++) writer.write(line)
  await writer.flush()

  expect(written()).toMatch(/"dropped":\d+,"msg":"log lines dropped"/)
  expect(written().length).toBeLessThan(4.5 * 1024 * 1024)
})

test('a reader that reads late gets its lines, but cannot keep the process from ending', async () => {
  const file = join(temporaryFolder(), 'log')
  execFileSync('mkfifo', [file])
  const fd = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(fd))
  fill(fd)
  const writer = openLineWriter(fd)

  writer.write('late\n')
  await writer.flush()
  const flushed = writer.flush()
  // Linux has place for a write when a page of the pipe is free.
  const buffer = Buffer.alloc(65_536)
  readSync(fd, buffer)
  await flushed

  expect(buffer.toString('utf8', 0, readSync(fd, buffer))).toBe('late\n')
})

/** Writes into a pipe until it is full. */
function fill(fd: number): void {
  const writeForEver = () => {
    for (;;) writeSync(fd, 'x'.repeat(4096))
  }
  expect(writeForEver).toThrow('EAGAIN')
}
