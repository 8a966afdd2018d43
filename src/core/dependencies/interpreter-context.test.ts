import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InterpreterRequest } from '../../api/interpreter.ts'
import { decodeContext, encodeContext } from './interpreter-context.ts'

const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop' }, spec: {} }
const request: InterpreterRequest = { uid: 'b5a1', operation: 'InterpretDependency', object }
const context = (request: unknown) => ({
  apiVersion: 'config.karmada.io/v1alpha1',
  kind: 'ResourceInterpreterContext',
  request,
})

describe('a request', () => {
  test('accepts the other fields that Karmada sends', () => {
    const kind = { group: 'apps', version: 'v1', kind: 'Deployment' }
    const sent = { ...request, kind, name: 'web', namespace: 'shop', replicas: 0, aggregatedStatus: [], future: 1 }

    expect(decodeContext({ ...context(sent), future: true })).toEqual({ request: sent })
  })

  test.each<{ name: string; body: unknown; want: string }>([
    { name: 'nothing', body: null, want: '(root): must be of type object' },
    { name: 'a list', body: [], want: '(root): must be of type object' },
    { name: 'an empty object', body: {}, want: 'request: is required' },
    {
      name: 'another version',
      body: { ...context(request), apiVersion: 'config.karmada.io/v1' },
      want: 'apiVersion: must be "config.karmada.io/v1alpha1"',
    },
    {
      name: 'another protocol',
      body: { ...context(request), kind: 'AdmissionReview' },
      want: 'kind: must be "ResourceInterpreterContext"',
    },
    { name: 'no request', body: context(null), want: 'request: must be of type object' },
    { name: 'no uid', body: context({ ...request, uid: undefined }), want: 'request.uid: is required' },
    { name: 'an empty uid', body: context({ ...request, uid: '' }), want: 'request.uid: must not be empty' },
    { name: 'no operation', body: context({ ...request, operation: 7 }), want: 'request.operation: must be of type' },
    { name: 'no object', body: context({ ...request, object: null }), want: 'request.object: must be of type object' },
    {
      name: 'an object without a name',
      body: context({ ...request, object: { ...object, metadata: { namespace: 'shop' } } }),
      want: 'request.object.metadata.name: is required',
    },
    {
      name: 'an object whose labels are not texts',
      body: context({ ...request, object: { ...object, metadata: { name: 'web', labels: { app: 1 } } } }),
      want: 'request.object.metadata.labels.app: must be of type string',
    },
  ])('with $name is rejected with the path and the expected value', ({ body, want }) => {
    const decoded = decodeContext(JSON.parse(JSON.stringify(body)))

    expect(decoded).toEqual({ error: expect.stringContaining(want) })
    expect(decoded).toEqual({ error: expect.stringMatching(/^not a config\.karmada\.io\/v1alpha1 Resource/) })
  })

  test('never makes the decoder throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (anything, part) => {
        for (const body of [anything, context(anything), context({ ...request, object: part })]) {
          expect(Object.keys(decodeContext(body))).toHaveLength(1)
        }
      }),
    )
  })
})

describe('a response', () => {
  test.each([
    {
      name: 'with dependencies',
      interpretation: { dependencies: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'web' }] },
      want: {
        successful: true,
        dependencies: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'web' }],
      },
    },
    {
      name: 'without dependencies is successful',
      interpretation: { dependencies: [] },
      want: { successful: true, dependencies: [] },
    },
    {
      name: 'for a failure has the status that Karmada requires, and no dependencies',
      interpretation: { refusal: 'unknown kind' },
      want: { successful: false, status: { message: 'unknown kind', code: 400 } },
    },
  ])('$name, with the uid of the request', ({ interpretation, want }) => {
    expect(encodeContext(request, interpretation)).toEqual({
      apiVersion: 'config.karmada.io/v1alpha1',
      kind: 'ResourceInterpreterContext',
      response: { uid: 'b5a1', ...want },
    })
  })
})

test('a refusal has no control characters', () => {
  const { response } = encodeContext({ uid: 'u' } as InterpreterRequest, {
    refusal: 'kind \u001b[2JJob is not supported',
  })

  expect(response).toMatchObject({ successful: false, status: { message: 'kind  [2JJob is not supported' } })
})
