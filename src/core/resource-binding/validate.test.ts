import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { validateBinding } from './validate.ts'

const malformed = (spec: object) => ({ ...makeBinding(), spec: { ...makeBinding().spec, ...spec } }) as ResourceBinding
const withStatus = (status: object) => ({ ...makeBinding(), status }) as ResourceBinding

test.each<{ name: string; binding: ResourceBinding; want: string[] }>([
  { name: 'a binding of the detector', binding: makeBinding(), want: [] },
  { name: 'fields that are not read', binding: malformed({ unknownField: 1 }), want: [] },
  { name: 'a missing resource', binding: malformed({ resource: undefined }), want: ['spec'] },
  {
    name: 'names that are not a list',
    binding: malformed({ placement: { clusterAffinity: { clusterNames: 'm1' } } }),
    want: ['spec.placement.clusterAffinity.clusterNames'],
  },
  ...['text', {}, [null], [{ key: 1 }], [{ tolerationSeconds: '300' }]].map((value) => ({
    name: `tolerations that are ${JSON.stringify(value)}`,
    binding: malformed({ placement: { clusterTolerations: value } }),
    want: ['spec.placement.clusterTolerations'],
  })),
  ...['text', [null], [{ status: 'False' }]].flatMap((value) => [
    {
      name: `conditions that are ${JSON.stringify(value)}`,
      binding: withStatus({ conditions: value }),
      want: ['status.conditions'],
    },
    {
      name: `a status of members that is ${JSON.stringify(value)}`,
      binding: withStatus({ aggregatedStatus: value }),
      want: ['status.aggregatedStatus'],
    },
  ]),
])('$name: $want', ({ binding, want }) => {
  expect(validateBinding(binding).map(({ path }) => path)).toEqual(want.map((path) => expect.stringContaining(path)))
})
