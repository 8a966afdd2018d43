/** Each value of docs/reference/removal.md is removed by an uninstallation, and values of other writers stay. */
import { describe, expect, test } from 'vitest'
import {
  makeAdmissionCheck,
  makeBinding,
  makeClaim,
  makeDeployment,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { itemsWithTests } from '../../../test/named-tests.ts'
import { makeDeletion, makeMover, makeNode, makeReplica } from '../../../test/volume-builders.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { serviceAccounts } from '../../api/dependencies.ts'
import { clusterPropagationPolicies, propagationPolicies, resourceBindings } from '../../api/karmada.ts'
import { type AdmissionCheck, admissionChecks } from '../../api/kueue.ts'
import * as keys from '../../api/lodestone.ts'
import {
  apiVersionOf,
  type Condition,
  type K8sObject,
  LAST_APPLIED_ANNOTATION,
  type ObjectMeta,
  type ResourceType,
} from '../../api/meta.ts'
import { nodes } from '../../api/node.ts'
import { persistentVolumeClaims, persistentVolumes } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import { roleBindings } from '../../api/rbac.ts'
import { mutatingWebhookConfigurations } from '../../api/registration.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { fnv1a } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { dependedByLabel, karmadaDependedByLabel } from '../dependencies/names.ts'
import { SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { bindingRules } from './bindings.ts'
import { removalRules, type UninstallOptions } from './index.ts'
import { installedRules } from './installation.ts'
import { checkRule } from './kueue.ts'
import { policyRules } from './policies.ts'
import type { Removal } from './removal.ts'
import { leftoversOn, listNodeData } from './volumes.ts'
import { workloadRules } from './workloads.ts'

const OPTIONS: UninstallOptions = {
  restores: false,
  deletesDefinitions: true,
  workloadKinds: SHIPPED_KINDS,
  now: Date.parse('2026-11-20T12:00:00Z'),
  installed: [],
  leasesElsewhere: [],
  keptPolicies: new Map(),
}

function plan(
  type: ResourceType,
  object: K8sObject,
  options: Partial<UninstallOptions> = {},
  related?: K8sObject,
): Removal {
  const rules = removalRules({ ...OPTIONS, ...options }).filter(
    (rule) => rule.type.kind === type.kind && rule.type.group === type.group,
  )
  expect(rules).toHaveLength(1)
  return rules[0]?.plan(object, related) as Removal
}

/** The object after the uninstallation; `deleted`, or `unchanged`. */
function remaining(
  type: ResourceType,
  object: K8sObject,
  options?: Partial<UninstallOptions>,
  related?: K8sObject,
): unknown {
  const { write } = plan(type, object, options, related)
  if (!write) return 'unchanged'
  if (write.kind === 'delete') return 'deleted'
  if (write.kind !== 'patch') throw new Error(`unexpected ${write.kind}`)
  const { metadata, ...patch } = write.patch as { metadata: ObjectMeta }
  expect(metadata.resourceVersion).toBe(object.metadata.resourceVersion)
  const changed = applyMergePatch(object, { ...patch, metadata }) as K8sObject
  // A second uninstallation finds nothing.
  expect(plan(type, changed, options, related).write).toBeUndefined()
  return changed
}

const kindOf = (kind: string) => SHIPPED_KINDS.all.find((one) => one.type.kind === kind)?.type as ResourceType
const VOLUMES = '[{"name":"sales"}]'
const NODE_LABEL = `vck.intelai.org/${'0a'.repeat(16)}-0123456789abc`
const narrowed = { clusterAffinity: { clusterNames: ['member2'] } }
const base = { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } }
const decided = (annotations: Record<string, object>) =>
  Object.fromEntries(Object.entries(annotations).map(([key, value]) => [key, JSON.stringify(value)]))
const LOCALITY = { state: 'Narrowed', message: 'm', claims: ['default/sales'], required: ['member2'] }
const OTHER = { namespace: 'default', name: 'other-deployment' }
/** Attached by Lodestone and by Karmada's distributor. */
const BOTH = { namespace: 'default', name: 'both-deployment' }

const HOLD = { message: 'm', reason: 'Unresolved', since: '2026-11-20T12:00:00Z' }

function template(
  kind: string,
  { own, annotations, labels }: { own?: string; annotations?: Record<string, string>; labels?: Record<string, string> },
): K8sObject {
  const metadata = { labels: { app: 'app', ...labels }, annotations: { team: 'a', ...annotations } }
  const object = { ...makeDeployment(own ? { annotations: { [keys.VOLUMES_ANNOTATION]: own } } : {}), kind }
  return {
    ...object,
    spec: { replicas: 1, template: { metadata, spec: { containers: [{ name: 'main' }] } } },
  } as K8sObject
}

/** A template with the values of admission. */
const copied = {
  labels: { [keys.INJECT_LABEL]: 'true' },
  annotations: {
    [keys.VOLUMES_ANNOTATION]: VOLUMES,
    [keys.ADDED_ANNOTATION]: JSON.stringify({ inject: true, volumes: fnv1a(VOLUMES) }),
  },
}
const labeled = {
  labels: { [keys.INJECT_LABEL]: 'true' },
  annotations: { [keys.VOLUMES_ANNOTATION]: VOLUMES, [keys.ADDED_ANNOTATION]: '{"inject":true}' },
}

function daemonSet(note: boolean): K8sObject {
  const own = { key: 'disk', operator: 'Exists' }
  const added = { key: NODE_LABEL, operator: 'Exists' }
  const nodeSelectorTerms = [{ matchExpressions: note ? [own, added] : [own] }]
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {
      name: 'app',
      namespace: 'default',
      annotations: note ? { [keys.NODE_REQUIREMENTS_ANNOTATION]: JSON.stringify([added]) } : {},
    },
    spec: { template: { spec: { containers: [{ name: 'main' }], affinity } } },
  } as K8sObject
}

