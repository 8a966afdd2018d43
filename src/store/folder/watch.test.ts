import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { TestClock, until } from '../../time/clock.fake.ts'
import { buildBinding } from '../store.suite.ts'
import { names, openFolder, replicas } from './folder.fake.ts'
import { watchFolder } from './watch.ts'

describe('a watched folder', () => {
  test('shows new, changed and deleted files by itself, in new folders too', async () => {
    const { directory, complaints, write, start } = await openFolder()
    await write('a.yaml', buildBinding('a'))
    const store = await start({ watch: true, debounceMs: 1 })
    await write('a.yaml', buildBinding('a', { replicas: 9 }))
    await until(() => replicas(store, 'a') === 9)
    await write('new/b.yaml', buildBinding('b'))
    await until(() => names(store).length === 2)
    await rm(join(directory, 'a.yaml'))
    await until(() => names(store).join() === 'b')
    expect(complaints).toEqual([])
  })

  test('is let go by stop', async () => {
    const { write, start } = await openFolder()
    const store = await start({ watch: true, debounceMs: 1 })
    await Promise.all([store.stop(), store.stop()])
    await write('a.yaml', buildBinding('a'))
    await store.rescan()
    expect(names(store)).toEqual([])
  })
})

test('a burst of changes is told once it pauses, and a folder without any is looked at now and then', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lodestone-'))
  const clock = new TestClock()
  const told: number[] = []
  const stop = watchFolder({
    directory,
    clock,
    debounceMs: 100,
    pollMs: 30_000,
    changed: () => told.push(clock.now()),
    failed: (error) => expect.unreachable(error.message),
  })
  onTestFinished(async () => {
    stop()
    await rm(directory, { recursive: true })
  })
  await writeFile(join(directory, 'a.yaml'), '')
  await until(() => clock.waits.length === 2)
  clock.advance(99)
  expect(told).toEqual([])
  clock.advance(1)
  expect(told).toEqual([100])
  clock.advance(30_000)
  expect(told).toContain(30_000)
  stop()
  expect(clock.waits).toEqual([])
})
