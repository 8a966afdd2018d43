import { describe, expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { BINDING_ID_LABEL, type BindingSpec, type ResourceBinding } from '../../api/karmada.ts'
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import type { Action, Plan } from '../plan.ts'
import { newAttachedBinding } from './attached-binding.ts'
import { dependedByLabel, karmadaDependedByLabel } from './names.ts'
import { type AttachedInput, type Need, planAttachedBinding } from './plan-attached.ts'

const config: K8sObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'my-config', namespace: 'default', uid: 'config-1', resourceVersion: '757297' },
}

/** The binding of a Deployment that is scheduled to member1 and member2, as in Karmada's proposal. */
function referrer(name = 'myapp', spec: Partial<BindingSpec> = {}, metadata: ObjectMeta = {}): ResourceBinding {
  const clusters = [
    { name: 'member1', replicas: 1 },
    { name: 'member2', replicas: 1 },
  ]
  return makeBinding(
    { propagateDeps: true, clusters, ...spec },
    { name: `${name}-deployment`, labels: { [BINDING_ID_LABEL]: `id-of-${name}` }, ...metadata },
  )
}

/** The binding of a PersistentVolume. */
function volume(name: string, cluster: string, spec: Partial<BindingSpec> = {}): ResourceBinding {
  return {
    ...referrer(name, { clusters: [{ name: cluster }], ...spec }),
    kind: 'ClusterResourceBinding',
    metadata: { name: `${name}-persistentvolume` },
  }
}

const ours = (binding: ResourceBinding): Need => ({ binding, ours: true, karmadaFollows: false })
const karmadas = (binding: ResourceBinding): Need => ({ binding, ours: false, karmadaFollows: true })
/** Karmada's distributor has not recorded the dependency yet. */
const unrecorded = (binding: ResourceBinding): Need => ({ binding, ours: true, karmadaFollows: true })
const labelOf = (binding: ResourceBinding) =>
  dependedByLabel({ namespace: 'default', name: binding.metadata.name ?? '' })
const karmadaLabelOf = (binding: ResourceBinding) =>
  karmadaDependedByLabel({ namespace: 'default', name: binding.metadata.name ?? '' })

function plan({
  labeledFor: noted = [],
  ...input
}: Partial<AttachedInput> & { all?: ResourceBinding[]; unknown?: ResourceBinding[] } = {}): Plan {
  const { all = (input.needs ?? []).map(({ binding }) => binding), unknown = [] } = input
  return planAttachedBinding({
    dependent: config,
    stored: undefined,
    needs: [],
    bindingOf: ({ namespace, name }) =>
      all.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    labeledFor: noted,
    isUnknown: (binding) => unknown.includes(binding),
    isNeverPropagated: false,
    waitedMs: 0,
    ...input,
  })
}

/** The binding that was created for these referrers, as an API server returns it. */
function attachedTo(referrers: ResourceBinding[], change: (made: ResourceBinding) => void = () => undefined) {
  const made = plan({ needs: referrers.map(ours) }).actions[0]
  if (made?.kind !== 'create') throw new Error('nothing was made')
  const stored = structuredClone(made.object) as ResourceBinding
  stored.metadata.resourceVersion = '7'
  change(stored)
  return stored
}

function patchOf({ actions }: Plan): Record<string, unknown> | undefined {
  const [action] = actions.filter((candidate): candidate is Action & { kind: 'patch' } => candidate.kind === 'patch')
  return action?.patch
}