interface Case {
  /** The value as docs/reference/removal.md has it. */
  value: string
  type: ResourceType
  object: K8sObject
  /** The object afterwards. */
  want: unknown
  options?: Partial<UninstallOptions>
}

const CASES: Case[] = [
  {
    value:
      'in pod templates: `lodestone.dev/volumes` as a copy, the label `lodestone.dev/inject`, `lodestone.dev/added`:',
    type: kindOf('Deployment'),
    object: template('Deployment', { own: VOLUMES, ...copied }),
    want: template('Deployment', { own: VOLUMES }),
  },
  {
    value: 'in pod templates: the label `lodestone.dev/inject`, `lodestone.dev/added`:',
    type: kindOf('Deployment'),
    object: template('Deployment', labeled),
    want: template('Deployment', { annotations: { [keys.VOLUMES_ANNOTATION]: VOLUMES } }),
  },
  {
    value:
      'in templates of a child, such as the StatefulSet of a Notebook: the copy, the label, `lodestone.dev/added`:',
    type: kindOf('StatefulSet'),
    object: template('StatefulSet', copied),
    want: template('StatefulSet', {}),
  },
  {
    value: 'on DaemonSets: required terms of the node affinity, `lodestone.dev/node-requirements`:',
    type: kindOf('DaemonSet'),
    object: daemonSet(true),
    want: daemonSet(false),
  },
  {
    value: 'on pods: volumes, mounts, node affinity, the label `lodestone.dev/inject`:',
    type: pods,
    object: makePod(VOLUMES, {}, { ...labeled, labels: { app: 'app', ...labeled.labels } }),
    want: makePod(VOLUMES, {}, { labels: { app: 'app' }, annotations: { [keys.VOLUMES_ANNOTATION]: VOLUMES } }),
  },
  {
    value: 'on pods: the scheduling gate `lodestone.dev/volumes`:',
    type: pods,
    object: makePod(VOLUMES, { schedulingGates: [{ name: 'other' }, { name: keys.VOLUMES_GATE }] }),
    want: makePod(VOLUMES, { schedulingGates: [{ name: 'other' }] }),
  },
  {
    value: 'on policies: `propagateDeps: true`, `lodestone.dev/propagate-deps-set`:',
    type: propagationPolicies,
    object: makePolicy(
      { propagateDeps: true },
      { annotations: { a: 'b', [keys.PROPAGATE_DEPS_SET_ANNOTATION]: 'true' } },
    ),
    want: makePolicy({}, { annotations: { a: 'b' } }),
  },
  {
    value: 'on policies: `lodestone.dev/propagate-deps: "false"`:',
    type: propagationPolicies,
    object: makePolicy({}, { annotations: { a: 'b', [keys.PROPAGATE_DEPS_ANNOTATION]: 'false' } }),
    want: makePolicy({}, { annotations: { a: 'b' } }),
  },
  {
    value: 'on bindings: the narrowed affinity, `lodestone.dev/base-affinity`, `lodestone.dev/locality`:',
    type: resourceBindings,
    object: makeBinding(
      { placement: { ...narrowed, spreadConstraints: [] } },
      { annotations: decided({ [keys.BASE_AFFINITY_ANNOTATION]: base, [keys.LOCALITY_ANNOTATION]: LOCALITY }) },
    ),
    options: { restores: true },
    want: makeBinding({ placement: { ...base, spreadConstraints: [] } }),
  },
  {
    value: 'on bindings: names of cluster affinity groups:',
    type: resourceBindings,
    object: makeBinding(
      { placement: { clusterAffinities: [{ affinityName: 'a.1', clusterNames: ['member2'] }] } },
      {
        annotations: decided({
          [keys.BASE_AFFINITY_ANNOTATION]: { clusterAffinities: [{ affinityName: 'a', clusterNames: ['member1'] }] },
        }),
      },
    ),
    options: { restores: true },
    want: makeBinding({ placement: { clusterAffinities: [{ affinityName: 'a', clusterNames: ['member1'] }] } }),
  },
  {
    value: 'on bindings: `suspension.scheduling`, `lodestone.dev/hold`:',
    type: resourceBindings,
    object: makeBinding(
      { suspension: { scheduling: true, dispatching: true } },
      { annotations: decided({ [keys.HOLD_ANNOTATION]: HOLD }) },
    ),
    want: makeBinding({ suspension: { dispatching: true } }),
  },
  {
    value: 'on attached bindings: labels `lodestone.dev/depended-by-…`, entries of `requiredBy`:',
    type: resourceBindings,
    object: attached(
      { [dependedByLabel(OTHER)]: 'id', [dependedByLabel(BOTH)]: 'id', [karmadaDependedByLabel(BOTH)]: 'id' },
      [OTHER, BOTH],
    ),
    options: { restores: true },
    want: attached({ [karmadaDependedByLabel(BOTH)]: 'id' }, [BOTH]),
  },
  {
    value: 'on bindings: the finalizer `lodestone.dev/dependencies`:',
    type: resourceBindings,
    object: makeBinding({}, { finalizers: ['other', keys.DEPENDENCIES_FINALIZER] }),
    want: makeBinding({}, { finalizers: ['other'] }),
  },
  {
    value: 'on claims: the finalizer `lodestone.dev/claim`:',
    type: dataSourceClaims,
    object: makeClaim({}, { finalizers: ['other', keys.CLAIM_FINALIZER] }),
    want: makeClaim({}, { finalizers: ['other'] }),
  },
  {
    value: 'on DataSources: the finalizer `lodestone.dev/source`:',
    type: dataSources,
    object: makeSource({}, { finalizers: ['other', keys.SOURCE_FINALIZER] }),
    want: makeSource({}, { finalizers: ['other'] }),
  },
  {
    value: 'on VolumeManagers: the finalizer `lodestone.dev/volumes`:',
    type: volumeManagers,
    object: makeVolumeManager([{}], { finalizers: ['other', keys.VOLUME_FINALIZER] }),
    want: makeVolumeManager([{}], { finalizers: ['other'] }),
  },
  ...['label', 'leftover', 'disk'].map((what): Case => {
    const node = makeNode('n1')
    const annotations = { a: 'b' }
    const ours = {
      label: { labels: { ...node.metadata.labels, [NODE_LABEL]: '' }, annotations },
      leftover: { annotations: { ...annotations, [`${keys.LEFTOVER_PREFIX}0`]: '{}' } },
      disk: { annotations: { ...annotations, [`${keys.DISK_PREFIX}0`]: '{}' } },
    }[what]
    return {
      value:
        what === 'label'
          ? 'on Nodes: the label of a volume:'
          : `on Nodes: \`${what === 'disk' ? keys.DISK_PREFIX : keys.LEFTOVER_PREFIX}…\`:`,
      type: nodes,
      object: { ...node, metadata: { ...node.metadata, ...ours } },
      want: { ...node, metadata: { ...node.metadata, annotations } },
    }
  }),
  {
    value: 'on AdmissionChecks of Kueue: the condition `Active`:',
    type: admissionChecks,
    object: checkWith({
      status: 'True',
      reason: 'Active',
      message: 'x',
      lastTransitionTime: new Date(0).toISOString(),
    }),
    want: checkWith({
      status: 'False',
      reason: 'Uninstalled',
      message: 'Lodestone was removed, and answers no Workload; remove the check from its ClusterQueues',
      lastTransitionTime: new Date(OPTIONS.now).toISOString(),
    }),
  },
]

