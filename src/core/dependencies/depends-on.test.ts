import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { buildWorkloadKinds, SHIPPED_KINDS } from '../workload-kinds/kinds.ts'
import { buildRelatedKinds } from '../workload-kinds/related-kinds.ts'
import { dependsOnErrors, neverPropagatedErrors, parseDependsOn } from './depends-on.ts'

const AT = 'metadata.annotations[lodestone.dev/depends-on]'
const workload = (text: unknown): K8sObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'app', namespace: 'shop', annotations: { 'lodestone.dev/depends-on': text as string } },
})
const written = (value: unknown) => workload(JSON.stringify(value))

test('the annotation declares objects by kind and name', () => {
  const parsed = parseDependsOn(
    written([
      { kind: 'ConfigMap', name: 'a' },
      { kind: 'Ingress', name: 'b' },
    ]),
    SHIPPED_KINDS,
  )
  expect('objects' in parsed && parsed.objects.map(({ type, name }) => [type.group, type.kind, name])).toEqual([
    ['', 'ConfigMap', 'a'],
    ['networking.k8s.io', 'Ingress', 'b'],
  ])
})

test('an enabled kind can be declared', () => {
  const kinds = buildWorkloadKinds([], buildRelatedKinds({ related: ['Role'], relatedKinds: [] }))
  const object = written([{ kind: 'Role', name: 'reader' }])
  expect(dependsOnErrors(object, undefined, kinds)).toEqual([])
  expect(dependsOnErrors(object, undefined, SHIPPED_KINDS)).toHaveLength(1)
})

describe('invalid is an annotation', () => {
  test.each<[string, K8sObject, string, string]>([
    ['that is no text', workload(3), AT, 'must be a string'],
    ['that is not JSON', workload('x'), AT, 'is not JSON'],
    ['that is no list', written({ kind: 'Secret', name: 'a' }), AT, 'must be a list'],
    ['with an item that is no object', written(['a']), `${AT}[0]`, 'must be'],
    ['without a name', written([{ kind: 'Secret' }]), `${AT}[0].name`, 'is required'],
    ['with an empty name', written([{ kind: 'Secret', name: '' }]), `${AT}[0].name`, ''],
    ['with an invalid name', written([{ kind: 'Secret', name: 'A/b' }]), `${AT}[0].name`, ''],
    ['with an unknown field', written([{ kind: 'Secret', name: 'a', label: 'x' }]), `${AT}[0].label`, 'unknown field'],
    [
      'with a namespace',
      written([{ kind: 'Secret', name: 'a', namespace: 'x' }]),
      `${AT}[0].namespace`,
      'is that of the workload',
    ],
    ['with an unknown kind', written([{ kind: 'Secrets', name: 'a' }]), `${AT}[0].kind`, '(did you mean Secret?)'],
    [
      'with too many items',
      written(Array(65).fill({ kind: 'Secret', name: 'a' })),
      AT,
      'must have at most 64 items, has 65',
    ],
    ['that is too long', workload(' '.repeat(33_000)), AT, 'must have at most 32768 characters'],
  ])('%s', (_name, object, path, message) => {
    expect(dependsOnErrors(object, undefined, SHIPPED_KINDS)).toEqual([
      expect.objectContaining({ path, message: expect.stringContaining(message) }),
    ])
  })

  test('only if it is new or changed, and the object stays', () => {
    expect(dependsOnErrors(workload('x'), workload('x'), SHIPPED_KINDS)).toEqual([])
    expect(dependsOnErrors(workload('x'), workload('[]'), SHIPPED_KINDS)).toHaveLength(1)
    const { metadata, ...rest } = workload('x')
    const deleted = { ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    expect(dependsOnErrors(deleted, undefined, SHIPPED_KINDS)).toEqual([])
  })
})

describe('an object that each cluster creates for itself', () => {
  const object = written([
    { kind: 'Secret', name: 'key' },
    { kind: 'ConfigMap', name: 'kube-root-ca.crt' },
  ])

  test('is rejected, because the item has no effect', () => {
    expect(neverPropagatedErrors(object, undefined, SHIPPED_KINDS)).toEqual([
      {
        path: `${AT}[1]`,
        code: 'Forbidden',
        message:
          'ConfigMap "kube-root-ca.crt" is never propagated, because each cluster creates its own; remove the item',
      },
    ])
  })

  test('stays in a stored annotation, whose other items stay dependencies', () => {
    expect(neverPropagatedErrors(object, object, SHIPPED_KINDS)).toEqual([])
    expect(parseDependsOn(object, SHIPPED_KINDS)).toMatchObject({ objects: [{ name: 'key' }, {}] })
  })

  test('is not reported for an annotation that is invalid otherwise', () => {
    expect(neverPropagatedErrors(workload('x'), undefined, SHIPPED_KINDS)).toEqual([])
  })
})

test('without the annotation nothing is declared', () => {
  expect(parseDependsOn({ ...workload(''), metadata: { name: 'app' } }, SHIPPED_KINDS)).toEqual({ objects: [] })
})
