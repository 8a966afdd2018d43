import fastJsonPatch from 'fast-json-patch'
import { describe, expect, test } from 'vitest'
import { makeBinding, makeInput } from '../../../test/builders.ts'
import type { AdmissionRequest } from '../../api/admission.ts'
import type { K8sObject } from '../../api/meta.ts'
import type { Outcome } from '../outcome.ts'
import { answerBinding, decideBinding } from '../resource-binding/decide.ts'
import { decodeReview, encodeResponse, PatchError } from './review.ts'

function makeRequest(overrides: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'b5a1',
    kind: { group: 'work.karmada.io', version: 'v1alpha2', kind: 'ResourceBinding' },
    resource: { group: 'work.karmada.io', version: 'v1alpha2', resource: 'resourcebindings' },
    operation: 'CREATE',
    object: structuredClone(makeBinding()),
    ...overrides,
  }
}

const review = (request: unknown) => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
const toBase64 = (text: string) => Buffer.from(text).toString('base64')
function failureOf(run: () => unknown): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}
const encode = (request: AdmissionRequest, outcome: Outcome) => encodeResponse(request, outcome, toBase64)

describe('a review', () => {
  test('accepts unknown fields of newer API servers', () => {
    const request = { ...makeRequest(), options: {}, requestKind: {}, future: [1] }
    expect(decodeReview({ ...review(request), future: true })).toEqual({ request })
  })

  test('may have no objects', () => {
    const request = { ...makeRequest({ operation: 'DELETE' }), object: null, oldObject: null }
    expect(decodeReview(review(request))).toEqual({ request })
  })

  test.each<{ name: string; body: unknown; wantPath: string }>([
    { name: 'nothing', body: null, wantPath: '(root)' },
    { name: 'a list', body: [], wantPath: '(root)' },
    { name: 'an empty object', body: {}, wantPath: 'request' },
    {
      name: 'version v1beta1',
      body: { ...review(makeRequest()), apiVersion: 'admission.k8s.io/v1beta1' },
      wantPath: 'apiVersion',
    },
    { name: 'another kind', body: { ...review(makeRequest()), kind: 'Pod' }, wantPath: 'kind' },
    { name: 'a review without a request', body: review(undefined), wantPath: 'request' },
    { name: 'a request without a uid', body: review({ ...makeRequest(), uid: undefined }), wantPath: 'request.uid' },
    { name: 'a request with an empty uid', body: review(makeRequest({ uid: '' })), wantPath: 'request.uid' },
    {
      name: 'an operation that does not exist',
      body: review({ ...makeRequest(), operation: 'PATCH' }),
      wantPath: 'request.operation',
    },
    {
      name: 'a kind without its version',
      body: review({ ...makeRequest(), kind: { group: '', kind: 'Pod' } }),
      wantPath: 'request.kind.version',
    },
    {
      name: 'an object that is not an object',
      body: review({ ...makeRequest(), object: 'text' }),
      wantPath: 'request.object',
    },
    {
      name: 'metadata that is not an object',
      body: review({ ...makeRequest(), oldObject: { metadata: [] } }),
      wantPath: 'request.oldObject.metadata',
    },
  ])('is rejected with the path of the error: $name', ({ body, wantPath }) => {
    const decoded = decodeReview(body)
    expect('error' in decoded && decoded.error).toContain(`${wantPath}: `)
  })

  test('is rejected with a message that names the expected type', () => {
    const error = 'not an admission.k8s.io/v1 AdmissionReview: request: is required; kind: must be "AdmissionReview"'
    expect(decodeReview({ apiVersion: 'admission.k8s.io/v1', kind: 'Pod' })).toEqual({ error })
  })
})

