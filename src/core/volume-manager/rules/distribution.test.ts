import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { parseDistribution, shardNames, wantedReplicas } from './distribution.ts'

const volume = (distributionStrategy?: string, replicas?: number) =>
  makeVolume({
    options: distributionStrategy === undefined ? {} : { distributionStrategy },
    ...(replicas && { replicas }),
  })

test.each<{ text: string; want: [string, number][] | undefined }>([
  {
    text: '{"b": 2, "a": 1}',
    want: [
      ['a', 1],
      ['b', 2],
    ],
  },
  { text: '{"a": 0}', want: [['a', 0]] },
  { text: '{}', want: [] },
  { text: '{"a": 1.5}', want: undefined },
  { text: '{"a": -1}', want: undefined },
  { text: '{"a": "1"}', want: undefined },
  { text: '{"": 1}', want: undefined },
  { text: '[1]', want: undefined },
  { text: 'a=1', want: undefined },
])('the strategy $text is $want', ({ text, want }) => {
  const parts = parseDistribution(text)

  expect(parts && [...parts]).toEqual(want)
})

test.each<{ name: string; config: ReturnType<typeof volume>; names: string[]; counts: [string | undefined, number][] }>(
  [
    { name: 'without a strategy', config: volume(undefined, 3), names: [], counts: [[undefined, 3]] },
    {
      name: 'with parts',
      config: volume('{"b": 2, "a": 1}', 3),
      names: ['a', 'b'],
      counts: [
        ['a', 1],
        ['b', 2],
      ],
    },
    { name: 'with an invalid strategy', config: volume('a=1', 3), names: [], counts: [[undefined, 3]] },
  ],
)('a volume $name has its replicas', ({ config, names, counts }) => {
  expect(shardNames(config)).toEqual(names)
  expect([...wantedReplicas(config)]).toEqual(counts)
})

test('a volume names at most 100 parts', () => {
  const parts = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, 1]))

  expect(shardNames(volume(JSON.stringify(parts)))).toHaveLength(100)
})
