/** Workloads with dependencies, and their bindings, as they are stored in etcd. */
import { BINDING_ID_LABEL, type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { makeBinding } from '../../test/builders.ts'
import type { KubeObject } from '../../test/e2e/api-client.ts'
import { deployment } from '../../test/e2e/manifests.ts'
import type { Stored } from './seed.ts'

const deployments = { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true }

/** Returns a Deployment whose pods refer to `needs`, and its binding, which is scheduled to `clusters`. */
export function storedWorkload(
  name: string,
  { namespace = 'default', needs, clusters }: { namespace?: string; needs: KubeObject[]; clusters?: string[] },
): Stored[] {
  const resource = { apiVersion: 'apps/v1', kind: 'Deployment', name, namespace }
  const labels = { [BINDING_ID_LABEL]: crypto.randomUUID() }
  const metadata = { name: `${name}-deployment`, namespace, labels, finalizers: ['karmada.io/binding-controller'] }
  const scheduled = clusters && { clusters: clusters.map((cluster) => ({ name: cluster, replicas: 2 })) }
  const binding = makeBinding({ resource, propagateDeps: true, conflictResolution: 'Abort', ...scheduled })
  return [
    { type: deployments, object: deployment(name, { needs, namespace }) },
    { type: resourceBindings, object: { ...binding, metadata } },
  ]
}

/** Whether the binding is attached to this workload only, in this cluster only. */
export function isAttachedTo(binding: KubeObject, workload: string, cluster: string): boolean {
  const { requiredBy = [], resource } = binding['spec'] as ResourceBinding['spec']
  const [only, ...others] = requiredBy
  const clusters = only?.clusters?.map(({ name }) => name).join()
  const isOnly = others.length === 0 && only?.name === `${workload}-deployment` && clusters === cluster
  return isOnly && resource.uid !== undefined
}
