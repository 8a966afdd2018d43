/** Tests the plugin static: it locates exactly the listed data. */
import { expect, test } from 'vitest'
import { locate, openPlugin } from '../locality.suite.ts'

const plugin = openPlugin({
  system: 'static',
  extra: {
    sources: [
      { type: 'model', name: 'bert', location: 'nfs://filer/models/bert', clusters: ['m2', 'm1'], bytes: 440 },
      { name: 'bert', location: 's3://data/bert' },
    ],
  },
})

test.each([
  {
    type: 'model',
    name: 'bert',
    want: { kind: 'located', location: 'nfs://filer/models/bert', clusters: ['m2', 'm1'], bytes: 440 },
  },
  { type: 'dataset', name: 'bert', want: { kind: 'located', location: 's3://data/bert' } },
  { type: 'model', name: 'gpt', want: { kind: 'nowhere', reason: expect.any(String) } },
])('$type $name', async ({ type, name, want }) => {
  expect(await locate(plugin, { type, name, attributes: {} })).toEqual(want)
})

test('is always healthy', async () => {
  await expect(plugin.health(new AbortController().signal)).resolves.toBeUndefined()
  await plugin.close()
})
