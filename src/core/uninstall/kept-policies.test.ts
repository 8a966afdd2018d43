import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { policiesToKeep, useOfBinding } from './kept-policies.ts'

const narrowed = {
  annotations: {
    ...makeBinding().metadata.annotations,
    [LOCALITY_ANNOTATION]: JSON.stringify({ state: 'Narrowed', message: '', claims: [], required: ['member2'] }),
  },
}
const runs = { clusters: [{ name: 'member2' }] }
const workload = makeBinding(runs)

/** The binding of an object that follows the workload. */
function following(kind: string, more: Partial<ResourceBinding['spec']> = {}): ResourceBinding {
  const { placement: _, ...spec } = makeBinding().spec
  const resource = { apiVersion: 'v1', kind, namespace: 'default', name: 'disk' }
  const requiredBy = [{ namespace: 'default', name: 'app-deployment' }]
  return {
    ...makeBinding(),
    metadata: { namespace: 'default', name: `disk-${kind.toLowerCase()}` },
    spec: { ...spec, resource, requiredBy, ...more },
  }
}

const claim = following('PersistentVolumeClaim')

test.each([
  { name: 'of a workload that runs narrowed', bindings: [makeBinding(runs, narrowed)], want: 'moves' },
  { name: 'of a narrowed workload that runs nowhere', bindings: [makeBinding({}, narrowed)], want: undefined },
  { name: 'of a workload without a narrowing', bindings: [workload], want: undefined },
  { name: 'of a workload with a ConfigMap', bindings: [workload, following('ConfigMap')], want: undefined },
  { name: 'of a workload with a volume claim', bindings: [workload, claim], want: 'deletesVolumeClaims' },
  {
    name: 'of a workload whose volume claim is listed first',
    bindings: [claim, workload],
    want: 'deletesVolumeClaims',
  },
  {
    name: 'of a workload whose volume claim is preserved',
    bindings: [workload, following('PersistentVolumeClaim', { preserveResourcesOnDeletion: true })],
    want: undefined,
  },
  {
    name: 'of a workload whose volume claim is of another namespace',
    bindings: [workload, { ...claim, metadata: { ...claim.metadata, namespace: 'tenant' } }],
    want: undefined,
  },
  { name: 'of a narrowed workload with a volume claim', bindings: [claim, makeBinding(runs, narrowed)], want: 'moves' },
])('the policy $name is kept: $want', ({ bindings, want }) => {
  const kept = policiesToKeep(bindings.flatMap((binding) => useOfBinding(binding) ?? []))
  expect([...kept]).toEqual(want ? [['default/app', want]] : [])
})
