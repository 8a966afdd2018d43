import { describe, expect, test } from 'vitest'
import { makeUsable } from '../../../../test/builders.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { chooseClaims, mountedClaims } from './claims.ts'
import type { ReplicaClaim, UsableVolume } from './mountable-volumes.ts'

const ON_TWO: ReplicaClaim[] = [
  { claimName: 'c0', node: 'n1' },
  { claimName: 'c1', node: 'n2' },
]
const PLANNED: ReplicaClaim[] = [{ claimName: 'c0' }, { claimName: 'c1' }]

function wants(
  claims: readonly ReplicaClaim[] | undefined,
  enforcement: 'Required' | 'Preferred' = 'Required',
  over: Partial<UsableVolume> = {},
): WantedVolume {
  const isReady = claims === undefined || claims.some(({ node }) => node !== undefined)
  return {
    path: `p-${claims?.[0]?.claimName}-${enforcement}`,
    request: { name: 'mnist', enforcement },
    volume: makeUsable('vol1', { state: isReady ? 'Ready' : 'Waiting', ...defined({ claims }), ...over }),
    source: claims ? { persistentVolumeClaim: { claimName: 'placeholder' } } : { hostPath: { path: '/d' } },
  }
}

const spec = (...claimNames: string[]): PodSpec => ({
  containers: [{ name: 'main' }],
  volumes: claimNames.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
})
const anywhere = { node: undefined, mayRun: () => true }
const named = (prefix: string) => ON_TWO.map((claim) => ({ ...claim, claimName: `${prefix}${claim.claimName}` }))
const claimsOf = (volumes: readonly WantedVolume[]) =>
  volumes.map(({ source, volume }) => [source.persistentVolumeClaim?.claimName, volume.state])

