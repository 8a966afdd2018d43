/** Bodies that a tenant may write to be expensive: one row for each product of two lengths that a decision could multiply. */
import type { AdmissionRequest } from '../src/api/admission.ts'
import type { ClusterAffinityTerm, ResourceBinding } from '../src/api/karmada.ts'
import {
  BASE_AFFINITY_ANNOTATION,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../src/api/lodestone.ts'
import type { K8sObject } from '../src/api/meta.ts'
import {
  makeBinding,
  makeClaim,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../test/builders.ts'

/** A class of bodies: the same shape in any size. */
export interface HostileBody {
  name: string
  /** Which admission point reads it. */
  webhook: string
  /** The larger of the two sizes that are measured, in items. */
  size: number
  /** The object of the request, and the stored one where it is an update. */
  objects(size: number): { object: object; oldObject?: object }
}

const range = (size: number) => Array.from({ length: size }, (_, i) => i)
export const clusterNames = (size: number) => range(size).map((i) => `c${i}`)
const groups = (size: number, of: (i: number) => Omit<ClusterAffinityTerm, 'affinityName'> = () => ({})) =>
  range(size).map((i) => ({ affinityName: `g${i}`, ...of(i) }))
const note = (demand: object) =>
  JSON.stringify({ state: 'Narrowed', message: 'noted', claims: ['default/sales'], ...demand })
const expressions = (size: number) => range(size).map((i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))

/** The same binding before and after the scheduler placed it. */
function scheduled(binding: ResourceBinding): { object: object; oldObject: object } {
  const object = { ...binding, spec: { ...binding.spec, clusters: [{ name: 'c0', replicas: 1 }] } }
  return { object, oldObject: binding }
}

const created = (binding: ResourceBinding) => ({ object: binding })

const bindings: HostileBody[] = [
  {
    name: 'recorded tiers × groups',
    webhook: 'resource-binding',
    size: 2000,
    objects: (size) =>
      scheduled(
        makeBinding(
          { placement: { clusterAffinities: groups(size) } },
          { annotations: { [LOCALITY_ANNOTATION]: note({ preferred: clusterNames(size).map((name) => [name]) }) } },
        ),
      ),
  },
  {
    name: 'recorded clusters × base names',
    webhook: 'resource-binding',
    size: 40_000,
    objects: (size) =>
      scheduled(
        makeBinding(
          { placement: { clusterAffinity: { clusterNames: clusterNames(size) } } },
          {
            annotations: {
              [LOCALITY_ANNOTATION]: note({ required: clusterNames(size) }),
              [BASE_AFFINITY_ANNOTATION]: JSON.stringify({ clusterAffinity: { clusterNames: clusterNames(size) } }),
            },
          },
        ),
      ),
  },
  {
    name: 'clusterNames',
    webhook: 'resource-binding',
    size: 300_000,
    objects: (size) => created(makeBinding({ placement: { clusterAffinity: { clusterNames: clusterNames(size) } } })),
  },
  {
    name: 'clusterNames of a stored binding as well',
    webhook: 'resource-binding',
    size: 200_000,
    objects: (size) => scheduled(makeBinding({ placement: { clusterAffinity: { clusterNames: clusterNames(size) } } })),
  },
  {
    name: 'excluded clusters × clusters with the data',
    webhook: 'resource-binding',
    size: 300_000,
    objects: (size) =>
      created(
        makeBinding({ placement: { clusterAffinity: { exclude: clusterNames(size).map((name) => `x${name}`) } } }),
      ),
  },
  {
    name: 'groups without names × clusters with the data',
    webhook: 'resource-binding',
    size: 50_000,
    objects: (size) => created(makeBinding({ placement: { clusterAffinities: groups(size) } })),
  },
  {
    name: '300 groups × clusters with the data',
    webhook: 'resource-binding',
    size: 300,
    objects: (size) => created(makeBinding({ placement: { clusterAffinities: groups(size) } })),
  },
  {
    name: 'groups with names × clusters with the data',
    webhook: 'resource-binding',
    size: 30_000,
    objects: (size) =>
      created(
        makeBinding({ placement: { clusterAffinities: groups(size, (i) => ({ clusterNames: [`c${i % 2500}`] })) } }),
      ),
  },
  {
    name: 'requirements of a selector × clusters with the data',
    webhook: 'resource-binding',
    size: 50_000,
    objects: (size) =>
      created(
        makeBinding({ placement: { clusterAffinity: { labelSelector: { matchExpressions: expressions(size) } } } }),
      ),
  },
  {
    name: 'values of a requirement × clusters with the data',
    webhook: 'resource-binding',
    size: 200_000,
    objects: (size) =>
      created(
        makeBinding({
          placement: {
            clusterAffinity: {
              labelSelector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: clusterNames(size) }] },
            },
          },
        }),
      ),
  },
  {
    name: 'spread constraints × clusters with the data',
    webhook: 'resource-binding',
    size: 50_000,
    objects: (size) =>
      created(
        makeBinding({
          placement: {
            clusterAffinities: groups(50, () => ({ clusterNames: clusterNames(100) })),
            spreadConstraints: range(size).map(() => ({ spreadByField: 'region', minGroups: 1 })),
          },
        }),
      ),
  },
  {
    name: 'overflow tiers',
    webhook: 'resource-binding',
    size: 30_000,
    objects: (size) =>
      created(
        makeBinding({
          placement: {
            clusterAffinities: groups(1, () => ({
              clusterNames: ['c1'],
              overflowAffinities: groups(size, (i) => ({ clusterNames: [`c${i % 2500}`] })),
            })),
          },
        }),
      ),
  },
  {
    name: 'scheduled clusters × allowed clusters',
    webhook: 'resource-binding',
    size: 30_000,
    objects: (size) => {
      const binding = makeBinding({
        clusters: clusterNames(size).map((name) => ({ name, replicas: 1 })),
        gracefulEvictionTasks: clusterNames(size).map((fromCluster) => ({ fromCluster })),
      })
      return { object: binding, oldObject: binding }
    },
  },
  {
    name: 'numbers where names should be',
    webhook: 'resource-binding',
    size: 300_000,
    objects: (size) =>
      created(makeBinding({ placement: { clusterAffinity: { clusterNames: range(size) as unknown as string[] } } })),
  },
  {
    name: 'a hold message',
    webhook: 'resource-binding',
    size: 200_000,
    objects: (size) =>
      created(
        makeBinding(
          {},
          {
            annotations: {
              [HOLD_ANNOTATION]: JSON.stringify({
                message: 'x'.repeat(size),
                reason: 'Unresolved',
                since: '2026-01-01T00:00:00Z',
              }),
            },
          },
        ),
      ),
  },
  {
    name: 'status of members',
    webhook: 'resource-binding',
    size: 30_000,
    objects: (size) => ({
      object: {
        ...makeBinding(),
        status: { aggregatedStatus: clusterNames(size).map((clusterName) => ({ clusterName, status: { a: [1, 2] } })) },
      },
    }),
  },
]

