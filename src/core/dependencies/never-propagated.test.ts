import { describe, expect, test } from 'vitest'
import { describeErrors } from '../../base/field-errors.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { neverPropagated, neverPropagatedSchema, validateNeverPropagated } from './never-propagated.ts'

const isNeverPropagated = neverPropagated()

describe('each cluster creates for itself', () => {
  test.each([
    ['ConfigMap', 'shop', 'kube-root-ca.crt'],
    ['ConfigMap', 'shop', 'openshift-service-ca.crt'],
    ['ConfigMap', 'shop', 'istio-ca-root-cert'],
    ['ConfigMap', 'shop', 'config-trusted-cabundle'],
    ['ConfigMap', 'shop', 'config-service-cabundle'],
    ['ConfigMap', 'shop', 'odh-trusted-ca-bundle'],
    ['ConfigMap', 'kube-system', 'extension-apiserver-authentication'],
    ['ServiceAccount', 'shop', 'default'],
    ['Secret', 'shop', 'default-token-x7k2p'],
    ['Secret', 'shop', 'builder-dockercfg-hd5bv'],
    ['Secret', 'shop', 'sh.helm.release.v1.web.v3'],
    ['Service', 'default', 'kubernetes'],
    ['EndpointSlice', 'default', 'kubernetes'],
    ['RoleBinding', 'shop', 'system:image-pullers'],
  ])('%s %s/%s', (kind, namespace, name) => {
    expect(isNeverPropagated({ kind, namespace, name })).toBe(true)
  })
})

describe('users create', () => {
  test.each([
    ['ConfigMap', 'shop', 'kube-root-ca.crt-copy'],
    ['Secret', 'shop', 'kube-root-ca.crt'],
    ['ConfigMap', 'shop', 'extension-apiserver-authentication'],
    ['ServiceAccount', 'shop', 'builder'],
    ['Secret', 'shop', 'default-token-github'],
    ['Secret', 'shop', 'reader-token-x7k2p'],
    ['Service', 'shop', 'kubernetes'],
    ['RoleBinding', 'shop', 'system:image-pullers-of-ours'],
  ])('%s %s/%s', (kind, namespace, name) => {
    expect(isNeverPropagated({ kind, namespace, name })).toBe(false)
  })

  test('a reference by labels, which has no name', () => {
    expect(isNeverPropagated({ kind: 'ConfigMap', namespace: 'shop' })).toBe(false)
  })
})

describe('the configuration adds', () => {
  const configured = neverPropagated([
    { kind: 'ConfigMap', name: 'corporate-ca' },
    { kind: 'Secret', name: 'registry-*' },
    { kind: 'ServiceAccount', name: 'deployer', namespace: 'shop' },
  ])

  test.each([
    ['an object of every namespace', { kind: 'ConfigMap', namespace: 'shop', name: 'corporate-ca' }, true],
    ['names with a beginning', { kind: 'Secret', namespace: 'shop', name: 'registry-eu' }, true],
    ['no other names', { kind: 'ConfigMap', namespace: 'shop', name: 'corporate-ca-2' }, false],
    ['an object of one namespace', { kind: 'ServiceAccount', namespace: 'shop', name: 'deployer' }, true],
    ['not that of another one', { kind: 'ServiceAccount', namespace: 'bank', name: 'deployer' }, false],
    ['to the shipped objects', { kind: 'ConfigMap', namespace: 'shop', name: 'kube-root-ca.crt' }, true],
  ])('%s', (_name, object, want) => {
    expect(configured(object)).toBe(want)
  })

  test.each([
    [{ kind: 'ConfigMap', name: '*' }, 'must be the name of an object'],
    [{ kind: 'ConfigMap', name: 'a*b' }, 'must be the name of an object'],
    [{ kind: 'ConfigMap' }, 'name: is required'],
    [{ kind: 'ConfigMap', name: 'a', group: 'x' }, 'unknown field'],
  ])('but not %j', (entry, want) => {
    expect(describeErrors(compileSchema(neverPropagatedSchema, 'forbidden')([entry]))).toContain(want)
  })

  test('only kinds that can be dependencies', () => {
    const entries = [
      { kind: 'Secret', name: 'a' },
      { kind: 'Configmap', name: 'b' },
    ]
    expect(validateNeverPropagated(entries, ['ConfigMap', 'Secret'], 'dependencies.neverPropagated')).toEqual([
      {
        path: 'dependencies.neverPropagated[1].kind',
        code: 'NotSupported',
        message: 'Invalid value: "Configmap": must be one of ConfigMap, Secret (did you mean ConfigMap?)',
      },
    ])
  })
})
