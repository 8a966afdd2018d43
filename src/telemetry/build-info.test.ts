import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { readBuildInfo } from './build-info.ts'
import { openMetrics } from './metrics.ts'

const HASH = '0123456789abcdef0123456789abcdef01234567'

test.each([
  { name: 'a commit', text: `${HASH}\n`, want: HASH },
  { name: 'a commit with local changes', text: `${HASH}-dirty\n`, want: `${HASH}-dirty` },
  { name: 'a build outside of a repository', text: 'unknown\n', want: 'unknown' },
  { name: 'an empty build argument', text: '\n', want: 'unknown' },
  { name: 'another text', text: 'main, yesterday\n', want: 'unknown' },
])('$name in the file of the build gives $want', ({ text, want }) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'commit'), text)

  expect(readBuildInfo(pathToFileURL(join(folder, 'commit'))).commit).toBe(want)
})

test('sources have no commit, the version of the package and the version of Node.js', () => {
  expect(readBuildInfo()).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    commit: 'unknown',
    node: process.version,
  })
})

test('lodestone_build_info is 1, with what was built as labels', async () => {
  const { version, commit, node } = readBuildInfo()
  const text = await openMetrics().registry.metrics()
  expect(text).toContain(`lodestone_build_info{version="${version}",commit="${commit}",node="${node}"} 1\n`)
})
