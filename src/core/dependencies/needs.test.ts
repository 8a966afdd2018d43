import { describe, expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import { DEPENDENCIES_ANNOTATION, MANAGED_BY_LABEL, type ResourceBinding } from '../../api/karmada.ts'
import { DEPENDENCIES_FINALIZER } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import { attachesAny, divideNeeds, planDependenciesFinalizer, propagates, refersTo } from './needs.ts'

const service: K8sObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default', labels: { app: 'web', tier: 'front' } },
}
const reference = { apiVersion: 'v1', kind: 'Service', namespace: 'default' }

/** A binding with these dependencies recorded by Karmada's distributor; without a record if the distributor has not processed it. */
function recorded(references?: unknown): ResourceBinding {
  const clusters = [{ name: 'member1' }]
  const annotations = references === undefined ? {} : { [DEPENDENCIES_ANNOTATION]: JSON.stringify(references) }
  return makeBinding({ propagateDeps: true, clusters }, { annotations })
}

const clusterScoped: ResourceBinding = {
  ...makeBinding({ propagateDeps: true, clusters: [{ name: 'member1' }] }),
  kind: 'ClusterResourceBinding',
  metadata: { name: 'data-persistentvolume' },
}

describe('a reference', () => {
  test.each([
    ['the name', { ...reference, name: 'web' }, true],
    ['another name', { ...reference, name: 'other' }, false],
    ['another namespace', { ...reference, namespace: 'other', name: 'web' }, false],
    ['another kind', { ...reference, kind: 'Secret', name: 'web' }, false],
    ['another version', { ...reference, apiVersion: 'v2', name: 'web' }, false],
    ['labels that it has', { ...reference, labelSelector: { matchLabels: { app: 'web' } } }, true],
    ['labels that it does not have', { ...reference, labelSelector: { matchLabels: { app: 'db' } } }, false],
    ['an empty selector', { ...reference, labelSelector: {} }, true],
    [
      'a name, with labels that do not match',
      { ...reference, name: 'web', labelSelector: { matchLabels: { a: 'b' } } },
      true,
    ],
    ['neither name nor labels', reference, false],
  ])('by %s', (_case, given, expected) => {
    expect(refersTo(given, service)).toBe(expected)
  })

  test('by labels does not match an object without labels', () => {
    const bare = { ...service, metadata: { name: 'web', namespace: 'default' } }

    expect(refersTo({ ...reference, labelSelector: { matchLabels: { app: 'web' } } }, bare)).toBe(false)
  })
})

describe('dependencies follow a binding', () => {
  test.each([
    ['whose policy sets propagateDeps', makeBinding({ propagateDeps: true }), true],
    ['whose policy does not set it', makeBinding(), false],
    ['that is being deleted', makeBinding({ propagateDeps: true }, { deletionTimestamp: 'now' }), false],
    [
      'that another controller manages',
      makeBinding({ propagateDeps: true }, { labels: { [MANAGED_BY_LABEL]: 'x' } }),
      false,
    ],
  ])('%s', (_case, binding, expected) => {
    expect(propagates(binding)).toBe(expected)
  })
})

describe('Lodestone attaches a dependency', () => {
  const isOurs = (binding: ResourceBinding, distribution: 'karmada' | 'builtin' = 'karmada') =>
    divideNeeds(service, [binding], distribution).map(({ ours }) => ours)

  test.each([
    ['always, with distribution builtin', recorded(), 'builtin', true],
    ['not before Karmada’s distributor has processed the workload', recorded(), 'karmada', false],
    ['not if the distributor has recorded it', recorded([{ ...reference, name: 'web' }]), 'karmada', false],
    ['if the distributor has recorded only others', recorded([{ ...reference, name: 'other' }]), 'karmada', true],
    ['if the distributor found nothing', recorded(null), 'karmada', true],
    ['not if the record is malformed', recorded({ not: 'a list' }), 'karmada', false],
    ['for a cluster-scoped workload', clusterScoped, 'karmada', true],
  ] as const)('%s', (_case, binding, distribution, expected) => {
    expect(isOurs(binding, distribution)).toEqual([expected])
    expect(attachesAny(binding, [service], distribution)).toBe(expected)
  })

  test('only for a cluster-scoped workload, if others need it too', () => {
    const known = recorded([{ ...reference, name: 'web' }])

    expect(divideNeeds(service, [known, clusterScoped], 'karmada').map(({ ours }) => ours)).toEqual([false, true])
  })

  test('and Karmada’s distributor never attaches: cluster-scoped, or with builtin', () => {
    const follows = (distribution: 'karmada' | 'builtin') =>
      divideNeeds(service, [recorded(null), clusterScoped], distribution).map(({ karmadaFollows }) => karmadaFollows)

    expect(follows('karmada')).toEqual([true, false])
    expect(follows('builtin')).toEqual([false, false])
  })

  test('not for a workload that is not scheduled yet', () => {
    const pending = { ...clusterScoped, spec: { ...clusterScoped.spec, clusters: [] } }

    expect(attachesAny(pending, [service], 'builtin')).toBe(false)
  })
})

const [foreign, ours] = ['karmada.io/binding-controller', DEPENDENCIES_FINALIZER]

test.each([
  ['set if there is a dependency to attach', [foreign], true, false, false, [foreign, ours]],
  ['unchanged while Lodestone attaches', [foreign, ours], true, true, false, undefined],
  ['removed when nothing is attached any more', [foreign, ours], false, false, false, [foreign]],
  ['kept while a dependency is still attached', [foreign, ours], false, true, false, undefined],
  ['kept by a deleted binding while a dependency is still attached', [foreign, ours], false, true, true, undefined],
  ['removed when a deleted binding has nothing attached', [foreign, ours], true, false, true, [foreign]],
  ['never set on a binding that is being deleted', [foreign], true, true, true, undefined],
  ['not set if there is nothing to attach', [foreign], false, false, false, undefined],
  ['unchanged while the dependencies are unknown', [foreign, ours], undefined, false, false, undefined],
  ['not set while the dependencies are unknown', [foreign], undefined, false, false, undefined],
])('the finalizer is %s', (_case, finalizers, attaches, hasAttached, deleted, expected) => {
  const deletion = deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  const binding = makeBinding({}, { finalizers, resourceVersion: '7', ...deletion })

  const { actions } = planDependenciesFinalizer({ binding, attaches, hasAttached })

  expect(actions.map((action) => action.kind === 'patch' && action.patch)).toEqual(
    expected ? [{ metadata: { resourceVersion: '7', finalizers: expected } }] : [],
  )
})
