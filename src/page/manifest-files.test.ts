import { expect, test } from 'vitest'
import { MAX_MANIFEST_BYTES } from './api.ts'
import { addFiles } from './manifest-files.ts'

const given = (name: string, text = name, size = text.length) => ({ name, size, text: async () => text })
const known = [
  { file: 'a.yaml', text: 'old' },
  { file: 'b.yaml', text: 'b' },
]

test('a file that is added again replaces the one before', async () => {
  const files = await addFiles(known, [given('a.yaml', 'new'), given('c.yaml')])
  expect(files).toEqual([known[1], { file: 'a.yaml', text: 'new' }, { file: 'c.yaml', text: 'c.yaml' }])
})

test('no file is left out without a word', async () => {
  const many = Array.from({ length: 99 }, (_, i) => given(`${i}.yaml`))
  expect(await addFiles(known, many)).toBe('a check has at most 100 files, and not 101; use lodestone check')
  expect(await addFiles(known.slice(1), many)).toHaveLength(100)
  expect(await addFiles([], [given('big.yaml', '', MAX_MANIFEST_BYTES + 1)])).toContain(
    'big.yaml has more than 1.0 MiB',
  )
})

test('a folder among the files is named', async () => {
  const folder = { name: 'manifests', size: 4096, text: () => Promise.reject(new DOMException('', 'NotFoundError')) }
  expect(await addFiles([], [given('a.yaml'), folder])).toBe('manifests cannot be read; add files, and no folders')
})
