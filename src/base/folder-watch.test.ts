import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { watchFolder } from './folder-watch.ts'
import { TestClock, until } from './time/clock.fake.ts'

test('a burst of changes is one report after a pause, and polling reports only changes', async () => {
  const directory = temporaryFolder()
  const clock = new TestClock()
  const reports: number[] = []
  const stop = watchFolder({
    directory,
    clock,
    debounceMs: 100,
    pollMs: 30_000,
    changed: () => reports.push(clock.now()),
    failed: (error) => expect.unreachable(error.message),
  })
  onTestFinished(stop)
  await writeFile(join(directory, 'a.yaml'), '')
  await until(() => clock.waits.length === 2)
  clock.advance(99)
  expect(reports).toEqual([])
  clock.advance(1)
  expect(reports).toEqual([100])
  clock.advance(30_000)
  expect(reports).toContain(30_000)
  stop()
  expect(clock.waits).toEqual([])
})
