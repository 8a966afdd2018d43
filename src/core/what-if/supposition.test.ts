import { expect, test } from 'vitest'
import { formatSupposition, type NamedSupposition, type OptionText, readSupposition } from './supposition.ts'

const taint = { key: 'example.org/drain', effect: 'NoExecute' } as const

test.each<NamedSupposition & { text: string }>([
  { text: 'cluster-lost m2', kind: 'clusterLost', cluster: 'm2' },
  { text: 'taint m2=example.org/drain:NoExecute', kind: 'tainted', cluster: 'm2', taint },
  {
    text: 'taint m2=example.org/drain=yes:NoExecute',
    kind: 'tainted',
    cluster: 'm2',
    taint: { ...taint, value: 'yes' },
  },
  { text: 'taint m2=drain-', kind: 'untainted', cluster: 'm2', key: 'drain' },
  { text: 'data sales=m1', kind: 'dataMoved', source: 'sales', clusters: ['m1'] },
  { text: 'data prod.sales/day=1=m1,m3', kind: 'dataMoved', source: 'prod.sales/day=1', clusters: ['m1', 'm3'] },
  { text: 'source-stale prod/day=1', kind: 'sourceStale', source: 'prod/day=1' },
  { text: 'delete deployment/trainer', kind: 'deleted', object: 'deployment/trainer' },
])('$text is one supposition in both directions', ({ text: words, ...supposition }) => {
  const formatted = formatSupposition(supposition)
  expect(`${formatted.option} ${formatted.text}`).toBe(words)
  expect(readSupposition(formatted)).toEqual(supposition)
})

test.each<OptionText>([
  { option: 'taint', text: '' },
  { option: 'taint', text: 'm2' },
  { option: 'taint', text: 'm2=drain' },
  { option: 'taint', text: 'm2=drain:Never' },
  { option: 'taint', text: 'm2=drain:__proto__' },
  { option: 'taint', text: '=drain:NoExecute' },
  { option: 'data', text: 'sales' },
  { option: 'data', text: '=m1' },
  { option: 'data', text: 'sales=' },
  { option: 'data', text: 'sales=m1,,m2' },
])('--$option "$text" is no supposition', (given) => {
  expect(readSupposition(given)).toBeUndefined()
})

test('a cluster of data counts once, without the spaces beside its comma', () => {
  const supposition = { kind: 'dataMoved', source: 'sales', clusters: ['m1', 'm2'] }
  expect(readSupposition({ option: 'data', text: 'sales=m1, m2,m1' })).toEqual(supposition)
})
