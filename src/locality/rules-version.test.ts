/** Tests when the version of the rules for clusters changes, and what it costs. */
import { expect, test } from 'vitest'
import { makeCluster } from '../../test/builders.ts'
import type { Cluster } from '../api/karmada.ts'
import { openRulesVersion } from './rules-version.ts'

const paris = makeCluster('paris', { provider: 'aws', region: 'eu-west-3' })
const rome = makeCluster('rome', { provider: 'aws', region: 'eu-south-1' })
const before = openRulesVersion(['rules'])([paris, rome])

test.each<{ name: string; rules?: unknown; clusters: Cluster[]; isSame: boolean }>([
  { name: 'the same clusters', clusters: [paris, rome], isSame: true },
  { name: 'another order', clusters: [rome, paris], isSame: true },
  { name: 'a cluster with another status', clusters: [{ ...paris, status: {} }, rome], isSame: true },
  { name: 'other rules', rules: ['others'], clusters: [paris, rome], isSame: false },
  { name: 'one cluster less', clusters: [paris], isSame: false },
  {
    name: 'another region',
    clusters: [paris, makeCluster('rome', { provider: 'aws', region: 'eu-west-3' })],
    isSame: false,
  },
])('$name: the same version is $isSame', ({ rules = ['rules'], clusters, isSame }) => {
  expect(openRulesVersion(rules)(clusters) === before).toBe(isSame)
})

test('the version follows a change of the clusters, and returns with them', () => {
  const version = openRulesVersion(['rules'])
  expect(version([paris])).not.toBe(before)
  expect(version([paris, rome])).toBe(before)
})

test('clusters are read once, however many queries need the version', () => {
  let reads = 0
  const cluster: Cluster = Object.defineProperty({ ...paris }, 'spec', {
    get: () => {
      reads++
      return paris.spec
    },
  })
  const version = openRulesVersion(['rules'])
  expect(new Set([version([cluster, rome]), version([cluster, rome]), version([cluster, rome])]).size).toBe(1)
  expect(reads).toBe(1)
})