describe('a dependency that is not attached yet', () => {
  test("gets the binding of the proposal's example, as Karmada's distributor creates it", () => {
    const myapp = referrer()

    expect(plan({ needs: [ours(myapp)] }).actions).toEqual([
      {
        kind: 'create',
        type: expect.objectContaining({ kind: 'ResourceBinding' }),
        object: {
          apiVersion: 'work.karmada.io/v1alpha2',
          kind: 'ResourceBinding',
          metadata: {
            name: 'my-config-configmap',
            namespace: 'default',
            labels: { [labelOf(myapp)]: 'id-of-myapp' },
            finalizers: ['karmada.io/binding-controller'],
            ownerReferences: [
              {
                apiVersion: 'v1',
                kind: 'ConfigMap',
                name: 'my-config',
                uid: 'config-1',
                controller: true,
                blockOwnerDeletion: true,
              },
            ],
          },
          spec: {
            resource: {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              namespace: 'default',
              name: 'my-config',
              uid: 'config-1',
              resourceVersion: '757297',
            },
            requiredBy: [
              {
                namespace: 'default',
                name: 'myapp-deployment',
                clusters: [
                  { name: 'member1', replicas: 1 },
                  { name: 'member2', replicas: 1 },
                ],
              },
            ],
            conflictResolution: 'Abort',
            preserveResourcesOnDeletion: false,
          },
        },
      },
    ])
  })

  test('gets one binding for all referrers', () => {
    const needs = [referrer('one'), referrer('two')].map(ours)

    expect(plan({ needs }).actions).toMatchObject([
      { kind: 'create', object: { spec: { requiredBy: [{ name: 'one-deployment' }, { name: 'two-deployment' }] } } },
    ])
  })

  test('of cluster-scoped workloads gets an entry that Karmada’s distributor finds', () => {
    const needs = [volume('one', 'member1'), volume('two', 'member2')].map(ours)

    expect(plan({ needs }).actions).toMatchObject([
      {
        object: {
          kind: 'ResourceBinding',
          spec: {
            requiredBy: [
              {
                namespace: 'default',
                name: 'my-config-configmap',
                clusters: [{ name: 'member1' }, { name: 'member2' }],
              },
            ],
          },
        },
      },
    ])
  })

  test.each([
    ['does not exist yet', { dependent: undefined, needs: [ours(referrer())] }],
    ['is being deleted', { dependent: leaving(config), needs: [ours(referrer())] }],
    ['is needed by no workload', { needs: [] }],
    ['is needed only by an unscheduled workload', { needs: [ours(referrer('app', { clusters: [] }))] }],
    ["is for Karmada's distributor", { needs: [karmadas(referrer())] }],
  ])('gets no binding if it %s', (_case, input) => {
    expect(plan(input).actions).toEqual([])
  })
})

