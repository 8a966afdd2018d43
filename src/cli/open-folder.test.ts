/** Properties of a served folder with any content: no crash, and an invalid file does not hide the others. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { makeBinding } from '../../test/builders.ts'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { resourceBindings } from '../api/karmada.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { openFolder } from './open-folder.ts'

const binding = (name: string) => JSON.stringify(makeBinding({}, { name }))
const other = binding('other')
/** A valid manifest with random text in one place, or random bytes. */
const content = fc.oneof(
  fc
    .tuple(fc.nat({ max: other.length }), fc.nat({ max: 30 }), fc.string({ unit: 'binary', maxLength: 10 }))
    .map(([at, length, inserted]) => Buffer.from(other.slice(0, at) + inserted + other.slice(at + length))),
  fc.uint8Array({ maxLength: 200 }),
)

test('a file of random bytes is reported once with its path, and affects no other file', async () => {
  const directory = temporaryFolder()
  await writeFile(join(directory, 'good.yaml'), binding('good'))
  const reported: string[] = []
  const store = openFolder(directory, {
    observer: { fileError: ({ file }) => reported.push(file) },
    watch: false,
    workloads: SHIPPED_KINDS,
  })
  onTestFinished(() => store.stop())
  await store.start(new AbortController().signal)
  let written = 0
  await fc.assert(
    fc.asyncProperty(content, fc.constantFrom('yaml', 'yml', 'json'), async (bytes, extension) => {
      const file = join(directory, `${++written}.${extension}`)
      await writeFile(file, bytes)
      reported.length = 0
      await store.rescan()
      const first = [...reported]
      await store.rescan()
      expect(reported).toEqual(first)
      expect(first.filter((path) => path !== file)).toEqual([])
      expect([...store.list(resourceBindings)].map(({ metadata }) => metadata.name)).toContain('good')
      await rm(file)
    }),
    { numRuns: 100 },
  )
})