describe('a response', () => {
  test('that allows has only the uid', () => {
    expect(encode(makeRequest(), { kind: 'allow' })).toEqual({ uid: 'b5a1', allowed: true })
  })

  test('that rejects has every error in its message, which kubectl shows', () => {
    const response = encode(makeRequest(), {
      kind: 'deny',
      errors: [
        { path: 'spec.system', code: 'Required', message: 'is required' },
        { path: 'spec.workload.kind', code: 'Invalid', message: 'must be CamelCase' },
      ],
    })
    expect(response).toEqual({
      uid: 'b5a1',
      allowed: false,
      status: {
        code: 422,
        reason: 'Invalid',
        message: 'spec.system: is required; spec.workload.kind: must be CamelCase',
      },
    })
  })

  test('has a patch and its type; the patch in base64 gives the decided object', () => {
    const input = makeInput({ binding: makeBinding({}, { labels: { 'a/b~c': 'ünïcode' } }) })
    const decided = decideBinding(input)
    const { patch, patchType, ...rest } = encode(
      makeRequest({ object: structuredClone(input.binding) }),
      answerBinding(decided, input),
    )
    const operations = JSON.parse(Buffer.from(patch ?? '', 'base64').toString('utf8'))
    const patched = fastJsonPatch.applyPatch(structuredClone(input.binding), operations, true).newDocument
    expect(patched).toEqual(decided.binding)
    expect([patchType, rest.allowed]).toEqual(['JSONPatch', true])
  })

  test('adds annotations to an object without any', () => {
    const object: K8sObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    const wanted = { ...object, metadata: { name: 'a', annotations: { 'lodestone.dev/hold': 'x' } } }
    const { patch } = encode(makeRequest({ object: structuredClone(object) }), { kind: 'patch', object: wanted })
    expect(JSON.parse(Buffer.from(patch ?? '', 'base64').toString('utf8'))).toEqual([
      { op: 'add', path: '/metadata/annotations', value: { 'lodestone.dev/hold': 'x' } },
    ])
  })

  test('has neither patch nor type if nothing changes', () => {
    const response = encode(makeRequest(), { kind: 'patch', object: makeBinding() })
    expect(response).toEqual({ uid: 'b5a1', allowed: true })
  })

  test('keeps members with names that are special in JavaScript', () => {
    const raw = '{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"data":{"__proto__":{"x":1},"constructor":"y"}}'
    const object = JSON.parse(raw)
    const wanted = { ...object, metadata: { ...object.metadata, labels: { a: 'b' } } }
    const { patch } = encode(makeRequest({ object }), { kind: 'patch', object: wanted })
    expect(JSON.parse(Buffer.from(patch ?? '', 'base64').toString('utf8'))).toEqual([
      { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
    ])
    expect(JSON.stringify(object)).toBe(raw)
  })

  test('throws for a patch without an object', () => {
    expect(() => encode(makeRequest({ object: null }), { kind: 'patch', object: makeBinding() })).toThrow(
      new PatchError('an object that is not in the request cannot be patched'),
    )
  })

  // In JSON, an undefined member is absent: `replace` and `remove` fail for it.
  test.each<{ name: string; labels: object; wanted: object; operation: string | undefined }>([
    {
      name: 'replaces a member',
      labels: { a: undefined },
      wanted: { a: 'b' },
      operation: 'replace /metadata/labels/a',
    },
    {
      name: 'replaces a member with an escaped name',
      labels: { 'x/y~z': undefined },
      wanted: { 'x/y~z': 'b' },
      operation: 'replace /metadata/labels/x~1y~0z',
    },
    { name: 'removes a member', labels: { a: 'b' }, wanted: {}, operation: undefined },
    { name: 'removes a member with an escaped name', labels: { 'x/y~z': 'b' }, wanted: {}, operation: undefined },
    { name: 'adds a member', labels: {}, wanted: { a: 'b' }, operation: undefined },
  ])('is encoded only if its patch applies: $name', ({ labels, wanted, operation }) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels } } as K8sObject
    const outcome = { kind: 'patch', object: { ...object, metadata: { name: 'a', labels: wanted } } } as Outcome
    const message =
      operation === undefined ? undefined : `the patch does not apply to the object of the request: ${operation}`
    expect(failureOf(() => encode(makeRequest({ object }), outcome))).toEqual(message && new PatchError(message))
  })

  test('has warnings of one line and at most 120 characters', () => {
    const warnings = ['two\r\nlines\tand\u0000more', 'x'.repeat(500), 'short']
    expect(encode(makeRequest(), { kind: 'allow', warnings })).toEqual({
      uid: 'b5a1',
      allowed: true,
      warnings: ['two lines and more', `${'x'.repeat(119)}…`, 'short'],
    })
  })

  test('carries audit annotations, and no empty list of warnings', () => {
    const auditAnnotations = { decision: 'OnHold' as const, reason: 'm' }
    const response = encode(makeRequest(), { kind: 'allow', warnings: [], auditAnnotations })
    expect(response).toEqual({ uid: 'b5a1', allowed: true, auditAnnotations })
  })
})

test('the message of a denial has no control characters for the terminal of kubectl', () => {
  const errors = [{ path: 'spec.\u001b]0;owned\u0007', code: 'Invalid' as const, message: 'is \u202eunknown\u009b1m' }]
  const { status } = encode(makeRequest(), { kind: 'deny', errors })

  expect(status?.message).toBe('spec. ]0;owned : is  unknown 1m')
})
