import { createRequire } from 'node:module'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { useLogFile } from './log-file.fake.ts'
import { type Logger, openLogger } from './logger.ts'

const { fd, written } = useLogFile()

afterEach(() => void vi.useRealTimers())

const open = () => openLogger({ level: 'info', format: 'json', output: { write: () => true, fd: fd() } })

/** Logs lines and counts the formatted ones. */
function say(log: Logger, times: number): () => number {
  let made = 0
  const line = { toJSON: () => ++made }
  for (let i = 0; i < times; i++) log.info({ line }, 'said')
  return () => made
}

const lines = (): unknown[] =>
  written()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

test('the formatter for terminals is loaded only for a pretty log', () => {
  const { cache } = createRequire(import.meta.url)
  const loaded = () => Object.keys(cache).filter((file) => file.includes('/pino-pretty/'))
  // The test of another file may have loaded it.
  for (const file of loaded()) delete cache[file]
  const lines: string[] = []
  const output = { write: (line: string) => lines.push(line) }

  openLogger({ level: 'info', format: 'auto', output }).log.info('as JSON')
  const loadedForJson = loaded()
  openLogger({ level: 'info', format: 'pretty', output }).log.info('for people')

  expect(loadedForJson).toEqual([])
  expect(loaded()).not.toEqual([])
  expect(lines).toEqual([
    expect.stringMatching(/^{.*"msg":"as JSON"}\n$/),
    expect.stringMatching(/] INFO: for people\n$/),
  ])
})

test('no line has characters of a tenant that a terminal would obey', async () => {
  const reason = 'no DataSource for table a\u001b[31m\u009b31m\u007f'
  const printed: string[] = []
  const output = { write: (line: string) => printed.push(line) }
  for (const format of ['json', 'pretty'] as const) {
    openLogger({ level: 'info', format, output, colorize: false }).log.info({ reason }, 'reviewed')
  }
  const { log, close } = open()
  log.info({ reason }, 'reviewed')
  await close()

  for (const text of [...printed, written()]) {
    expect(text).toContain(String.raw`table a\u001b[31m\u009b31m\u007f`)
    expect(text.trimEnd()).not.toMatch(/[\u007f-\u009f]/)
  }
  expect(lines()).toMatchObject([{ reason }])
})

test('a deferred line has the time of its call, and the order stays', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { log, close } = open()

  vi.setSystemTime('2026-11-20T10:00:00.001Z')
  log.child({ webhook: 'resource-binding' }).info({ uid: '1' }, 'reviewed')
  vi.setSystemTime('2026-11-20T10:00:00.002Z')
  log.warn('no leader')
  vi.setSystemTime('2026-11-20T10:00:05.000Z')
  await close()

  expect(lines()).toEqual([
    { level: 'info', time: '2026-11-20T10:00:00.001Z', webhook: 'resource-binding', uid: '1', msg: 'reviewed' },
    { level: 'warn', time: '2026-11-20T10:00:00.002Z', msg: 'no leader' },
  ])
})

test('a single line is written soon', async () => {
  const { log, close } = open()

  log.info('alone')

  await expect.poll(lines).toMatchObject([{ msg: 'alone' }])
  await close()
})

test('many lines do not wait for the timer, and none is formatted during the call', async () => {
  const { log, close } = open()

  const made = say(log, 200)
  const meanwhile = made()
  await turn()

  expect(meanwhile).toBe(0)
  expect(made()).toBe(200)
  await close()
})

test('lines without a pause are formatted too', async () => {
  const { log, close } = open()

  const made = say(log, 3_000)

  expect(made()).toBeGreaterThanOrEqual(2_000)
  await close()
  expect(lines()).toHaveLength(3_000)
})

test('lines below the level are not logged', async () => {
  const { log, close } = open()

  log.debug('detail')
  await close()

  expect(lines()).toEqual([])
})
