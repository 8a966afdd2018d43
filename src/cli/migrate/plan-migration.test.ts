/** Tests the migration of each kind: what is removed, and what stays. */
import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makeSource } from '../../../test/builders.ts'
import type { BindingSpec, Placement } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { type MigrationInput, planMigration } from './plan-migration.ts'

const version = { resourceVersion: '7' }
const plan = (object: K8sObject, more: Partial<MigrationInput> = {}) =>
  planMigration({ object, policy: undefined, keepsSuspensions: false, ...more })

/** The object after its migration. */
function migrated<T extends K8sObject>(object: T, more: Partial<MigrationInput> = {}): T {
  return applyMergePatch(object, plan(object, more)?.patch ?? {}) as T
}

const CLAIM = 'datadependency.volcano.sh/finalizer'
const SOURCE = 'datadependency.volcano.sh/datasource-finalizer'
const INJECTED = { 'datadependency.volcano.sh/placement-injected': 'true' }
const excluded = (...names: string[]) => ({
  ...INJECTED,
  'datadependency.volcano.sh/excluded-clusters': names.join(','),
})

describe('claims and sources lose only what volcano-global added', () => {
  test('the finalizer of a claim, for the version that was read', () => {
    const claim = makeClaim({}, { ...version, finalizers: ['lodestone.dev/claim', CLAIM, 'other.io/x'] })
    expect(plan(claim)).toEqual({
      changes: [`remove finalizer ${CLAIM}`],
      patch: { metadata: { resourceVersion: '7', finalizers: ['lodestone.dev/claim', 'other.io/x'] } },
    })
  })

  test('the hint of the dispatcher on a claim', () => {
    const annotations = { 'datadependency.volcano.sh/associated-rbs': 'default/app', team: 'a' }
    expect(migrated(makeClaim({}, { annotations })).metadata.annotations).toEqual({ team: 'a' })
  })

  test('the finalizer of a source; its data and status stay', () => {
    const source = makeSource({}, { ...version, finalizers: [SOURCE], status: { boundClaims: 1 } })
    expect(migrated(source)).toEqual({ ...source, metadata: { ...source.metadata, finalizers: [] } })
  })

  test('a deleted source without another finalizer is announced as gone', () => {
    const source = makeSource({}, { finalizers: [SOURCE], deletionTimestamp: '2026-11-20T12:00:00Z' })
    expect(plan(source)?.changes).toEqual([`remove finalizer ${SOURCE}, which completes the deletion`])
  })

  test.each([
    { name: 'a claim of Lodestone', object: makeClaim({}, { finalizers: ['lodestone.dev/claim'] }) },
    { name: 'a claim with the finalizer of sources', object: makeClaim({}, { finalizers: [SOURCE] }) },
    { name: 'a new source', object: makeSource() },
    { name: 'another kind', object: { ...makeClaim({}, { finalizers: [CLAIM] }), kind: 'ConfigMap' } },
    { name: 'a binding', object: makeBinding() },
  ])('$name stays as it is', ({ object }) => {
    expect(plan(object)).toBeUndefined()
  })
})

describe('the exclusions of a binding', () => {
  const groups = [{ affinityName: 'a', clusterNames: ['member1'] }]

  test.each<{ name: string; placement: Placement; recorded: string[]; policy?: Placement; want: Placement }>([
    {
      name: 'are removed; those of the user stay',
      placement: { clusterAffinity: { exclude: ['mine', 'member3'] } },
      recorded: ['member3'],
      want: { clusterAffinity: { exclude: ['mine'] } },
    },
    {
      name: 'stay if the policy has them too',
      placement: { clusterAffinity: { exclude: ['member2', 'member3'] } },
      recorded: ['member2', 'member3'],
      policy: { clusterAffinity: { exclude: ['member2'] } },
      want: { clusterAffinity: { exclude: ['member2'] } },
    },
    {
      name: 'leave the other fields of the affinity',
      placement: { clusterAffinity: { clusterNames: ['member1'], exclude: ['member3'] }, spreadConstraints: [] },
      recorded: ['member3'],
      want: { clusterAffinity: { clusterNames: ['member1'] }, spreadConstraints: [] },
    },
    {
      name: 'are removed with their affinity beside groups, which Karmada ignored',
      placement: { clusterAffinity: { exclude: ['member3'] }, clusterAffinities: groups },
      recorded: ['member3'],
      policy: { clusterAffinities: groups },
      want: { clusterAffinities: groups },
    },
    {
      name: 'leave an empty affinity of the policy',
      placement: { clusterAffinity: { exclude: ['member3'] } },
      recorded: ['member3'],
      policy: { clusterAffinity: {} },
      want: { clusterAffinity: {} },
    },
    {
      name: 'are no longer there, since Karmada has written the placement again',
      placement: { clusterAffinity: { clusterNames: ['member1'] } },
      recorded: ['member3'],
      want: { clusterAffinity: { clusterNames: ['member1'] } },
    },
  ])('$name', ({ placement, recorded, policy, want }) => {
    const binding = makeBinding({ placement }, { annotations: excluded(...recorded) })
    const result = migrated(binding, { policy })
    expect(result.spec.placement).toEqual(want)
    expect(Object.keys(result.metadata.annotations ?? {}).join()).not.toContain('volcano')
    expect(plan(result, { policy })).toBeUndefined()
  })
})

describe('the suspension of a binding', () => {
  const suspended = (spec: Partial<BindingSpec> = {}) => makeBinding({ suspension: { scheduling: true }, ...spec })
  const service = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'app' }
  const hold = JSON.stringify({ message: 'm', reason: 'Unresolved', since: '2026-11-20T12:00:00Z' })

  test('is removed', () => {
    expect(plan(suspended())?.changes).toEqual(['resume scheduling'])
    expect(migrated(suspended()).spec).not.toHaveProperty('suspension')
  })

  test('is removed alone: other suspensions of the policy stay', () => {
    const binding = suspended({ suspension: { scheduling: true, dispatching: true } })
    expect(migrated(binding).spec.suspension).toEqual({ dispatching: true })
  })

  test.each([
    { name: 'with the option to keep it', binding: suspended(), more: { keepsSuspensions: true } },
    {
      name: 'as a hold of Lodestone',
      binding: { ...suspended(), metadata: { annotations: { 'lodestone.dev/hold': hold } } },
    },
    { name: 'of a kind that volcano-global does not suspend', binding: suspended({ resource: service }) },
    { name: 'that is false', binding: suspended({ suspension: { scheduling: false } }) },
    { name: 'of dispatching only', binding: suspended({ suspension: { dispatching: true } }) },
  ])('stays $name', ({ binding, more }) => {
    expect(plan(binding, more)).toBeUndefined()
  })
})

test('all changes of a binding are one patch', () => {
  const binding = makeBinding(
    { placement: { clusterAffinity: { exclude: ['member3'] } }, suspension: { scheduling: true } },
    { ...version, annotations: excluded('member3') },
  )
  expect(plan(binding)).toEqual({
    changes: [
      'remove annotations datadependency.volcano.sh/placement-injected, datadependency.volcano.sh/excluded-clusters',
      'remove 1 excluded cluster',
      'resume scheduling',
    ],
    patch: {
      metadata: {
        resourceVersion: '7',
        annotations: {
          'datadependency.volcano.sh/placement-injected': null,
          'datadependency.volcano.sh/excluded-clusters': null,
        },
      },
      spec: { placement: { clusterAffinity: null }, suspension: null },
    },
  })
})
