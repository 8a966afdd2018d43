import { describe, expect, test } from 'vitest'
import { located } from '../../../test/builders.ts'
import type { Failover } from '../../api/karmada.ts'
import type { ClaimTerms } from '../data-source/locate.ts'
import { buildWorkloadKinds, SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { staysAfterFailover, staysBecause } from './rebalance.ts'

type Rebalance = ClaimTerms['rebalance']
const resource = (apiVersion: string, kind: string) => ({ apiVersion, kind, name: 'app' })

type Moved = Parameters<typeof staysBecause>[0]

const whyItStays = (moved: Moved, claims: ClaimTerms[]) => staysBecause(moved, claims, SHIPPED_KINDS)
const whyItStaysAway = (moved: Moved, claims: ClaimTerms[]) => staysAfterFailover(moved, claims, SHIPPED_KINDS)

describe('after a move of its data, a workload', () => {
  test.each<{ apiVersion: string; kind: string; rebalance: Rebalance[]; moves: boolean }>([
    { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Auto'], moves: true },
    { apiVersion: 'apps/v1', kind: 'StatefulSet', rebalance: ['Auto'], moves: true },
    { apiVersion: 'v1', kind: 'ConfigMap', rebalance: ['Auto'], moves: true },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', rebalance: ['Auto'], moves: true },
    { apiVersion: 'batch/v1', kind: 'CronJob', rebalance: ['Auto'], moves: true },
    { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', rebalance: ['Auto'], moves: true },
    { apiVersion: 'serving.kserve.io/v1beta1', kind: 'InferenceService', rebalance: ['Auto'], moves: true },
    { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', rebalance: ['Auto'], moves: true },
    { apiVersion: 'flink.apache.org/v1beta1', kind: 'FlinkDeployment', rebalance: ['Auto'], moves: false },
    { apiVersion: 'v1', kind: 'Pod', rebalance: ['Auto'], moves: false },
    { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Auto'], moves: false },
    { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', rebalance: ['Auto'], moves: false },
    { apiVersion: 'ray.io/v1', kind: 'RayCluster', rebalance: ['Auto'], moves: false },
    { apiVersion: 'example.org/v1', kind: 'Unknown', rebalance: ['Auto'], moves: false },
    { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Always'], moves: true },
    { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Never'], moves: false },
    { apiVersion: 'apps/v1', kind: 'Deployment', rebalance: ['Always', 'Never'], moves: false },
    { apiVersion: 'batch/v1', kind: 'Job', rebalance: ['Always', 'Auto'], moves: false },
  ])('$kind of $apiVersion with rebalance $rebalance moves: $moves', ({ apiVersion, kind, rebalance, moves }) => {
    const claims = rebalance.map((value) => located(['c1'], { rebalance: value }))
    expect(whyItStays({ resource: resource(apiVersion, kind) }, claims) === undefined).toBe(moves)
  })
})

test('the reason names the claim, the cost of the move and the remedy', () => {
  const preserved = { resource: resource('apps/v1', 'Deployment'), preserveResourcesOnDeletion: true }
  const withDisk = { resource: resource('apps/v1', 'Deployment'), volumeClaims: ['disk'] }
  const statePreservation = { statePreservation: { rules: [{ aliasLabelName: 'job', jsonPath: '{.jobId}' }] } }
  const stateful = { resource: resource('apps/v1', 'Deployment'), failover: { application: statePreservation } }
  const withTemplates = { resource: resource('apps/v1', 'StatefulSet'), claimTemplates: ['data', 'log'] }
  const whyWithTemplates =
    'rebalance of default/sales is Auto, which does not move the workload, since its PersistentVolumeClaims of the template data, log would not follow it; use Always to move it'
  const whyWithDisk =
    'rebalance of default/sales is Auto, which does not move the workload, since Karmada would delete PersistentVolumeClaim disk in the cluster that it leaves; use Always to move it'
  const whyStateful =
    'rebalance of default/sales is Auto, which does not move the workload, since its policy sets statePreservation, which keeps its state at a failover only; use Always to move it'
  const whyPreserved =
    'rebalance of default/sales is Auto, which does not move the workload, since its policy sets preserveResourcesOnDeletion: a copy would stay; use Always to move it'
  const reasons = [
    whyItStays({ resource: resource('flink.apache.org/v1beta1', 'FlinkDeployment') }, [located(['c1'])]),
    whyItStays({ resource: resource('batch/v1', 'Job') }, [located(['c1'])]),
    whyItStays({ resource: resource('example.org/v1', 'Thing') }, [located(['c1'])]),
    whyItStays({ resource: resource('apps/v1', 'Deployment') }, [located(['c1'], { rebalance: 'Never' })]),
    whyItStays(preserved, [located(['c1'])]),
    whyItStaysAway(preserved, [located(['c1'])]),
    whyItStays({ ...preserved, resource: resource('batch/v1', 'Job') }, [located(['c1'])]),
    whyItStays(preserved, [located(['c1'], { rebalance: 'Always' })]),
    whyItStaysAway({ resource: resource('apps/v1', 'Deployment') }, [located(['c1'], { failback: 'Never' })]),
    whyItStays(withDisk, [located(['c1'])]),
    whyItStaysAway(withDisk, [located(['c1'])]),
    whyItStays(stateful, [located(['c1'])]),
    whyItStaysAway({ ...stateful, failover: { cluster: statePreservation } }, [located(['c1'])]),
    whyItStays(stateful, [located(['c1'], { rebalance: 'Always' })]),
    whyItStays({ ...withDisk, ...preserved }, [located(['c1'])]),
    whyItStays(withDisk, [located(['c1'], { rebalance: 'Always' })]),
    whyItStays(withTemplates, [located(['c1'])]),
    whyItStaysAway(withTemplates, [located(['c1'])]),
    whyItStays(withTemplates, [located(['c1'], { rebalance: 'Always' })]),
  ]
  expect(reasons).toEqual([
    'rebalance of default/sales is Auto, which does not move a FlinkDeployment, since its state may be lost; use Always to move it',
    'rebalance of default/sales is Auto, which does not move a Job, since its work so far would be lost; use Always to move it',
    'rebalance of default/sales is Auto, which does not move a Thing, since Lodestone does not know what its kind loses; use Always to move it',
    'rebalance of default/sales is Never',
    whyPreserved,
    whyPreserved,
    'rebalance of default/sales is Auto, which does not move a Job, since its work so far would be lost; use Always to move it',
    undefined,
    'failback of default/sales is Never',
    whyWithDisk,
    whyWithDisk,
    whyStateful,
    whyStateful,
    undefined,
    whyPreserved,
    undefined,
    whyWithTemplates,
    whyWithTemplates,
    undefined,
  ])
})

test.each<Failover>([
  { application: { decisionConditions: { tolerationSeconds: 300 }, purgeMode: 'Gracefully' } },
  { cluster: { purgeMode: 'Directly', statePreservation: { rules: [] } } },
])('a failover without state to preserve keeps no workload: %j', (failover) => {
  expect(whyItStays({ resource: resource('apps/v1', 'Deployment'), failover }, [located(['c1'])])).toBeUndefined()
})

test('the configuration says what a move of a kind costs', () => {
  const kinds = buildWorkloadKinds([
    { group: 'example.org', versions: ['v1'], kind: 'Thing', plural: 'things', moveCost: 'Restart' },
  ])
  expect(staysBecause({ resource: resource('example.org/v1', 'Thing') }, [located(['c1'])], kinds)).toBeUndefined()
})