const selector = (i: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  labelSelector: { matchLabels: { app: `other-${i}` } },
})

const policies: HostileBody[] = [
  {
    name: 'label selectors × claims of the namespace',
    webhook: 'propagation-policy',
    size: 20_000,
    objects: (size) => ({ object: makePolicy({ resourceSelectors: range(size).map(selector) }) }),
  },
  {
    name: 'wrong resourceSelectors',
    webhook: 'propagation-policy',
    size: 400_000,
    objects: (size) => ({ object: makePolicy({ resourceSelectors: range(size) as never }) }),
  },
]

const own: HostileBody[] = [
  {
    name: 'clusterNames',
    webhook: 'data-source',
    size: 100_000,
    objects: (size) => ({ object: makeSource({ locality: { clusterNames: clusterNames(size) } }) }),
  },
  {
    name: 'clusterNames that are no names',
    webhook: 'data-source',
    size: 300_000,
    objects: (size) => ({ object: makeSource({ locality: { clusterNames: range(size) as never } }) }),
  },
  {
    name: 'attributes',
    webhook: 'data-source-claim',
    size: 100_000,
    objects: (size) => ({
      object: makeClaim({ attributes: Object.fromEntries(range(size).map((i) => [`a${i}`, 'x'])) }),
    }),
  },
  {
    name: 'unknown fields',
    webhook: 'data-source-claim',
    size: 200_000,
    objects: (size) => ({
      object: makeClaim(Object.fromEntries(range(size).map((i) => [`a${i}`, 1])) as never),
    }),
  },
  {
    name: 'volumes',
    webhook: 'volume-manager',
    size: 10_000,
    objects: (size) => ({ object: makeVolumeManager(range(size).map((i) => ({ id: `v${i}` }))) }),
  },
  {
    name: '100 volumes × their options',
    webhook: 'volume-manager',
    size: 60,
    objects: (size) => ({
      object: makeVolumeManager(
        range(100).map((i) => ({
          id: `v${i}`,
          sourceType: 'NFS',
          options: {
            server: `${':'.repeat(200 * 30)}x`,
            ...Object.fromEntries(range(size).map((n) => [`option-${n}`, 'x'.repeat(100)])),
          },
        })),
      ),
    }),
  },
]

const asks = (size: number) => range(size).map(() => ({ name: 'sales', 'mount-path': '/data' }))
const containers = (size: number) => range(size).map((i) => ({ name: `c${i}` }))

