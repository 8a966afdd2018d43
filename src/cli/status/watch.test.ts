/** What a reader of `status --watch` gets. */
import { expect, test } from 'vitest'
import { makeClaim } from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { openFolderStore } from '../../store/folder/folder.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { watchStatus } from './watch.ts'

test('a reader that pauses gets only the last status when it continues', async () => {
  const store = openFolderStore({ kinds: cachedKinds })
  await store.start(AbortSignal.timeout(60_000))
  const ending = new AbortController()
  const written: string[] = []
  let looksOfPause = 0
  const stdout = {
    write: (text: string) => written.push(text),
    get writableNeedDrain() {
      return looksOfPause-- > 0
    },
  }
  const io = { stdout, stderr: stdout, env: {}, now: Date.now, signal: ending.signal }
  const watching = watchStatus(store, io, async () => `${store.size(dataSourceClaims)} claims\n`, 'text')
  await expect.poll(() => written).toEqual(['0 claims\n'])

  looksOfPause = 3
  await store.create(dataSourceClaims, makeClaim({}, { name: 'first' }))
  await expect.poll(() => looksOfPause).toBe(1)
  await store.create(dataSourceClaims, makeClaim({}, { name: 'second' }))

  await expect.poll(() => written).toEqual(['0 claims\n', '\n2 claims\n'])
  ending.abort()
  await watching
})
