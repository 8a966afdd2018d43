import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { until } from '../../base/time/clock.fake.ts'
import { buildBinding } from '../objects.fake.ts'
import { names, openFolder, replicas } from './folder.fake.ts'

describe('a watched folder', () => {
  test('updates the store for new, changed and deleted files, even in new folders', async () => {
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

  test('is not watched after stop', async () => {
    const { write, start } = await openFolder()
    const store = await start({ watch: true, debounceMs: 1 })
    await Promise.all([store.stop(), store.stop()])
    await write('a.yaml', buildBinding('a'))
    await store.rescan()
    expect(names(store)).toEqual([])
  })
})
