/** Tests which Workloads of Kueue a change concerns, and how many objects are looked at for that. */
import { expect, test, vi } from 'vitest'
import { makeClaim, makeKueueWorkload, makeVolumeManager } from '../../test/builders.ts'
import { storeOf, typeOf } from '../../test/stores.ts'
import { kueueWorkloads } from '../api/kueue.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { buildWorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { allKinds, cachedKinds } from '../store/kinds/cached-kinds.ts'
import { kueueKinds } from '../store/kinds/kueue.ts'
import { workloadsConcerned } from './kueue.ts'

const PODS = 300
const JOB = { apiVersion: 'batch/v1', kind: 'Job', name: 'train' }
const REPLICA_SET = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d8f' }
const VOLUMES = { 'lodestone.dev/volumes': '{"name":"sales"}' }

function object(reference: typeof JOB, owner?: typeof JOB, annotations: Record<string, string> = {}): K8sObject {
  const { name, ...type } = reference
  const ownerReferences = owner && [{ ...owner, uid: 'u2', controller: true }]
  const metadata = { name, namespace: 'default', annotations, ...(ownerReferences && { ownerReferences }) }
  return { ...type, metadata, spec: { containers: [], template: { metadata: { annotations } } } } as K8sObject
}

const podsOf = (owner: typeof JOB, count: number, annotations = {}) =>
  Array.from({ length: count }, (_, i) =>
    object({ apiVersion: 'v1', kind: 'Pod', name: `${owner.name}-${i}` }, owner, annotations),
  )

/** Opens a store with a Workload `job-NAME` for each of these jobs, and returns what the function yields for a change. */
async function lookFor(jobs: readonly (typeof JOB)[], objects: readonly K8sObject[], kinds = cachedKinds) {
  const store = await storeOf(objects, [...kinds, ...kueueKinds])
  for (const job of jobs) {
    const ownerReferences = [{ ...job, uid: 'u1', controller: true }]
    const workload = makeKueueWorkload({}, { name: `job-${job.name}`, ownerReferences })
    const { status } = workload
    await store.create(kueueWorkloads, workload)
    const reference = { namespace: 'default', name: `job-${job.name}` }
    await store.patch(kueueWorkloads, reference, { status }, { subresource: 'status' })
  }
  return (before: K8sObject | undefined, after: K8sObject | undefined, ofKind?: ResourceType) => {
    const { apiVersion, kind } = (after ?? before) as K8sObject
    const type = ofKind ?? typeOf(apiVersion, kind)
    const stored = (given: K8sObject) => store.get(type, given.metadata.namespace, given.metadata.name ?? '') ?? given
    const lookUp = vi.spyOn(store, 'byIndex')
    const change = { type, ...(before && { before: stored(before) }), ...(after && { after: stored(after) }) }
    const yielded = [...workloadsConcerned(change, store)]
    const keys = yielded.filter((key) => key !== undefined)
    return { keys, pauses: yielded.length - keys.length, lookUps: lookUp.mock.calls.length }
  }
}

test('a new status of a job concerns only its own Workload, and reads none of its pods', async () => {
  const job = object(JOB)
  const look = await lookFor([JOB], [job, ...podsOf(JOB, PODS)])
  expect(look(job, job)).toEqual({ keys: ['default/job-train'], pauses: 1, lookUps: 1 })
})

test('a new controller concerns the Workloads of its pods, with a pause after each pod', async () => {
  const replicaSet = object(REPLICA_SET)
  const pods = podsOf(REPLICA_SET, PODS)
  const look = await lookFor([{ apiVersion: 'v1', kind: 'Pod', name: 'web-5d8f-7' }], [replicaSet, ...pods])
  expect(look(undefined, replicaSet)).toMatchObject({ keys: ['default/job-web-5d8f-7'], pauses: PODS + 1 })
})

test('a claim of a Deployment concerns the Workloads of its pods', async () => {
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const claim = makeClaim({ workload: deployment })
  const look = await lookFor(
    [{ apiVersion: 'v1', kind: 'Pod', name: 'web-5d8f-1' }],
    [object(deployment), object(REPLICA_SET, deployment), ...podsOf(REPLICA_SET, 2), claim],
  )
  expect(look(claim, claim).keys).toEqual(['default/job-web-5d8f-1'])
})

test('a new status of a VolumeManager concerns the Workloads of the pods that mount it', async () => {
  const manager = makeVolumeManager()
  const pods = podsOf(JOB, PODS, VOLUMES)
  const look = await lookFor([{ apiVersion: 'v1', kind: 'Pod', name: 'train-5' }], [manager, object(JOB), ...pods])
  const { keys, pauses, lookUps } = look(manager, manager)
  expect([keys, pauses]).toEqual([['default/job-train-5'], PODS])
  // One for each pod, and one for each kind.
  expect(lookUps).toBeLessThan(2 * PODS)
})

test('a job of a configured kind named Workload concerns its Workload of Kueue', async () => {
  const job = { apiVersion: 'carto.run/v1alpha1', kind: 'Workload', name: 'train' }
  const entry = {
    group: 'carto.run',
    versions: ['v1alpha1'],
    kind: 'Workload',
    plural: 'workloads',
    templates: ['spec.template'],
  }
  const kinds = buildWorkloadKinds([entry])
  const look = await lookFor([job], [], allKinds(kinds))
  const type = kinds.find(job.apiVersion, job.kind)?.type as ResourceType
  expect(look(undefined, object(job), type).keys).toEqual(['default/job-train'])
})
