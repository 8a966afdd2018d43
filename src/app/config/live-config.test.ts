import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
import { loadConfig } from './config.ts'
import { ConfigError } from './config-file.ts'
import { openLiveConfig } from './live-config.ts'

/** Longer than the polling interval of the file. */
const NEXT_LOOK_MS = 15_000

function follow(text = 'log: { level: info }') {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-live-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'config.yaml')
  writeFileSync(file, text)
  const write = (next: string) => writeFileSync(file, next)
  const clock = new TestClock()
  const told: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void told.push(JSON.parse(line).msg) })
  let reads = 0
  const read = () => {
    reads++
    return loadConfig(file)
  }
  const live = openLiveConfig({ config: loadConfig(file), source: { file, read }, log, clock })
  onTestFinished(() => live.stop())
  return { file, live, write, told, look: () => clock.advance(NEXT_LOOK_MS), reads: () => reads }
}

test('an unchanged file is not parsed again after other changes in its folder', () => {
  const { look, reads, write, told } = follow()
  for (let time = 0; time < 5; time++) look()
  expect(reads()).toBe(1)

  write('log: { level: debug }')
  for (let time = 0; time < 5; time++) look()
  expect([reads(), told]).toEqual([2, ['configuration read again', 'these changes take effect at the next start']])
})

test('a rejected file is logged as valid again after the old content is restored', () => {
  const { look, write, told, file } = follow()
  look()
  write('log: { level: loud }')
  expect(() => loadConfig(file)).toThrow(ConfigError)
  look()
  write('log: { level: info }')
  look()
  expect(told).toEqual(['invalid configuration; keeping the last valid one', 'configuration read again'])
})

test.each(['', '\n'])('an emptied file (%j) keeps the configuration until the file is written', (text) => {
  const { look, write, told, live } = follow('volumes: { movers: { maxPerNode: 3 } }')
  look()
  write(text)
  look()
  expect(live.current().volumes.movers.maxPerNode).toBe(3)
  write('volumes: { movers: { maxPerNode: 4 } }')
  look()
  expect(live.current().volumes.movers.maxPerNode).toBe(4)
  expect(told).toEqual(['invalid configuration; keeping the last valid one', 'configuration changed'])
})
