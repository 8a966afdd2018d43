import { expect, test } from 'vitest'
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