describe('the binding of a dependency', () => {
  test('is not written if nothing changes', () => {
    const myapp = referrer()

    expect(plan({ stored: attachedTo([myapp]), needs: [ours(myapp)] }).actions).toEqual([])
  })

  test('follows the workload to other clusters', () => {
    const moved = referrer('myapp', { clusters: [{ name: 'member3', replicas: 2 }] })

    expect(patchOf(plan({ stored: attachedTo([referrer()]), needs: [ours(moved)] }))).toEqual({
      metadata: { resourceVersion: '7' },
      spec: {
        requiredBy: [{ namespace: 'default', name: 'myapp-deployment', clusters: [{ name: 'member3', replicas: 2 }] }],
      },
    })
  })

  test('follows a workload that is no longer scheduled', () => {
    const nowhere = referrer('myapp', { clusters: [] })

    expect(patchOf(plan({ stored: attachedTo([referrer()]), needs: [ours(nowhere)] }))).toMatchObject({
      spec: { requiredBy: [{ namespace: 'default', name: 'myapp-deployment' }] },
    })
  })

  test('stays where a workload runs until its replacement does', () => {
    const gracefulEvictionTasks = ['member1', 'member2'].map((fromCluster) => ({ fromCluster }))
    const evicted = referrer('myapp', { clusters: [], gracefulEvictionTasks })
    const replaced = referrer('myapp', { clusters: [{ name: 'member3', replicas: 2 }], gracefulEvictionTasks })
    const clustersFor = (one: ResourceBinding) =>
      patchOf(plan({ stored: attachedTo([referrer()]), needs: [ours(one)] }))?.['spec']

    expect(clustersFor(evicted)).toMatchObject({
      requiredBy: [{ clusters: [{ name: 'member1' }, { name: 'member2' }] }],
    })
    expect(clustersFor(replaced)).toMatchObject({
      requiredBy: [{ clusters: [{ name: 'member3' }, { name: 'member1' }, { name: 'member2' }] }],
    })
  })

  test('gets the new version of the dependency', () => {
    const edited = { ...config, metadata: { ...config.metadata, resourceVersion: '757400' } }
    const myapp = referrer()

    expect(patchOf(plan({ stored: attachedTo([myapp]), dependent: edited, needs: [ours(myapp)] }))).toMatchObject({
      spec: { resource: { name: 'my-config', resourceVersion: '757400' } },
    })
  })

  test('gets another workload after the existing ones', () => {
    const [one, two] = [referrer('one'), referrer('two')]

    expect(patchOf(plan({ stored: attachedTo([two]), needs: [one, two].map(ours) }))).toMatchObject({
      metadata: { labels: { [labelOf(one)]: 'id-of-one' } },
      spec: { requiredBy: [{ name: 'two-deployment' }, { name: 'one-deployment' }] },
    })
  })

  test('keeps the labels and entries of other writers', () => {
    const foreign = { namespace: 'default', name: 'foreign-deployment', clusters: [{ name: 'member9' }] }
    const stored = attachedTo([referrer()], ({ metadata, spec }) => {
      metadata.labels = { ...metadata.labels, team: 'blue', [karmadaDependedByLabel(foreign)]: 'x' }
      spec.requiredBy?.unshift(foreign)
    })

    expect(patchOf(plan({ stored, needs: [ours(referrer('two'))], all: [referrer(), referrer('two')] }))).toEqual({
      metadata: {
        resourceVersion: '7',
        labels: { [labelOf(referrer())]: null, [labelOf(referrer('two'))]: 'id-of-two' },
      },
      spec: { requiredBy: [foreign, expect.objectContaining({ name: 'two-deployment' })] },
    })
  })

  test('is left to the garbage collector if its object was deleted and recreated', () => {
    const recreated = { ...config, metadata: { ...config.metadata, uid: 'config-2' } }

    expect(plan({ stored: attachedTo([referrer()]), dependent: recreated, needs: [ours(referrer())] }).actions).toEqual(
      [],
    )
  })

  test('is not changed while it is being deleted', () => {
    expect(plan({ stored: leaving(attachedTo([referrer()])), needs: [ours(referrer('two'))] }).actions).toEqual([])
  })

  test('with its own policy gets the referrer, and keeps its strategy', () => {
    const stored = attachedTo([referrer('one')], ({ spec }) => {
      spec.placement = { clusterAffinity: { clusterNames: ['member3'] } }
    })
    const overwriting = referrer('two', { conflictResolution: 'Overwrite' })

    expect(
      Object.keys(patchOf(plan({ stored, needs: [referrer('one'), overwriting].map(ours) }))?.['spec'] ?? {}),
    ).toEqual(['requiredBy'])
  })
})

describe('a workload that is in no cluster any more', () => {
  const claim = { ...config, kind: 'PersistentVolumeClaim' }
  const empty = referrer('myapp', { clusters: [], replicas: 0, replicaRequirements: {} })
  const given = {
    dependent: claim,
    stored: attachedTo([referrer()], ({ spec }) => {
      spec.resource.kind = claim.kind
    }),
  }

  test.each([
    { name: 'it is scaled to zero', by: empty },
    {
      name: 'it has replicas again, and waits for the scheduler',
      by: referrer('myapp', { clusters: [], replicas: 2 }),
    },
  ])('keeps its PersistentVolumeClaim where it ran: $name', ({ by }) => {
    expect(plan({ ...given, needs: [ours(by)] }).actions).toEqual([])
  })

  test('takes the claim along when it runs elsewhere', () => {
    const moved = referrer('myapp', { clusters: [{ name: 'member3', replicas: 2 }] })
    expect(patchOf(plan({ ...given, needs: [ours(moved)] }))).toMatchObject({
      spec: { requiredBy: [{ clusters: [{ name: 'member3' }] }] },
    })
  })

  test('gives the claim up when it needs it no more', () => {
    expect(patchOf(plan({ ...given, needs: [], all: [empty] }))).toMatchObject({ spec: { requiredBy: null } })
  })

  test('keeps no other dependency', () => {
    expect(patchOf(plan({ stored: attachedTo([referrer()]), needs: [ours(empty)] }))).toMatchObject({
      spec: { requiredBy: [{ namespace: 'default', name: 'myapp-deployment' }] },
    })
  })

  test('attaches no new claim', () => {
    expect(plan({ dependent: claim, needs: [ours(empty)] }).actions).toEqual([])
  })
})

