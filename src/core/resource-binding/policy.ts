/** Reads the policy of a binding from Karmada's annotations. */
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
} from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'

/** The policy's name; without a namespace it is a ClusterPropagationPolicy. Undefined if the binding has no such annotations. */
export function policyReferenceOf({ annotations = {} }: ObjectMeta): { namespace?: string; name: string } | undefined {
  const { [POLICY_NAMESPACE_ANNOTATION]: namespace, [POLICY_NAME_ANNOTATION]: name } = annotations
  if (name && namespace) return { namespace, name }
  const clusterName = annotations[CLUSTER_POLICY_NAME_ANNOTATION]
  return clusterName ? { name: clusterName } : undefined
}