function checkWith(active: Omit<Condition, 'type'>): AdmissionCheck {
  return { ...makeAdmissionCheck(), status: { conditions: [{ type: 'Active', observedGeneration: 1, ...active }] } }
}

function attached(labels: Record<string, string>, requiredBy: (typeof OTHER)[]): K8sObject {
  const { spec, ...binding } = makeBinding({ requiredBy, conflictResolution: 'Overwrite' }, { labels })
  const { placement: _none, ...rest } = spec
  return { ...binding, spec: rest } as K8sObject
}

test.each(CASES)('removes $value', ({ type, object, options, want }) => {
  const stored = { ...object, metadata: { ...object.metadata, resourceVersion: '7' } }
  const expected = want as K8sObject
  expect(remaining(type, stored, options)).toEqual({
    ...expected,
    metadata: { ...expected.metadata, resourceVersion: '7' },
  })
})

test('each value of docs/reference/removal.md has a case', () => {
  // The other items say when the value of the item before is removed.
  const values = itemsWithTests('docs/reference/removal.md')
    .map(({ first }) => first)
    .filter((first) => !first.startsWith('…'))
  expect(values.length).toBeGreaterThan(15)
  expect(values.filter((value) => !CASES.some((one) => one.value === value))).toEqual([])
})

describe('stays:', () => {
  const declared = {
    [LAST_APPLIED_ANNOTATION]: JSON.stringify({
      metadata: { annotations: { [keys.PROPAGATE_DEPS_ANNOTATION]: 'false' } },
    }),
  }
  test.each<{ name: string; type: ResourceType; object: K8sObject }>([
    {
      name: 'the affinity of a narrowed binding, without --restore',
      type: resourceBindings,
      object: makeBinding({ placement: narrowed }),
    },
    {
      name: 'an AdmissionCheck of another controller',
      type: admissionChecks,
      object: makeAdmissionCheck({ controllerName: 'kueue.x-k8s.io/provisioning-request' }),
    },
    { name: 'an AdmissionCheck that is not active', type: admissionChecks, object: makeAdmissionCheck() },
    {
      name: 'a suspension of another client',
      type: resourceBindings,
      object: makeBinding({ suspension: { scheduling: true } }),
    },
    {
      name: 'propagateDeps of the author of a policy',
      type: propagationPolicies,
      object: makePolicy({ propagateDeps: true }),
    },
    {
      name: 'an annotation that the manifest of a policy has',
      type: propagationPolicies,
      object: makePolicy({}, { annotations: { ...declared, [keys.PROPAGATE_DEPS_ANNOTATION]: 'false' } }),
    },
    {
      name: 'the annotation of a workload that its user wrote',
      type: kindOf('Deployment'),
      object: template('Deployment', { own: VOLUMES }),
    },
    {
      name: 'a label of VCK on a node',
      type: nodes,
      object: makeNode('n1', { labels: { 'vck.intelai.org/kubeflow-0123456789abc': '' } }),
    },
    {
      name: 'a PersistentVolume of another name',
      type: persistentVolumes,
      object: claimNamed(persistentVolumes, 'mine'),
    },
    {
      name: 'a RoleBinding of another role',
      type: roleBindings,
      object: {
        ...named(roleBindings, 'lodestone-mover'),
        roleRef: { kind: 'ClusterRole', name: 'view' },
      } as K8sObject,
    },
    {
      name: 'a registration of another product',
      type: mutatingWebhookConfigurations,
      object: {
        ...named(mutatingWebhookConfigurations, 'lodestone'),
        webhooks: [{ name: 'a.example.com' }],
      } as K8sObject,
    },
    {
      name: 'a pod with only the label of a mover',
      type: pods,
      object: makePod(VOLUMES, {}, { labels: { [keys.MOVER_LABEL]: 'download' } }),
    },
  ])('$name', ({ type, object }) => {
    expect(remaining(type, object)).toBe('unchanged')
  })
})