describe('a workload that no longer needs the dependency', () => {
  const [one, two] = [referrer('one'), referrer('two')]

  test('is removed, and the others stay', () => {
    expect(patchOf(plan({ stored: attachedTo([one, two]), needs: [ours(two)], all: [one, two] }))).toEqual({
      metadata: { resourceVersion: '7', labels: { [labelOf(one)]: null } },
      spec: { requiredBy: [expect.objectContaining({ name: 'two-deployment' })] },
    })
  })

  test('leaves an empty binding without a strategy, if it was the last one', () => {
    expect(patchOf(plan({ stored: attachedTo([one]), needs: [] }))).toEqual({
      metadata: { resourceVersion: '7', labels: { [labelOf(one)]: null } },
      spec: { requiredBy: null, conflictResolution: null, preserveResourcesOnDeletion: null },
    })
  })

  test('is removed even if the dependency is gone', () => {
    expect(patchOf(plan({ dependent: undefined, stored: attachedTo([one, two]), needs: [ours(two)] }))).toMatchObject({
      spec: { requiredBy: [{ name: 'two-deployment' }] },
    })
  })

  test('is removed with every duplicate of its entry', () => {
    const stored = attachedTo([one, two], ({ spec }) => void spec.requiredBy?.push(...(spec.requiredBy ?? [])))

    expect(patchOf(plan({ stored, needs: [ours(two)] }))).toMatchObject({
      spec: { requiredBy: [{ name: 'two-deployment' }] },
    })
  })

  test('no longer affects the strategy', () => {
    const overwriting = referrer('one', { conflictResolution: 'Overwrite', preserveResourcesOnDeletion: true })

    expect(patchOf(plan({ stored: attachedTo([overwriting, two]), needs: [ours(two)] }))).toMatchObject({
      spec: { conflictResolution: 'Abort', preserveResourcesOnDeletion: false },
    })
  })

  test('stays while its dependencies are unknown', () => {
    expect(plan({ stored: attachedTo([one]), needs: [], all: [one], unknown: [one] }).actions).toEqual([])
  })

  test('stays, without our label, if Karmada’s distributor recorded it as well', () => {
    const stored = attachedTo([one], ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [karmadaLabelOf(one)]: 'id-of-one' }
    })

    expect(patchOf(plan({ stored, needs: [], all: [one] }))).toEqual({
      metadata: { resourceVersion: '7', labels: { [labelOf(one)]: null } },
    })
  })
})

describe('with attachments of Karmada’s distributor', () => {
  const myapp = referrer()

  test('our attachment stays until the distributor has recorded it', () => {
    expect(plan({ stored: attachedTo([myapp]), needs: [karmadas(myapp)] }).actions).toEqual([])
  })

  test('then only our label is removed', () => {
    const stored = attachedTo([myapp], ({ metadata }) => {
      metadata.labels = { ...metadata.labels, [karmadaLabelOf(myapp)]: 'id-of-myapp' }
    })

    expect(patchOf(plan({ stored, needs: [karmadas(myapp)] }))).toEqual({
      metadata: { resourceVersion: '7', labels: { [labelOf(myapp)]: null } },
    })
  })

  test('an attachment of the distributor alone is never written', () => {
    const stored = attachedTo([myapp], ({ metadata, spec }) => {
      metadata.labels = { [karmadaLabelOf(myapp)]: 'id-of-myapp' }
      spec.requiredBy?.push(...(spec.requiredBy ?? []))
      delete spec.conflictResolution
    })

    expect(plan({ stored, needs: [karmadas(referrer('myapp', { clusters: [{ name: 'member3' }] }))] }).actions).toEqual(
      [],
    )
  })
})

