import { expect, test } from 'vitest'
import { located } from '../../../test/builders.ts'
import type { ClaimTerms } from '../data-source-claim/locate.ts'
import { mayMove } from './rebalance.ts'

type Rebalance = ClaimTerms['rebalance']

test.each<{ apiVersion: string; kind: string; rebalance: Rebalance[]; want: boolean }>([
  { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Auto'], want: true },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', rebalance: ['Auto'], want: true },
  { apiVersion: 'v1', kind: 'ConfigMap', rebalance: ['Auto'], want: true },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', rebalance: ['Auto'], want: true },
  { apiVersion: 'v1', kind: 'Pod', rebalance: ['Auto'], want: false },
  { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Auto'], want: false },
  { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', rebalance: ['Auto'], want: false },
  { apiVersion: 'ray.io/v1', kind: 'RayCluster', rebalance: ['Auto'], want: false },
  { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Always'], want: true },
  { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Never'], want: false },
  { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Always', 'Never'], want: false },
  { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Always', 'Auto'], want: false },
])(
  '$kind of $apiVersion with rebalance $rebalance moves with its data: $want',
  ({ apiVersion, kind, rebalance, want }) => {
    const claims = rebalance.map((value) => located(['c1'], { rebalance: value }))
    expect(mayMove({ apiVersion, kind, name: 'app' }, claims)).toBe(want)
  },
)
