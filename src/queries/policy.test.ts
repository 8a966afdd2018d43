import { expect, test, vi } from 'vitest'
import { makeBinding, makePolicy } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type ResourceBinding,
} from '../api/karmada.ts'
import { nameOfObject } from '../api/meta.ts'
import { dependedByLabel } from '../core/dependencies/names.ts'
import { propagatesVolumeClaims } from './policy.ts'

const annotations = { [POLICY_NAMESPACE_ANNOTATION]: 'default', [POLICY_NAME_ANNOTATION]: 'app' }
const ofClusterPolicy = { [CLUSTER_POLICY_NAME_ANNOTATION]: 'app' }
const clusterPolicy = { ...makePolicy(), kind: 'ClusterPropagationPolicy', metadata: { name: 'app' } }

/** The bindings of a workload and of the PersistentVolumeClaim that follows it. */
function workloadWithDisk(namespace: string, policy: Record<string, string>, index = 0): ResourceBinding[] {
  const name = `app-${index}-deployment`
  const made = makeBinding({ propagateDeps: true, clusters: [{ name: 'member1' }] })
  const workload = { ...made, metadata: { namespace, name, annotations: policy } }
  const referrer = nameOfObject(workload)
  const labels = { [dependedByLabel(referrer)]: 'id' }
  const claim = makeBinding({}, { namespace, name: `disk-${index}-persistentvolumeclaim`, labels, annotations: {} })
  const resource = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: `disk-${index}` }
  const { placement: _, ...rest } = claim.spec
  return [workload, { ...claim, spec: { ...rest, resource, requiredBy: [{ ...referrer }] } }]
}

test.each([
  { name: 'its own namespace', policy: makePolicy(), bindings: workloadWithDisk('default', annotations), want: true },
  {
    name: 'another namespace, whose binding names the policy',
    policy: makePolicy(),
    bindings: workloadWithDisk('tenant', annotations),
    want: false,
  },
  {
    name: 'any namespace, of a ClusterPropagationPolicy',
    policy: clusterPolicy,
    bindings: workloadWithDisk('tenant', ofClusterPolicy),
    want: true,
  },
  {
    name: 'its own namespace, with another policy',
    policy: makePolicy(),
    bindings: workloadWithDisk('default', { ...annotations, [POLICY_NAME_ANNOTATION]: 'other' }),
    want: false,
  },
])('whether a PersistentVolumeClaim follows a workload of $name: $want', async ({ policy, bindings, want }) => {
  expect(propagatesVolumeClaims(policy, await storeOf([policy, ...bindings]))).toBe(want)
})

test('the PersistentVolumeClaims of other namespaces cost a PropagationPolicy nothing', async () => {
  const others = Array.from({ length: 50 }, (_, index) => workloadWithDisk('tenant', {}, index))
  const store = await storeOf([makePolicy(), ...others.flat(), ...workloadWithDisk('default', {})])
  const get = vi.spyOn(store, 'get')
  propagatesVolumeClaims(makePolicy(), store)
  expect(get.mock.calls.length).toBeLessThan(5)
})