describe('a cluster-scoped workload', () => {
  const [one, two] = [volume('one', 'member1'), volume('two', 'member2')]

  test('is added to namespaced ones, whose entries stay', () => {
    const myapp = referrer()

    expect(patchOf(plan({ stored: attachedTo([myapp]), needs: [myapp, one].map(ours) }))).toMatchObject({
      spec: {
        requiredBy: [
          { namespace: 'default', name: 'myapp-deployment' },
          { namespace: 'default', name: 'my-config-configmap', clusters: [{ name: 'member1' }] },
        ],
      },
    })
  })

  test('that no longer needs the dependency is removed, and the others stay', () => {
    const stored = attachedTo([one, two])

    expect(patchOf(plan({ stored, needs: [ours(two)], labeledFor: [one, two] }))).toMatchObject({
      spec: { requiredBy: [{ name: 'my-config-configmap', clusters: [{ name: 'member2' }] }] },
    })
    expect(patchOf(plan({ stored, needs: [], labeledFor: [one, two] }))).toMatchObject({ spec: { requiredBy: null } })
  })

  test('stays while its dependencies are unknown', () => {
    const stored = attachedTo([one, two])

    expect(plan({ stored, needs: [ours(two)], labeledFor: [one, two], unknown: [one] }).actions).toEqual([])
  })

  test('counts in the conflict strategy', () => {
    const overwriting = volume('one', 'member1', { conflictResolution: 'Overwrite' })

    expect(plan({ needs: [referrer(), overwriting].map(ours) }).actions).toMatchObject([
      { object: { spec: { conflictResolution: 'Overwrite' } } },
      { reason: 'DependencyPolicyConflict' },
    ])
    expect(plan({ stored: attachedTo([overwriting]), needs: [ours(one)] }).actions).toMatchObject([
      { patch: { spec: { conflictResolution: 'Abort' } } },
    ])
  })
})

describe('workloads with different strategies for a shared dependency', () => {
  test.each([
    ['one overwrites', { conflictResolution: 'Overwrite' }, { conflictResolution: 'Overwrite' }],
    ['one preserves', { preserveResourcesOnDeletion: true }, { preserveResourcesOnDeletion: true }],
  ])('%s: the strategy applies to all, and an Event reports the conflict', (_case, given, expected) => {
    const needs = [referrer('one', given), referrer('two')].map(ours)

    expect(plan({ needs }).actions).toMatchObject([
      { kind: 'create', object: { spec: expected } },
      { kind: 'event', type: 'Warning', reason: 'DependencyPolicyConflict' },
    ])
  })

  test('a deleted binding does not affect the strategy', () => {
    const stored = attachedTo([referrer('one', { conflictResolution: 'Overwrite' }), referrer('two')])

    expect(patchOf(plan({ stored, needs: [ours(referrer('two'))] }))).toMatchObject({
      spec: { conflictResolution: 'Abort' },
    })
  })
})

test('after a plan is applied, the next plan is empty', () => {
  const [one, two] = [referrer('one'), referrer('two', { conflictResolution: 'Overwrite' })]
  const stored = newAttachedBinding(
    {
      group: 'work.karmada.io',
      version: 'v1alpha2',
      kind: 'ResourceBinding',
      plural: 'resourcebindings',
      namespaced: true,
    },
    config,
    [one, two],
  )

  expect(plan({ stored, needs: [two, one].map(ours) }).actions).toEqual([])
})

function leaving<T extends K8sObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
}