const pods: HostileBody[] = [
  {
    name: 'volume requests',
    webhook: 'pod',
    size: 3000,
    objects: (size) => ({ object: makePod(asks(size)) }),
  },
  {
    name: 'numbers instead of volume requests',
    webhook: 'pod',
    size: 400_000,
    objects: (size) => ({ object: makePod(range(size).map(() => 1)) }),
  },
  {
    name: 'containers × volume requests',
    webhook: 'pod',
    size: 200_000,
    objects: (size) => ({ object: makePod(asks(60), { containers: containers(size) }) }),
  },
  {
    name: 'the most containers × the most volume requests',
    webhook: 'pod',
    size: 300,
    objects: (size) => ({
      object: makePod(
        range(60).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/data/${i}` })),
        { containers: containers(size) },
      ),
    }),
  },
  {
    name: 'mounts of one container × volume requests',
    webhook: 'pod',
    size: 1000,
    objects: (size) => ({
      object: makePod(
        range(60).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/data/${i}` })),
        {
          containers: [
            { name: 'main', volumeMounts: range(size).map((i) => ({ name: `own-${i}`, mountPath: `/own/${i}` })) },
          ],
          volumes: range(size).map((i) => ({ name: `own-${i}` })),
        },
      ),
    }),
  },
  {
    name: 'node selector terms × terms of volumes',
    webhook: 'pod',
    size: 100_000,
    objects: (size) => ({ object: makePod({ name: 'sales' }, withTerms(range(size).map(() => expressions(1)))) }),
  },
  {
    name: 'requirements of a term × requirements of volumes',
    webhook: 'pod',
    size: 1000,
    objects: (size) => ({
      object: makePod({ name: 'sales' }, withTerms(range(90).map(() => expressions(size)))),
    }),
  },
]

function withTerms(terms: object[][]) {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions })) as never
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } }
}

function volcanoJob(templates: number, containersEach: number, annotation: string): K8sObject {
  const task = { template: { spec: { containers: containers(containersEach) } } }
  const job = makeObject('batch.volcano.sh/v1alpha1', 'Job', 'train', {
    spec: { tasks: range(templates).map(() => task) },
  })
  return { ...job, metadata: { ...job.metadata, annotations: { [VOLUMES_ANNOTATION]: annotation } } }
}

const workloads: HostileBody[] = [
  {
    name: 'pod templates × volume requests',
    webhook: 'workload',
    size: 40_000,
    objects: (size) => ({ object: volcanoJob(size, 1, JSON.stringify(asks(60))) }),
  },
  {
    name: 'the most pod templates',
    webhook: 'workload',
    size: 500,
    objects: (size) => ({ object: volcanoJob(size, 1, JSON.stringify({ name: 'sales' })) }),
  },
  {
    name: 'numbers instead of volume requests',
    webhook: 'workload',
    size: 400_000,
    objects: (size) => ({ object: volcanoJob(1, 1, JSON.stringify(range(size).map(() => 1))) }),
  },
]

/** The parts that every object has and that nothing reads. */
const any: HostileBody[] = [
  {
    name: 'managed fields',
    webhook: 'resource-binding',
    size: 60_000,
    objects: (size) => {
      const fields = Object.fromEntries(range(size).map((i) => [`f:field-${i}`, {}]))
      const binding = makeBinding({}, {
        managedFields: [{ manager: 'karmada', fieldsV1: { 'f:spec': fields } }],
      } as never)
      return { object: binding, oldObject: binding }
    },
  },
  {
    name: 'labels',
    webhook: 'pod',
    size: 100_000,
    objects: (size) => {
      const pod = makePod({ name: 'sales' })
      const labels = { ...pod.metadata.labels, ...Object.fromEntries(range(size).map((i) => [`label-${i}`, 'x'])) }
      return { object: { ...pod, metadata: { ...pod.metadata, labels } } }
    },
  },
  {
    name: 'annotations that are no texts',
    webhook: 'pod',
    size: 300_000,
    objects: (size) => {
      const pod = makePod({ name: 'sales' })
      return {
        object: {
          ...pod,
          metadata: { ...pod.metadata, annotations: Object.fromEntries(range(size).map((i) => [`a${i}`, i])) },
        },
      }
    },
  },
]

const empty: HostileBody[] = [
  {
    name: 'empty objects',
    webhook: 'resource-binding',
    size: 240_000,
    objects: (size) => ({ object: { ...makeBinding(), status: { list: range(size).map(() => ({})) } } }),
  },
  {
    name: 'more empty objects than are allowed',
    webhook: 'resource-binding',
    size: 2_000_000,
    objects: (size) => ({ object: { ...makeBinding(), status: { list: range(size).map(() => ({})) } } }),
  },
]

export const hostileBodies: readonly HostileBody[] = [
  ...bindings,
  ...policies,
  ...own,
  ...pods,
  ...workloads,
  ...any,
  ...empty,
]

/** The text of the review with these objects. */
export function reviewOf({ webhook, objects }: HostileBody, size: number, resource: ResourceOf): string {
  const { object, oldObject } = objects(size)
  const { group, version, kind, plural } = resource(webhook, object as K8sObject)
  const request: AdmissionRequest = {
    uid: '5f0f3a3e-0000-4000-8000-000000000000',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    namespace: 'default',
    operation: oldObject ? 'UPDATE' : 'CREATE',
    object: object as K8sObject,
    ...(oldObject && { oldObject: oldObject as K8sObject }),
  }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
}

type ResourceOf = (
  webhook: string,
  object: K8sObject,
) => { group: string; version: string; kind: string; plural: string }
