import { expect, test } from 'vitest'
import { readWhatIf, validateWhatIf, type WhatIfQuestion } from './read-what-if.ts'

const read = (body: WhatIfQuestion) => readWhatIf(body, 'the command')

test('suppositions have the order of the command, and the paths of their fields', () => {
  const { suppositions = [] } = read({
    deleted: ['deployment/trainer'],
    clusterLost: ['member1', 'member2'],
    taintsRemoved: [{ cluster: 'member1', key: 'drain' }],
    taints: [{ cluster: 'member3', key: 'drain', effect: 'NoExecute' }],
    sourcesStale: ['sales'],
    data: [{ source: 'sales', clusters: ['member1'] }],
    files: [{ file: 'a.yaml', text: '{}' }],
  })
  expect(suppositions.map(({ path, supposition }) => `${path} ${supposition.kind}`)).toEqual([
    'files applied',
    'data[0] dataMoved',
    'sourcesStale[0] sourceStale',
    'taintsRemoved[0] untainted',
    'taints[0] tainted',
    'clusterLost[0] clusterLost',
    'clusterLost[1] clusterLost',
    'deleted[0] deleted',
  ])
})

test('a table is a question of its own', () => {
  expect(read({ each: 'source' })).toEqual({ each: 'source' })
  expect(read({ each: 'source', clusterLost: ['member1'] }).problems).toEqual([
    { path: 'each', message: 'is a question of its own; ask without suppositions' },
  ])
})

test('100 suppositions of all kinds are one question, and 101 are none', () => {
  const clusterLost = Array.from({ length: 50 }, (_, i) => `member${i}`)
  const sourcesStale = Array.from({ length: 50 }, (_, i) => `source${i}`)
  expect(read({ clusterLost, sourcesStale }).suppositions).toHaveLength(100)
  expect(read({ clusterLost, sourcesStale, deleted: ['pod/x'] }).problems).toEqual([
    { message: 'at most 100 suppositions hold together; the body has 101; use the command' },
  ])
})

test.each<{ name: string; body: unknown }>([
  { name: 'a text', body: 'lost' },
  { name: 'null', body: null },
  { name: 'a field that an object inherits', body: { constructor: ['member1'] } },
  { name: 'a field with the name of the prototype', body: JSON.parse('{"__proto__": {"each": "cluster"}}') },
  { name: 'an empty name', body: { clusterLost: [''] } },
  { name: 'a name with too many characters', body: { sourcesStale: ['x'.repeat(254)] } },
  { name: 'data in too many clusters', body: { data: [{ source: 's', clusters: Array(1001).fill('m') }] } },
  { name: 'a taint without a key', body: { taints: [{ cluster: 'm', effect: 'NoExecute' }] } },
  { name: 'a value with a colon', body: { taints: [{ cluster: 'm', key: 'k', value: 'a:b', effect: 'NoExecute' }] } },
  {
    name: 'a removed taint with an effect',
    body: { taintsRemoved: [{ cluster: 'm', key: 'k', effect: 'NoExecute' }] },
  },
  { name: 'no file in files', body: { files: [] } },
  { name: 'an object instead of KIND/NAME', body: { deleted: [{ kind: 'Pod', name: 'x' }] } },
])('$name is no question', ({ body }) => {
  expect(validateWhatIf(body)).not.toEqual([])
})

test.each([
  ['JSON objects that follow one another', '{}'.repeat(1000), true],
  ['documents', '---\n'.repeat(1000), true],
  [
    'one JSON object with braces in its texts',
    JSON.stringify({ kind: 'List', text: '} {'.repeat(1000), items: [] }),
    false,
  ],
  ['one document with braces in its texts', `kind: ConfigMap\ntext: "${'} {'.repeat(1000)}"\n`, false],
])('%s are counted before they are parsed', (_, text, tooMany) => {
  const { problems = [] } = read({ files: [{ file: 'a.yaml', text }] })
  expect(problems.map(({ path }) => path)).toEqual(tooMany ? ['files'] : [])
})
