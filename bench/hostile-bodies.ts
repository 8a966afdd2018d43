/** Bodies that a tenant may write to be expensive: one row for each product of two lengths that a decision could multiply. */
import type { AdmissionRequest } from '../src/api/admission.ts'
import type { BindingSpec, ClusterAffinityTerm, ResourceBinding } from '../src/api/karmada.ts'
import {
  BASE_AFFINITY_ANNOTATION,
  HOLD_ANNOTATION,
  LOCALITY_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../src/api/lodestone.ts'
import type { K8sObject } from '../src/api/meta.ts'
import type { PodSpec } from '../src/api/pod.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import {
  makeBinding,
  makeClaim,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../test/builders.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

/** A class of bodies: the same shape in any size. */
export interface HostileBody {
  name: string
  /** The webhook that reads it. */
  webhook: string
  /** The larger of the two sizes that are measured, in items. */
  size: number
  /** The object of the request, and the stored object if it is an update. */
  objects: Objects
}

type Objects = (size: number) => [object: object, oldObject?: object]
type Placement = NonNullable<BindingSpec['placement']>

export const range = (size: number) => Array.from({ length: size }, (_, i) => i)
export const clusterNames = (size: number) => range(size).map((i) => `c${i}`)
/** An object with so many members. */
export const members = <T>(size: number, prefix: string, value: (i: number) => T): Record<string, T> =>
  Object.fromEntries(range(size).map((i) => [`${prefix}${i}`, value(i)]))
/** The locality annotation of a binding that Lodestone narrowed. */
export const note = (demand: object) => ({
  [LOCALITY_ANNOTATION]: JSON.stringify({
    state: 'Narrowed',
    message: 'noted',
    claims: ['default/sales'],
    ...demand,
  }),
})

const groups = (size: number, of: (i: number) => Omit<ClusterAffinityTerm, 'affinityName'> = () => ({})) =>
  range(size).map((i) => ({ affinityName: `g${i}`, ...of(i) }))
const oneCluster = (i: number) => ({ clusterNames: [`c${i % 2500}`] })
const expressions = (size: number) => range(size).map((i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
const containers = (size: number) => range(size).map((i) => ({ name: `c${i}` }))
const placed = (placement: Placement, annotations = {}) => makeBinding({ placement }, { annotations })
const affine = (clusterAffinity: Placement['clusterAffinity']) => placed({ clusterAffinity } as Placement)
const unchanged = (object: object): [object, object] => [object, object]
/** The binding before and after the scheduler placed it. */
const scheduled = (binding: ResourceBinding): [object, object] => [
  { ...binding, spec: { ...binding.spec, clusters: [{ name: 'c0', replicas: 1 }] } },
  binding,
]
const withStatus = (status: object): [object] => [{ ...makeBinding(), status }]

const requests = (size: number) => range(size).map(() => ({ name: 'sales', 'mount-path': '/data' }))
const volumes60 = range(60).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/data/${i}` }))
const withTerms = (terms: object[][]): Partial<PodSpec> => {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions })) as never
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } }
}
const withMetadata = (metadata: object): [object] => {
  const pod = makePod({ name: 'sales' })
  return [{ ...pod, metadata: { ...pod.metadata, ...metadata } }]
}
const volcanoJob = (templates: number, annotation: unknown): [object] => {
  const task = { template: { spec: { containers: containers(1) } } }
  const job = makeObject('batch.volcano.sh/v1alpha1', 'Job', 'train', {
    spec: { tasks: range(templates).map(() => task) },
  })
  const annotations = { [VOLUMES_ANNOTATION]: JSON.stringify(annotation) }
  return [{ ...job, metadata: { ...job.metadata, annotations } }]
}
/** Requests with a mount path of this length. */
const longRequests = (size: number, length = 900) =>
  range(size).map((i) => ({ name: 'sales', id: `v${i}`, 'mount-path': `/${i}/${'x'.repeat(length)}` }))
const deploymentOf = (list: object[], annotations: object = {}) =>
  makeObject('apps/v1', 'Deployment', 'app', {
    spec: { template: { metadata: { annotations }, spec: { containers: list } } },
  })
const asking = (object: K8sObject, annotation: unknown): K8sObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [VOLUMES_ANNOTATION]: JSON.stringify(annotation) } },
})
const annotated = (object: K8sObject, size: number): K8sObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: members(size, 'a', () => '') },
})
const nfsVolume = (i: number, options: number) => ({
  id: `v${i}`,
  sourceType: 'NFS' as const,
  options: { server: `${':'.repeat(200 * 30)}x`, ...members(options, 'option-', () => 'x'.repeat(100)) },
})

const TABLE: Record<string, [name: string, size: number, objects: Objects][]> = {
  'resource-binding': [
    [
      'recorded tiers × groups',
      2000,
      (n) => scheduled(placed({ clusterAffinities: groups(n) }, note({ preferred: clusterNames(n).map((c) => [c]) }))),
    ],
    [
      'recorded clusters × base names',
      40_000,
      (n) => {
        const base = { clusterAffinity: { clusterNames: clusterNames(n) } }
        const annotations = { [BASE_AFFINITY_ANNOTATION]: JSON.stringify(base) }
        return scheduled(placed(base, { ...note({ required: clusterNames(n) }), ...annotations }))
      },
    ],
    ['clusterNames', 300_000, (n) => [affine({ clusterNames: clusterNames(n) })]],
    ['clusterNames of a stored binding as well', 200_000, (n) => scheduled(affine({ clusterNames: clusterNames(n) }))],
    [
      'excluded clusters × clusters with the data',
      300_000,
      (n) => [affine({ exclude: clusterNames(n).map((name) => `x${name}`) })],
    ],
    ['groups without names × clusters with the data', 50_000, (n) => [placed({ clusterAffinities: groups(n) })]],
    ['300 groups × clusters with the data', 300, (n) => [placed({ clusterAffinities: groups(n) })]],
    [
      'groups with names × clusters with the data',
      30_000,
      (n) => [placed({ clusterAffinities: groups(n, oneCluster) })],
    ],
    [
      'requirements of a selector × clusters with the data',
      50_000,
      (n) => [affine({ labelSelector: { matchExpressions: expressions(n) } })],
    ],
    [
      'values of a requirement × clusters with the data',
      200_000,
      (n) => {
        const zone = { key: 'zone', operator: 'NotIn', values: clusterNames(n) }
        return [affine({ labelSelector: { matchExpressions: [zone] } })]
      },
    ],
    [
      'spread constraints × clusters with the data',
      50_000,
      (n) => {
        const spreadConstraints = range(n).map(() => ({ spreadByField: 'region', minGroups: 1 }))
        return [
          placed({ clusterAffinities: groups(50, () => ({ clusterNames: clusterNames(100) })), spreadConstraints }),
        ]
      },
    ],
    [
      'overflow tiers',
      30_000,
      (n) => {
        const overflowAffinities = groups(n, oneCluster)
        return [placed({ clusterAffinities: groups(1, () => ({ clusterNames: ['c1'], overflowAffinities })) })]
      },
    ],
    [
      'scheduled clusters × allowed clusters',
      30_000,
      (n) => {
        const clusters = clusterNames(n).map((name) => ({ name, replicas: 1 }))
        const gracefulEvictionTasks = clusterNames(n).map((fromCluster) => ({ fromCluster }))
        return unchanged(makeBinding({ clusters, gracefulEvictionTasks }))
      },
    ],
    ['numbers where names should be', 300_000, (n) => [affine({ clusterNames: range(n) as never })]],
    [
      'a hold message',
      200_000,
      (n) => {
        const hold = { message: 'x'.repeat(n), reason: 'Unresolved', since: '2026-01-01T00:00:00Z' }
        return [makeBinding({}, { annotations: { [HOLD_ANNOTATION]: JSON.stringify(hold) } })]
      },
    ],
    ['annotations of other writers', 200_000, (n) => [annotated(makeBinding(), n)]],
    ['wrong clusters', 300_000, (n) => [makeBinding({ clusters: range(n) as never })]],
    [
      'status of members',
      30_000,
      (n) =>
        withStatus({
          aggregatedStatus: clusterNames(n).map((clusterName) => ({ clusterName, status: { a: [1, 2] } })),
        }),
    ],
    [
      'managed fields',
      60_000,
      (n) => {
        const managedFields = [{ manager: 'karmada', fieldsV1: { 'f:spec': members(n, 'f:field-', () => ({})) } }]
        return unchanged(makeBinding({}, { managedFields } as never))
      },
    ],
    ['empty objects', 240_000, (n) => withStatus({ list: range(n).map(() => ({})) })],
    ['more empty objects than are allowed', 2_000_000, (n) => withStatus({ list: range(n).map(() => ({})) })],
  ],
  'propagation-policy': [
    [
      'label selectors × claims of the namespace',
      20_000,
      (n) => {
        const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
        const selector = (i: number) => ({ ...deployments, labelSelector: { matchLabels: { app: `other-${i}` } } })
        return [makePolicy({ resourceSelectors: range(n).map(selector) })]
      },
    ],
    ['wrong resourceSelectors', 400_000, (n) => [makePolicy({ resourceSelectors: range(n) as never })]],
  ],
  'data-source': [
    ['clusterNames', 100_000, (n) => [makeSource({ locality: { clusterNames: clusterNames(n) } })]],
    ['clusterNames that are no names', 300_000, (n) => [makeSource({ locality: { clusterNames: range(n) as never } })]],
  ],
  'data-source-claim': [
    ['attributes', 100_000, (n) => [makeClaim({ attributes: members(n, 'a', () => 'x') })]],
    ['unknown fields', 200_000, (n) => [makeClaim(members(n, 'a', () => 1) as never)]],
  ],
  'volume-manager': [
    ['volumes', 10_000, (n) => [makeVolumeManager(range(n).map((i) => ({ id: `v${i}` })))]],
    [
      '100 volumes × unknown options',
      64,
      (n) => [
        makeVolumeManager(
          range(100).map((i) => ({ id: `v${i}`, options: members(n, 'awsCredentialSecretNam', () => 'x') })) as never,
        ),
      ],
    ],
    ['annotations of other writers', 200_000, (n) => [annotated(makeVolumeManager(), n)]],
    ['100 volumes × their options', 60, (n) => [makeVolumeManager(range(100).map((i) => nfsVolume(i, n)) as never)]],
  ],
  pod: [
    ['volume requests', 3000, (n) => [makePod(requests(n))]],
    ['numbers instead of volume requests', 400_000, (n) => [makePod(range(n).map(() => 1))]],
    ['containers × volume requests', 200_000, (n) => [makePod(requests(60), { containers: containers(n) })]],
    ['the most containers × the most volume requests', 300, (n) => [makePod(volumes60, { containers: containers(n) })]],
    [
      'mounts of one container × volume requests',
      1000,
      (n) => {
        const volumeMounts = range(n).map((i) => ({ name: `own-${i}`, mountPath: `/own/${i}` }))
        const volumes = range(n).map((i) => ({ name: `own-${i}` }))
        return [makePod(volumes60, { containers: [{ name: 'main', volumeMounts }], volumes })]
      },
    ],
    [
      'node selector terms × terms of volumes',
      100_000,
      (n) => [makePod({ name: 'sales' }, withTerms(range(n).map(() => expressions(1))))],
    ],
    [
      'requirements of a term × requirements of volumes',
      1000,
      (n) => [makePod({ name: 'sales' }, withTerms(range(90).map(() => expressions(n))))],
    ],
    [
      'labels',
      100_000,
      (n) => withMetadata({ labels: { ...makePod('').metadata.labels, ...members(n, 'label-', () => 'x') } }),
    ],
    ['annotations that are no texts', 300_000, (n) => withMetadata({ annotations: members(n, 'a', (i) => i) })],
  ],
  workload: [
    [
      '60 volumes × containers, with long mount paths',
      330,
      (n) => [asking(deploymentOf(containers(n)), longRequests(60))],
    ],
    ['40 volumes × pod templates', 500, (n) => volcanoJob(n, longRequests(40, 5))],
    ['40 volumes with long mount paths × pod templates', 500, (n) => volcanoJob(n, longRequests(40))],
    [
      'unknown containers × pod templates',
      500,
      (n) =>
        volcanoJob(
          n,
          longRequests(40, 1).map((one) => ({ ...one, containers: containers(64) })),
        ),
    ],
    [
      'annotation keys that resemble ours',
      105_000,
      (n) => [
        asking(
          deploymentOf(
            containers(1),
            members(n, 'lodestonedev/volume', () => ''),
          ),
          { name: 'sales' },
        ),
      ],
    ],
    [
      'annotations of other writers in a template',
      200_000,
      (n) => [
        asking(
          deploymentOf(
            containers(1),
            members(n, 'a', () => ''),
          ),
          { name: 'sales' },
        ),
      ],
    ],
    [
      'wrong mounts',
      1000,
      (n) => [
        asking(deploymentOf(range(300).map((i) => ({ name: `c${i}`, volumeMounts: range(n) }))), { name: 'sales' }),
      ],
    ],
    ['pod templates × volume requests', 40_000, (n) => volcanoJob(n, requests(60))],
    ['the most pod templates', 500, (n) => volcanoJob(n, { name: 'sales' })],
    [
      'numbers instead of volume requests',
      400_000,
      (n) =>
        volcanoJob(
          1,
          range(n).map(() => 1),
        ),
    ],
  ],
}

export const hostileBodies: readonly HostileBody[] = Object.entries(TABLE).flatMap(([webhook, rows]) =>
  rows.map(([name, size, objects]) => ({ name, webhook, size, objects })),
)

/** Returns the text of the review with the objects of this size. */
export function reviewOf({ webhook, objects }: HostileBody, size: number): string {
  const [object, oldObject] = objects(size) as [K8sObject, K8sObject?]
  const resources = webhooks.find(({ name }) => name === webhook)?.resources
  const resource = resources?.find(({ kind }) => kind === object.kind)
  if (!resource) throw new Error(`${webhook} does not review ${object.kind}`)
  const { group, version, kind, plural } = resource
  const request: AdmissionRequest = {
    uid: '5f0f3a3e-0000-4000-8000-000000000000',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    namespace: 'default',
    operation: oldObject ? 'UPDATE' : 'CREATE',
    object,
    ...(oldObject && { oldObject }),
  }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
}
