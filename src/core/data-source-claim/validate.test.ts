import { describe, expect, test } from 'vitest'
import { makeClaim, makeForeignClaim } from '../../../test/builders.ts'
import type { DataSourceClaim, PreferenceFigure } from '../../api/data-source-claim.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { admitClaim, type ClaimAdmissionInput, validateDataSourceClaim } from './validate.ts'

function errorsOf(claim: unknown): [path: string, code: string][] {
  return validateDataSourceClaim(claim as DataSourceClaim)
    .map(({ path, code }): [string, string] => [path, code])
    .toSorted()
}

/** A claim with these members in a valid `spec`; they may have any type. */
function claimWith(spec: Record<string, unknown>): unknown {
  const claim = makeClaim()
  return { ...claim, spec: { ...claim.spec, ...spec } }
}

const workload = makeClaim().spec.workload

describe('a claim is valid', () => {
  test.each<{ name: string; spec: Record<string, unknown> }>([
    { name: 'with the required fields only', spec: {} },
    {
      name: 'with every field',
      spec: {
        attributes: { warehouse: 'a' },
        policy: {
          enforcement: 'Required',
          onUnresolved: 'Hold',
          onUnsatisfiable: 'Ignore',
          holdTimeoutSeconds: 1,
          rebalance: 'Never',
          maxStalenessSeconds: 1,
        },
      },
    },
    {
      name: 'if it is Preferred and has no hold policy',
      spec: { policy: { enforcement: 'Preferred', onUnresolved: 'Ignore' } },
    },
    {
      name: 'with a hold timeout, if one of the two policies is left to its default',
      spec: { policy: { onUnresolved: 'Ignore', holdTimeoutSeconds: 5 } },
    },
    {
      name: 'for a workload of any kind',
      spec: { workload: { ...workload, apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job' } },
    },
    {
      name: 'for a name that only RBAC allows',
      spec: { workload: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'system:reader' } },
    },
  ])('$name', ({ spec }) => {
    expect(errorsOf(claimWith(spec))).toEqual([])
  })

  test('with a status', () => {
    expect(errorsOf({ ...makeClaim(), status: { phase: 'Bound', boundDataSource: 'a' } })).toEqual([])
  })
})

describe('oracle J: names as users have them', () => {
  test.each<{ name: string; spec: Record<string, unknown> }>([
    {
      name: 'a claim without workload.namespace is valid',
      spec: { workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' } },
    },
    { name: 'a table in capitals is valid', spec: { dataSourceName: 'Sales_2024' } },
    { name: 'a table in nested namespaces is valid', spec: { dataSourceName: 'a.b.c' } },
    { name: 'a name with slashes is valid', spec: { dataSourceName: 'bucket/a/b' } },
  ])('$name', ({ spec }) => {
    expect(errorsOf(claimWith(spec))).toEqual([])
  })
})

test.each<{ name: string; spec: Record<string, unknown>; want: Record<string, string> }>([
  {
    name: 'a Preferred claim that is to hold',
    spec: { policy: { enforcement: 'Preferred', onUnresolved: 'Hold', holdTimeoutSeconds: 5 } },
    want: {
      'spec.policy.onUnresolved':
        'has no effect: a Preferred claim never holds; use enforcement Required or leave it out',
      'spec.policy.holdTimeoutSeconds':
        'has no effect: this claim never holds; leave it out, or set onUnresolved or onUnsatisfiable to Hold',
    },
  },
  {
    name: "a claim for Karmada's own objects",
    spec: { workload: { apiVersion: 'work.karmada.io/v1alpha2', kind: 'ResourceBinding', name: 'a' } },
    want: {
      'spec.workload':
        'ResourceBinding of work.karmada.io is not a workload; name the resource template, e.g. a Deployment',
    },
  },
  {
    name: 'a claim with a blank name',
    spec: { dataSourceName: ' ' },
    want: { 'spec.dataSourceName': 'must not be blank or start or end with white space' },
  },
])('the error of $name has the way out', ({ spec, want }) => {
  const errors = validateDataSourceClaim(claimWith(spec) as DataSourceClaim)
  expect(Object.fromEntries(errors.map(({ path, message }) => [path, message]))).toEqual(want)
})

describe('a claim is rejected', () => {
  test.each<{ name: string; spec: Record<string, unknown>; want: [string, string][] }>([
    { name: 'without a system', spec: { system: undefined }, want: [['spec.system', 'Required']] },
    { name: 'with an empty system', spec: { system: '' }, want: [['spec.system', 'Invalid']] },
    { name: 'with white space around the system', spec: { system: ' amoro' }, want: [['spec.system', 'Invalid']] },
    { name: 'with a blank data name', spec: { dataSourceName: '  ' }, want: [['spec.dataSourceName', 'Invalid']] },
    {
      name: 'with white space around the data name',
      spec: { dataSourceName: 'sales ' },
      want: [['spec.dataSourceName', 'Invalid']],
    },
    {
      name: 'with a data name that is too long',
      spec: { dataSourceName: 'a'.repeat(1025) },
      want: [['spec.dataSourceName', 'TooLong']],
    },
    {
      name: 'with attributes that are not texts',
      spec: { attributes: { a: 1 } },
      want: [['spec.attributes.a', 'Invalid']],
    },
    { name: 'without a workload', spec: { workload: undefined }, want: [['spec.workload', 'Required']] },
    { name: 'with a workload of another type', spec: { workload: 'app' }, want: [['spec.workload', 'Invalid']] },
    {
      name: 'with an empty workload',
      spec: { workload: {} },
      want: [
        ['spec.workload.apiVersion', 'Required'],
        ['spec.workload.kind', 'Required'],
        ['spec.workload.name', 'Required'],
      ],
    },
    {
      name: 'with invalid fields of the workload',
      spec: { workload: { apiVersion: 'apps', kind: 'deployment', name: 'a/b', namespace: 'A' } },
      want: [
        ['spec.workload.apiVersion', 'Invalid'],
        ['spec.workload.kind', 'Invalid'],
        ['spec.workload.name', 'Invalid'],
        ['spec.workload.namespace', 'Invalid'],
      ],
    },
    {
      name: "for Karmada's own objects",
      spec: { workload: { apiVersion: 'work.karmada.io/v1alpha2', kind: 'ResourceBinding', name: 'a' } },
      want: [['spec.workload', 'Forbidden']],
    },
    {
      name: 'for a claim',
      spec: { workload: { apiVersion: 'datadependency.volcano.sh/v1alpha1', kind: 'DataSourceClaim', name: 'a' } },
      want: [['spec.workload', 'Forbidden']],
    },
    { name: 'with a misspelled field', spec: { dataSourcename: 'a' }, want: [['spec.dataSourcename', 'NotSupported']] },
    {
      name: 'with a misspelled field in its policy',
      spec: { policy: { holdTimeout: 1 } },
      want: [['spec.policy.holdTimeout', 'NotSupported']],
    },
    {
      name: 'with unknown values in its policy',
      spec: { policy: { enforcement: 'Must', rebalance: 'auto' } },
      want: [
        ['spec.policy.enforcement', 'NotSupported'],
        ['spec.policy.rebalance', 'NotSupported'],
      ],
    },
    {
      name: 'with a timeout of 0',
      spec: { policy: { holdTimeoutSeconds: 0, maxStalenessSeconds: -1 } },
      want: [
        ['spec.policy.holdTimeoutSeconds', 'Invalid'],
        ['spec.policy.maxStalenessSeconds', 'Invalid'],
      ],
    },
    {
      name: 'if it is Preferred and has onUnresolved or onUnsatisfiable Hold',
      spec: {
        policy: { enforcement: 'Preferred', onUnresolved: 'Hold', onUnsatisfiable: 'Hold', holdTimeoutSeconds: 5 },
      },
      want: [
        ['spec.policy.holdTimeoutSeconds', 'Invalid'],
        ['spec.policy.onUnresolved', 'Invalid'],
        ['spec.policy.onUnsatisfiable', 'Invalid'],
      ],
    },
    {
      name: 'if it never holds and has a hold timeout',
      spec: { policy: { onUnresolved: 'Ignore', onUnsatisfiable: 'Ignore', holdTimeoutSeconds: 5 } },
      want: [['spec.policy.holdTimeoutSeconds', 'Invalid']],
    },
    {
      name: 'a preference of a claim that allows only clusters with the data',
      spec: { policy: { preference: 'Cost' } },
      want: [['spec.policy.preference', 'Invalid']],
    },
    { name: 'with a blank data type', spec: { dataSourceType: ' ' }, want: [['spec.dataSourceType', 'Invalid']] },
    {
      name: 'with an apiVersion that is not a text',
      spec: { workload: { ...workload, apiVersion: 1 } },
      want: [['spec.workload.apiVersion', 'Invalid']],
    },
    {
      name: 'with a kind that is not a text',
      spec: { workload: { ...workload, kind: 1 } },
      want: [['spec.workload.kind', 'Invalid']],
    },
    {
      name: 'with all errors of schema and values',
      spec: { system: ' ', dataSourceType: 1, workload: { ...workload, kind: 'x' }, extra: true },
      want: [
        ['spec.dataSourceType', 'Invalid'],
        ['spec.extra', 'NotSupported'],
        ['spec.system', 'Invalid'],
        ['spec.workload.kind', 'Invalid'],
      ],
    },
  ])('$name', ({ spec, want }) => {
    expect(errorsOf(claimWith(spec))).toEqual(want)
  })

  test.each<{ name: string; claim: object; want: [string, string][] }>([
    { name: 'without a spec', claim: {}, want: [['spec', 'Required']] },
    { name: 'with a spec that is not an object', claim: { spec: [] }, want: [['spec', 'Invalid']] },
    { name: 'with a null spec', claim: { spec: null }, want: [['spec', 'Invalid']] },
    {
      name: 'with a status of another type',
      claim: { spec: makeClaim().spec, status: { boundDataSource: 1 } },
      want: [['status.boundDataSource', 'Invalid']],
    },
  ])('$name', ({ claim, want }) => {
    expect(errorsOf({ ...makeClaim(), spec: undefined, ...claim })).toEqual(want)
  })
})

const refusal = 'namespace default does not allow claims of namespace other'
const notPermitted: FieldError = {
  path: 'spec.workload',
  code: 'Forbidden',
  message: `${refusal}; if this was just done, retry in a few seconds`,
}
const invalid: FieldError = { path: 'spec.system', code: 'Invalid', message: 'must not be blank' }
const stored = makeForeignClaim({ resourceVersion: '7' })

test.each<{ name: string; input: Partial<ClaimAdmissionInput>; want: FieldError[] }>([
  { name: 'a claim without permission is rejected', input: {}, want: [notPermitted] },
  {
    name: 'for a cluster-scoped workload, the message does not suggest a retry',
    input: { claim: makeClaim(), refusal: 'Deployment app is cluster-scoped' },
    want: [{ ...notPermitted, message: 'Deployment app is cluster-scoped' }],
  },
  { name: 'a permitted claim is allowed', input: { refusal: undefined }, want: [] },
  {
    name: 'an update that names another workload is rejected',
    input: { stored: makeClaim({}, { namespace: 'other' }) },
    want: [notPermitted],
  },
  { name: 'an update that keeps the workload is allowed', input: { stored }, want: [] },
  {
    name: 'a malformed update is rejected',
    input: { stored, errors: [invalid] },
    want: [invalid],
  },
])('$name', ({ input, want }) => {
  const outcome = admitClaim({
    claim: makeForeignClaim(),
    stored: undefined,
    errors: [],
    refusal,
    hasPrices: false,
    ...input,
  })

  expect(outcome).toEqual(want.length === 0 ? { kind: 'allow' } : { kind: 'deny', errors: want })
})

test.each<{ preference: PreferenceFigure; hasPrices: boolean; warns: boolean }>([
  { preference: 'Cost', hasPrices: false, warns: true },
  { preference: 'Time', hasPrices: false, warns: true },
  { preference: 'Bytes', hasPrices: false, warns: false },
  { preference: 'Cost', hasPrices: true, warns: false },
])('a preference of $preference with prices $hasPrices warns: $warns', ({ preference, hasPrices, warns }) => {
  const claim = makeClaim({ policy: { enforcement: 'Preferred', preference } })
  const warnings = [
    `lodestone: spec.policy.preference: ${preference} counts as Bytes: set transferCosts in the configuration`,
  ]
  const input = { claim, stored: undefined, errors: [], refusal: undefined, hasPrices }
  expect(admitClaim(input)).toEqual({ kind: 'allow', ...(warns && { warnings }) })
})
