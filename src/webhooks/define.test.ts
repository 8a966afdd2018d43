import { describe, expect, test } from 'vitest'
import { makeBinding } from '../../test/builders.ts'
import type { AdmissionRequest } from '../api/admission.ts'
import { resourceBindings } from '../api/karmada.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'
import { defaultSettings } from './context.fake.ts'
import { defineWebhook, webhookPath } from './define.ts'

const { group, version, kind, plural } = resourceBindings
const request: AdmissionRequest = {
  uid: 'u',
  kind: { group, version, kind },
  resource: { group, version, resource: plural },
  operation: 'CREATE',
  object: makeBinding(),
}
const context = {
  store: openFolderStore({ kinds: cachedKinds }),
  ...defaultSettings,
  now: 7,
}

const webhook = defineWebhook({
  name: 'resource-binding',
  type: 'mutating',
  resources: [resourceBindings],
  operations: ['CREATE'],
  failurePolicy: 'Ignore',
  gather: ({ object }, { now }) => ({ name: object.metadata.name, now }),
  decide: ({ name, now }) => ({ kind: 'allow', warnings: [`${name} at ${now}`] }),
})

describe('a review', () => {
  test('decides on the gathered input', () => {
    expect(webhook.review(request, context)).toEqual({ kind: 'allow', warnings: ['app-deployment at 7'] })
  })

  test.each([
    { name: 'a deletion, which has no object', change: { operation: 'DELETE' as const, object: null } },
    { name: 'a request without an object', change: { object: undefined } },
    { name: 'a subresource', change: { operation: 'UPDATE' as const, subResource: 'status' } },
  ])('of $name is allowed without a change', ({ change }) => {
    const { object: _object, ...rest } = request
    const changed = { ...('object' in change ? rest : request), ...change } as AdmissionRequest

    expect(webhook.review(changed, context)).toEqual({ kind: 'allow' })
  })
})

test.each([
  { type: 'mutating' as const, want: '/mutate/pod' },
  { type: 'validating' as const, want: '/validate/pod' },
])('a $type webhook is served at $want', ({ type, want }) => {
  expect(webhookPath({ type, name: 'pod' })).toBe(want)
})