describe('a new pod', () => {
  test.each([
    ['0', 'c0'],
    ['1', 'c1'],
    ['2', 'c0'],
  ])('with number %s in its workload mounts %s', (seed, claim) => {
    expect(claimsOf(chooseClaims([wants(ON_TWO)], spec(), { ...anywhere, seed }))).toEqual([[claim, 'Ready']])
  })

  test('without a number mounts the claim of a replica, and pods are spread over all', () => {
    const claims = Array.from({ length: 8 }, (_, i) => ({ claimName: `c${i}`, node: `n${i}` }))
    const chosen = Array.from({ length: 400 }, (_, i) =>
      claimsOf(chooseClaims([wants(claims)], spec(), { ...anywhere, seed: `request-${i}` })).map(([name]) => name),
    ).flat()
    const counts = claims.map(({ claimName }) => chosen.filter((name) => name === claimName).length)
    expect(Math.min(...counts)).toBeGreaterThan(25)
    expect(Math.max(...counts)).toBeLessThan(75)
  })

  test('needs no node affinity, since the PersistentVolume has it', () => {
    const [one] = chooseClaims([wants(ON_TWO, 'Required', { readOnly: true })], spec(), { ...anywhere, seed: '1' })
    expect(one?.volume).toMatchObject({ nodeAffinity: {}, nodes: ['n2'] })
    expect(one?.source).toEqual({ persistentVolumeClaim: { claimName: 'c1', readOnly: true } })
  })

  const planned = [{ claimName: 'c0' }, { claimName: 'c1', node: 'n2' }]
  test.each<[string, WantedVolume[], Parameters<typeof chooseClaims>[2], unknown[]]>([
    ['ready replicas only', [wants(planned)], { ...anywhere, seed: '0' }, [['c1', 'Ready']]],
    [
      'a planned replica if none is ready, and waits',
      [wants(PLANNED)],
      { ...anywhere, seed: '1' },
      [['c1', 'Waiting']],
    ],
    ['nothing before any replica is planned', [wants([])], { ...anywhere, seed: '1' }, [['placeholder', 'Waiting']]],
    [
      'a replica on a node that it may run on',
      [wants(ON_TWO)],
      { node: undefined, mayRun: (node) => node === 'n2', seed: '0' },
      [['c1', 'Ready']],
    ],
    [
      'any replica if it may run on none of the nodes',
      [wants(ON_TWO)],
      { node: undefined, mayRun: () => false, seed: '1' },
      [['c1', 'Ready']],
    ],
    ['the replica on its node', [wants(ON_TWO)], { node: 'n2', mayRun: () => true, seed: '0' }, [['c1', 'Ready']]],
    [
      'replicas of all volumes on one node',
      [wants(ON_TWO), wants([{ claimName: 'd0', node: 'n2' }, ...named('x')].slice(0, 1))],
      { ...anywhere, seed: '0' },
      [
        ['c1', 'Ready'],
        ['d0', 'Ready'],
      ],
    ],
    [
      'a replica where its other volume is',
      [wants(ON_TWO), wants(undefined, 'Required', { nodes: ['n2', 'n3'] })],
      { ...anywhere, seed: '0' },
      [
        ['c1', 'Ready'],
        [undefined, 'Ready'],
      ],
    ],
    [
      'a preferred volume on the node of a required one',
      [wants(ON_TWO), wants(named('x'), 'Preferred')],
      { ...anywhere, seed: '1' },
      [
        ['c1', 'Ready'],
        ['xc1', 'Ready'],
      ],
    ],
    ['a preferred volume that is ready', [wants(ON_TWO, 'Preferred')], { ...anywhere, seed: '0' }, [['c0', 'Ready']]],
    ['no preferred volume that is not ready', [wants(PLANNED, 'Preferred')], { ...anywhere, seed: '0' }, []],
    [
      'no preferred volume on nodes that it excludes',
      [wants(ON_TWO, 'Preferred')],
      { node: undefined, mayRun: () => false, seed: '0' },
      [],
    ],
  ])('mounts %s', (_name, wanted, choice, want) => {
    expect(claimsOf(chooseClaims(wanted, spec(), choice))).toEqual(want)
  })

  test('keeps the claim that it mounts already, so that a second injection is empty', () => {
    for (const seed of ['0', '1']) {
      expect(claimsOf(chooseClaims([wants(ON_TWO)], spec('c1'), { ...anywhere, seed }))).toEqual([['c1', 'Ready']])
    }
  })

  test('without volumes that have claims is left alone', () => {
    const wanted = [wants(undefined)]
    expect(chooseClaims(wanted, spec(), { ...anywhere, seed: '0' })).toEqual(wanted)
  })
})

describe('a stored pod', () => {
  test.each<[string, WantedVolume[], PodSpec, unknown[], boolean]>([
    ['is ready with its replica', [wants(ON_TWO)], spec('c1'), [['c1', 'Ready']], false],
    ['waits for its replica', [wants(PLANNED)], spec('c1'), [['c1', 'Waiting']], false],
    [
      'is elsewhere if another replica is ready instead',
      [wants([{ claimName: 'c0', node: 'n1' }, { claimName: 'c1' }])],
      spec('c1'),
      [['c1', 'Waiting']],
      true,
    ],
    ['is elsewhere if its replica is gone', [wants(ON_TWO)], spec('c9'), [['placeholder', 'Ready']], true],
    [
      'is elsewhere if its claims are on two nodes',
      [wants(ON_TWO), wants(named('x'))],
      spec('c0', 'xc1'),
      [
        ['c0', 'Ready'],
        ['xc1', 'Ready'],
      ],
      true,
    ],
    ['has other volumes as they are', [wants(undefined)], spec(), [[undefined, 'Ready']], false],
  ])('%s', (_name, wanted, pod, want, isElsewhere) => {
    const found = mountedClaims(wanted, pod)
    expect(claimsOf(found.wanted)).toEqual(want)
    expect(found.isElsewhere).toBe(isElsewhere)
  })
})
