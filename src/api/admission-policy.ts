/** ValidatingAdmissionPolicies of an API server (admissionregistration.k8s.io/v1, served since Kubernetes 1.30). */
import type { K8sObject, LabelSelector, ResourceType } from './meta.ts'

/** Keeps narrowed workloads to their data, and held ones on hold. */
export const DECIDED_BINDINGS_POLICY = 'lodestone-decided-bindings'
/** Keeps claimed workloads from being scheduled before Lodestone has decided on them. */
export const CLAIMED_WORKLOADS_POLICY = 'lodestone-claimed-workloads'
/** The names of the policies, and of the objects that put them into effect. */
export const ABSENCE_POLICIES = [DECIDED_BINDINGS_POLICY, CLAIMED_WORKLOADS_POLICY]

/** A CEL expression with a name. */
export interface NamedExpression {
  name: string
  expression: string
}

export interface ValidatingAdmissionPolicy extends K8sObject {
  spec: {
    failurePolicy: 'Ignore' | 'Fail'
    paramKind?: { apiVersion: string; kind: string }
    matchConstraints: {
      matchPolicy: 'Equivalent'
      namespaceSelector?: LabelSelector
      resourceRules: {
        apiGroups: string[]
        apiVersions: string[]
        resources: string[]
        operations: string[]
        scope: 'Namespaced' | '*'
      }[]
    }
    matchConditions: NamedExpression[]
    variables?: NamedExpression[]
    validations: { expression: string; message?: string; messageExpression?: string; reason: 'Forbidden' }[]
  }
}

export interface ValidatingAdmissionPolicyBinding extends K8sObject {
  spec: {
    policyName: string
    paramRef?: { selector: LabelSelector; parameterNotFoundAction: 'Allow' | 'Deny' }
    validationActions: ('Deny' | 'Warn' | 'Audit')[]
  }
}

export const validatingAdmissionPolicies: ResourceType<ValidatingAdmissionPolicy> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
}

export const validatingAdmissionPolicyBindings: ResourceType<ValidatingAdmissionPolicyBinding> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
}
