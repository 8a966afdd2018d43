/** Removes the objects of the installation: registrations, admission policies, roles, accounts, and on request the CRDs. */
import {
  ABSENCE_POLICIES,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../api/admission-policy.ts'
import { customResourceDefinitions } from '../../api/crds.ts'
import { definitions } from '../../api/definition.ts'
import { serviceAccounts } from '../../api/dependencies.ts'
import { interpreterWebhookConfigurations } from '../../api/interpreter.ts'
import { type K8sObject, keyOfObject, nameOfObject, type ResourceType } from '../../api/meta.ts'
import { type RoleBinding, roleBindings } from '../../api/rbac.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_LABELS,
  REGISTRATION_NAME,
  type Registrable,
  VERSION_ANNOTATION,
  validatingWebhookConfigurations,
} from '../../api/registration.ts'
import { MOVER_ROLE } from '../volume-manager/mover/credentials.ts'
import { deletion, NOTHING_TO_REMOVE, type Removal, type RemovalRule } from './removal.ts'

/** They come first: with `failurePolicy: Fail` and without Lodestone, they reject the other writes. Policies follow, bindings before them. */
export const admissionRules: readonly RemovalRule[] = [
  ...[mutatingWebhookConfigurations, validatingWebhookConfigurations, interpreterWebhookConfigurations].map(
    (type): RemovalRule => ({
      type,
      names: [{ name: REGISTRATION_NAME }],
      plan: (object) => planRegistration(type, object),
    }),
  ),
  ...[validatingAdmissionPolicyBindings, validatingAdmissionPolicies].map(
    (type): RemovalRule => ({
      type,
      names: ABSENCE_POLICIES.map((name) => ({ name })),
      plan: (object) => deletion(type, object),
    }),
  ),
]

/** Another product may have a configuration with this name. */
function planRegistration(type: ResourceType, object: K8sObject): Removal {
  const { labels = {}, annotations = {} } = object.metadata
  const { webhooks = [] } = object as Registrable
  const isLabeled = Object.entries(REGISTRATION_LABELS).every(([key, value]) => labels[key] === value)
  const isOurs =
    isLabeled || VERSION_ANNOTATION in annotations || webhooks.some(({ name }) => name.endsWith('.lodestone.dev'))
  return isOurs ? deletion(type, object) : NOTHING_TO_REMOVE
}

/**
 * The objects that `lodestone manifests` prints, and those that Lodestone creates for itself. Helm deletes the objects of its own release.
 *
 * @param objects with kind and name.
 * @param leasesElsewhere the Leases of replicas that serve another API server. Objects in their namespaces stay.
 */
export function installedRules(
  objects: readonly { type: ResourceType; object: K8sObject }[],
  leasesElsewhere: readonly K8sObject[] = [],
): RemovalRule[] {
  const byType = Map.groupBy(objects, ({ type }) => type)
  return [...byType].map(([type, members]) => ({
    type,
    names: members.map(({ object }) => nameOfObject(object)),
    plan(object) {
      if (isOfHelm(object)) return NOTHING_TO_REMOVE
      const { namespace } = object.metadata
      const lease = leasesElsewhere.find(({ metadata }) => namespace !== undefined && metadata.namespace === namespace)
      if (!lease) return deletion(type, object)
      const reason = `replicas of Lease ${keyOfObject(lease)}, which serve another API server, may use it`
      return { removes: [], keeps: [reason] }
    },
  }))
}

/** What Lodestone creates in the namespaces of movers. An account of the user stays. */
export const moverAccessRules: readonly RemovalRule[] = [
  {
    type: roleBindings,
    plan(object) {
      const { roleRef } = object as RoleBinding
      const isOurs = roleRef?.kind === 'ClusterRole' && roleRef.name === MOVER_ROLE && !isOfHelm(object)
      return isOurs ? deletion(roleBindings, object) : NOTHING_TO_REMOVE
    },
  },
  {
    type: serviceAccounts,
    metadataOnly: true,
    plan: (object) =>
      object.metadata.name === MOVER_ROLE && !isOfHelm(object) ? deletion(serviceAccounts, object) : NOTHING_TO_REMOVE,
  },
]

function isOfHelm({ metadata }: K8sObject): boolean {
  return metadata.annotations?.['meta.helm.sh/release-name'] !== undefined
}

/** The CRDs of Lodestone. Those of volcano-global have the same names, and another category. */
export const definitionRule: RemovalRule = {
  type: definitions,
  names: customResourceDefinitions().map(nameOfObject),
  plan(object) {
    const { spec } = object as K8sObject & { spec?: { names?: { categories?: string[] } } }
    return spec?.names?.categories?.includes('lodestone') ? deletion(definitions, object) : NOTHING_TO_REMOVE
  },
}