describe('is deleted:', () => {
  test.each<{ name: string; type: ResourceType; object: K8sObject }>([
    { name: 'a mover', type: pods, object: makeMover() },
    {
      name: 'a PersistentVolumeClaim of a replica',
      type: persistentVolumeClaims,
      object: claimNamed(persistentVolumeClaims, 'vck-resource-4b1d-0123456789abc'),
    },
    {
      name: 'a registration with the label of Lodestone',
      type: mutatingWebhookConfigurations,
      object: named(mutatingWebhookConfigurations, 'lodestone', { labels: { 'app.kubernetes.io/name': 'lodestone' } }),
    },
    {
      name: 'the RoleBinding of movers',
      type: roleBindings,
      object: {
        ...named(roleBindings, 'lodestone-mover'),
        roleRef: { kind: 'ClusterRole', name: 'lodestone-mover' },
      } as K8sObject,
    },
    { name: 'the ServiceAccount of movers', type: serviceAccounts, object: named(serviceAccounts, 'lodestone-mover') },
  ])('$name', ({ type, object }) => {
    expect(remaining(type, object)).toBe('deleted')
    const ending = { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-11-20T12:00:00Z' } }
    expect(plan(type, ending)).toEqual({ removes: [], keeps: [], isEnding: true })
  })
})

describe('is kept with a reason:', () => {
  test.each([
    {
      name: 'narrowed workloads, which Karmada would move',
      harm: 'moves',
      why: 'move the narrowed workloads of the policy',
    },
    {
      name: 'volume claims, which Karmada would delete',
      harm: 'deletesVolumeClaims',
      why: 'delete PersistentVolumeClaims of its workloads in members',
    },
  ] as const)('propagateDeps of a policy with $name', ({ harm, why }) => {
    const annotations = { [keys.PROPAGATE_DEPS_SET_ANNOTATION]: 'true' }
    const policy = makePolicy({ propagateDeps: true }, { annotations })
    const options = { keptPolicies: new Map([['default/app', harm]]) }
    expect(remaining(propagationPolicies, policy, options)).toEqual(
      makePolicy({ propagateDeps: true }, { annotations: {} }),
    )
    expect(plan(propagationPolicies, policy, options).keeps).toEqual([
      `spec.propagateDeps: true; without it Karmada would ${why}`,
    ])
    expect(remaining(propagationPolicies, policy, { ...options, restores: true })).toEqual(
      makePolicy({}, { annotations: {} }),
    )
  })

  test('propagateDeps that Karmada requires for application failover', () => {
    const spec = { propagateDeps: true, failover: { application: {} } }
    const policy = makePolicy(spec, { annotations: { [keys.PROPAGATE_DEPS_SET_ANNOTATION]: 'true' } })
    const clusterScoped = { ...policy, metadata: { ...policy.metadata, namespace: '' } }
    expect(remaining(clusterPropagationPolicies, clusterScoped)).toMatchObject({ spec })
    expect(plan(clusterPropagationPolicies, clusterScoped).keeps).toEqual([
      'spec.propagateDeps: true; Karmada requires it for failover.application',
    ])
  })

  test('a dependency of running workloads: Karmada would delete it', () => {
    const binding = attached({ [dependedByLabel(OTHER)]: 'id' }, [OTHER])
    expect(remaining(resourceBindings, binding)).toEqual(attached({}, [OTHER]))
    expect(plan(resourceBindings, binding).keeps).toEqual([
      'spec.requiredBy: without it Karmada would delete the dependency',
    ])
  })

  test('the data of a VolumeManager', () => {
    const status = { volumes: [{ id: 'vol1', replicas: [makeReplica()] }] } as never
    const manager = makeVolumeManager([{}], { finalizers: [keys.VOLUME_FINALIZER], status })
    expect(plan(volumeManagers, manager).keeps).toEqual([`data on node n1: ${makeReplica().path}`])
  })

  test('the template of a Job, which is immutable', () => {
    const { write, keeps } = plan(kindOf('Job'), template('Job', copied))
    expect({ write, keeps }).toEqual({ write: undefined, keeps: [expect.stringContaining('recreate the Job')] })
  })
})

test('a base that only the policy has is restored from it', () => {
  const binding = makeBinding({ placement: narrowed }, { annotations: { [keys.BASE_AFFINITY_ANNOTATION]: '"policy"' } })
  const policy = makePolicy({ placement: base })
  expect(remaining(resourceBindings, binding, { restores: true }, policy)).toEqual(makeBinding({ placement: base }))
})

describe('in the table of rules', () => {
  test('ReplicaSets precede Deployments, which keep their pods then', () => {
    const kinds = workloadRules(SHIPPED_KINDS).map(({ type }) => type.kind)
    expect(kinds.indexOf('ReplicaSet')).toBeLessThan(kinds.indexOf('Deployment'))
    expect(kinds).not.toContain('Pod')
  })

  test('policies precede bindings, which show that workloads are narrowed', () => {
    const kinds = removalRules(OPTIONS).map(({ type }) => type.kind)
    const rules = [...policyRules(new Map()), ...bindingRules(false)]
    expect(rules.map(({ type }) => kinds.indexOf(type.kind))).toEqual([5, 6, 7, 8])
  })

  test('the checks of Kueue end before the claims for which they wait', () => {
    const kinds = removalRules(OPTIONS).map(({ type }) => type.kind)
    expect(kinds.indexOf(checkRule(0).type.kind)).toBeLessThan(kinds.indexOf('DataSourceClaim'))
  })

  test('an object of the release of a chart is left to Helm, and another one is deleted', () => {
    const [rule] = installedRules([{ type: roleBindings, object: named(roleBindings, 'x') }])
    expect(rule?.names).toEqual([{ namespace: 'default', name: 'x' }])
    const ofHelm = named(roleBindings, 'x', { annotations: { 'meta.helm.sh/release-name': 'lodestone' } })
    expect(rule?.plan(ofHelm)).toEqual({ removes: [], keeps: [] })
    expect(rule?.plan(named(roleBindings, 'x'))).toMatchObject({ write: { kind: 'delete' } })
  })

  test.each([
    { what: 'in the namespace of a Lease of another API server stays', namespace: 'default', isDeleted: false },
    { what: 'in another namespace is deleted', namespace: 'lodestone-system', isDeleted: true },
    { what: 'of the whole cluster is deleted', namespace: undefined, isDeleted: true },
  ])('an object of the installation $what', ({ namespace, isDeleted }) => {
    const object = { ...named(roleBindings, 'x'), metadata: defined({ name: 'x', namespace }) }
    const [rule] = installedRules([{ type: roleBindings, object }], [named(roleBindings, 'hub')])
    const removal = rule?.plan(object)
    expect(removal?.write !== undefined).toBe(isDeleted)
    const user = 'replicas of Lease default/hub, which serve another API server, may use it'
    expect(removal?.keeps).toEqual(isDeleted ? [] : [user])
  })
})

test('data of Lodestone is found in VolumeManagers and on nodes, each directory once', () => {
  const replica = makeReplica()
  const volumes = [
    { id: 'vol1', replicas: [replica, makeReplica({ node: undefined as never })], deletions: [makeDeletion()] },
    { id: 'local', replicas: [makeReplica({ path: '/mnt/of-users' })] },
  ]
  expect(listNodeData(makeVolumeManager([{}], { status: { volumes } as never }))).toEqual([
    { node: 'n1', path: replica.path },
  ])
  const node = makeNode('n1')
  const annotations = { [`${keys.LEFTOVER_PREFIX}0`]: '{"path":"/x"}', [`${keys.LEFTOVER_PREFIX}1`]: 'odd' }
  expect(leftoversOn({ ...node, metadata: { ...node.metadata, annotations } })).toEqual([{ node: 'n1', path: '/x' }])
})

function named({ kind, ...type }: ResourceType, name: string, metadata: ObjectMeta = {}): K8sObject {
  return {
    apiVersion: apiVersionOf(type),
    kind,
    metadata: { name, ...(type.namespaced && { namespace: 'default' }), ...metadata },
  }
}

function claimNamed(type: ResourceType, name: string): K8sObject {
  return named(type, name, { labels: { [keys.VOLUME_LABEL]: '4b1d-0123456789abc' } })
}