describe('a referrer that moves before Karmada has recorded the dependency', () => {
  const before = referrer('myapp', { clusters: [{ name: 'member1' }] })
  const after = referrer('myapp', { clusters: [{ name: 'member2' }] })
  const stored = attachedTo([before])

  test('is left to Karmada for ten seconds', () => {
    expect(plan({ stored, needs: [unrecorded(after)], waitedMs: 4_000 })).toEqual({
      actions: [],
      requeueAfterMs: 6_000,
    })
  })

  test('is left to Karmada while it has recorded the dependency and not attached it', () => {
    expect(plan({ stored, needs: [karmadas(after)] })).toEqual({ actions: [], requeueAfterMs: 10_000 })
  })

  test('is moved by Lodestone if Karmada has not done it by then', () => {
    const moved = plan({ stored, needs: [unrecorded(after)], waitedMs: 10_000 })
    expect(moved.requeueAfterMs).toBeUndefined()
    expect(patchOf(moved)).toMatchObject({ spec: { requiredBy: [{ clusters: [{ name: 'member2' }] }] } })
  })

  test('does not leave at once a cluster in which the workload still runs', () => {
    const leaving = { ...after, spec: { ...after.spec, gracefulEvictionTasks: [{ fromCluster: 'member1' }] } }
    const clusters = [{ name: 'member2' }, { name: 'member1' }]

    expect(plan({ stored, needs: [unrecorded(leaving)] })).toEqual({ actions: [], requeueAfterMs: 10_000 })
    const written = plan({ stored: attachedTo([after]), needs: [unrecorded(leaving)] })
    expect(written.requeueAfterMs).toBeUndefined()
    expect(patchOf(written)).toMatchObject({ spec: { requiredBy: [{ clusters }] } })
    expect(plan({ stored: attachedTo([leaving]), needs: [unrecorded(leaving)] })).toEqual({ actions: [] })
  })

  test('does not delay another referrer', () => {
    const other = referrer('other', { clusters: [{ name: 'member3' }] })
    const both = plan({ stored, needs: [unrecorded(after), unrecorded(other)] })
    expect(both.requeueAfterMs).toBe(10_000)
    expect(patchOf(both)).toMatchObject({
      spec: { requiredBy: [{ clusters: [{ name: 'member1' }] }, { clusters: [{ name: 'member3' }] }] },
    })
  })
})

describe('the binding of an object that each cluster creates for itself', () => {
  const attached = (spec: Partial<BindingSpec>, labels: Record<string, string> = {}) =>
    makeBinding(
      {
        resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'kube-root-ca.crt' },
        requiredBy: [{ namespace: 'default', name: 'myapp-deployment', clusters: [{ name: 'member1' }] }],
        ...spec,
      },
      { name: 'kube-root-ca.crt-configmap', labels, resourceVersion: '7' },
    )
  const release = (stored: ResourceBinding) =>
    plan({ stored, isNeverPropagated: true, all: [referrer()], needs: [] }).actions

  test.each([
    ['Lodestone', labelOf(referrer())],
    ['Karmada', karmadaLabelOf(referrer())],
  ])('is released for the referrers of %s; other labels stay', (_writer, label) => {
    expect(release(attached({}, { [label]: 'id', team: 'a' }))).toEqual([
      {
        kind: 'patch',
        of: expect.objectContaining({ namespace: 'default', name: 'kube-root-ca.crt-configmap' }),
        patch: { metadata: { resourceVersion: '7', labels: { [label]: null } }, spec: { requiredBy: null } },
      },
      expect.objectContaining({
        kind: 'event',
        reason: 'NeverPropagated',
        message: 'released ConfigMap kube-root-ca.crt: each cluster creates its own',
      }),
    ])
  })

  test('is not written when it is released', () => {
    const { requiredBy: _, ...spec } = attached({}).spec
    expect(release({ ...attached({}), spec })).toEqual([])
  })

  test('is not created', () => {
    expect(plan({ isNeverPropagated: true, needs: [] }).actions).toEqual([])
  })
})
