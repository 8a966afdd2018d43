import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import shipped from './related-kinds.json' with { type: 'json' }
import { buildRelatedKinds, RELATED_KIND_NAMES, relatedKindsSchema, validateRelatedKinds } from './related-kinds.ts'

const lease = {
  group: 'example.com',
  versions: ['v2', 'v1'],
  kind: 'Quota',
  plural: 'quotas',
  podSelectors: ['spec.selector'],
}

test('the shipped table is valid as configuration is', () => {
  expect(compileSchema(relatedKindsSchema, 'forbidden')(shipped)).toEqual([])
  expect(validateRelatedKinds({ related: [], relatedKinds: shipped }, 'dependencies')).toEqual([])
})

test('only enabled kinds are built, with those of the configuration', () => {
  const kinds = buildRelatedKinds({ related: ['NetworkPolicy', 'HTTPRoute'], relatedKinds: [lease] })
  expect(kinds.map(({ type }) => [type.kind, type.version, type.otherVersions])).toEqual([
    ['NetworkPolicy', 'v1', undefined],
    ['HTTPRoute', 'v1', ['v1beta1']],
    ['Quota', 'v2', ['v1']],
  ])
  expect(buildRelatedKinds({ related: [], relatedKinds: [] })).toEqual([])
})

describe('invalid is', () => {
  test.each([
    [
      'an unknown name',
      { related: ['NetworkPolicies'], relatedKinds: [] },
      'related[0]',
      '(did you mean NetworkPolicy?)',
    ],
    [
      'a path',
      { related: [], relatedKinds: [{ ...lease, podSelectors: ['a b'] }] },
      'relatedKinds[0].podSelectors[0]',
      'must be a JSONPath',
    ],
    [
      'a path of a reference',
      { related: [], relatedKinds: [{ ...lease, references: [{ path: '/' }] }] },
      'relatedKinds[0].references[0].path',
      'must be a JSONPath',
    ],
    [
      'a kind with two entries',
      { related: [], relatedKinds: [lease, lease] },
      'relatedKinds[1].kind',
      'must have one entry',
    ],
    [
      'an entry of an enabled kind',
      { related: ['Role'], relatedKinds: shipped.filter(({ kind }) => kind === 'Role') },
      'relatedKinds[0].kind',
      'must have one entry',
    ],
  ])('%s', (_name, config, path, message) => {
    expect(validateRelatedKinds(config, 'dependencies')).toEqual([
      expect.objectContaining({ path: `dependencies.${path}`, message: expect.stringContaining(message) }),
    ])
  })
})

test('the table has the kinds of the documentation', () => {
  expect(RELATED_KIND_NAMES).toEqual([
    'HorizontalPodAutoscaler',
    'PodDisruptionBudget',
    'NetworkPolicy',
    'ServiceMonitor',
    'HTTPRoute',
    'SecretProviderClass',
    'ResourceClaimTemplate',
    'ResourceClaim',
    'RoleBinding',
    'Role',
  ])
})
