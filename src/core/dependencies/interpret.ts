/** Lists the dependencies of a workload: the objects that it names, and related objects that it does not name. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { type DependentObjectReference, secrets, serviceAccounts, services } from '../../api/dependencies.ts'
import { referenceOf } from '../../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import { stringsAt } from '../../base/json-path.ts'
import { SECRET_OPTIONS } from '../volume-manager/rules/source-types.ts'
import { named, referenceTo, sortedReferences } from '../workload-kinds/references.ts'
import { defaultAccountOf, dependencyKey } from './keys.ts'
import type { RelatedObjects } from './related.ts'
import type { Workload } from './workload.ts'

/**
 * Returns the dependencies of a workload, sorted by apiVersion, kind, namespace and name, without duplicates and without the workload
 * itself. Objects that each cluster creates for itself are left out, in whichever way they are named:
 * - the objects that it names
 * - objects of enabled kinds that relate to it, its ServiceAccounts or its Services
 * - the Services that select its pods, their Ingresses, and the objects that these name
 * - the pull Secrets of its ServiceAccounts, also of `default`; their `secrets` for kinds of KServe
 * - its VolumeManagers with their Secrets
 * - its DataSourceClaims
 *
 * @throws the errors of the look-ups: an object that is not cached yet must not count as absent
 */
export function interpretDependencies(workload: Workload, related: RelatedObjects): DependentObjectReference[] {
  const { references, furtherReferences } = workload.dependencies
  const own = dependencyKey(workload)
  return sortedReferences([
    ...references,
    ...furtherReferences,
    ...[...references, ...defaultAccountOf(workload)].flatMap((one) => accountSecrets(one, workload, related)),
    ...servicesAndIngresses(workload, related),
    ...relatedObjects(workload, related),
    ...volumeManagersAndSecrets(workload, related),
    ...claimsForData(workload, related),
  ]).filter((reference) => dependencyKey(reference) !== own && !related.isNeverPropagated(reference))
}

/** The pull Secrets of a ServiceAccount, and its `secrets` if the controller of the workload reads them. */
function accountSecrets(
  { kind, namespace, name }: DependentObjectReference,
  { dependencies: { usesAccountSecrets } }: Workload,
  related: RelatedObjects,
) {
  if (kind !== serviceAccounts.kind || namespace === undefined || name === undefined) return []
  const account = related.serviceAccount(namespace, name)
  const lists = ['imagePullSecrets', ...(usesAccountSecrets ? ['secrets'] : [])]
  const names = lists.flatMap((list) => stringsAt(account, `${list}.*.name`))
  return named(secrets, names).map((secret) => referenceTo(secret, namespace))
}

/** No object names these, but without them no request reaches the pods in a member. */
function servicesAndIngresses(
  { metadata: { namespace }, dependencies }: Workload,
  related: RelatedObjects,
): DependentObjectReference[] {
  if (namespace === undefined) return []
  const names = dependencies.podLabels
    .flatMap((labels) => related.servicesFor(namespace, labels))
    .flatMap(({ metadata }) => metadata.name ?? [])
  const ingresses = names.flatMap((name) => related.ingressesOf(namespace, name))
  return [
    ...named(services, names).map((service) => referenceTo(service, namespace)),
    ...ingresses.flatMap((ingress) => [referenceOf(ingress), ...ingress.dependencies.references]),
  ]
}

/** No object names these either, such as a PodDisruptionBudget that selects the pods. */
function relatedObjects(workload: Workload, related: RelatedObjects): DependentObjectReference[] {
  const { metadata, dependencies } = workload
  const { namespace } = metadata
  if (namespace === undefined) return []
  const { podLabels, references } = dependencies
  const selecting = podLabels.flatMap((labels) => related.servicesFor(namespace, labels))
  const accounts = references.filter(({ kind }) => kind === serviceAccounts.kind)
  const named = [...accounts, ...defaultAccountOf(workload)].map(({ apiVersion, kind, name = '' }) => ({
    apiVersion,
    kind,
    metadata: { name },
  }))
  return related
    .relatedTo(namespace, {
      named: [workload, ...named, ...selecting],
      podLabels,
      serviceLabels: selecting.map((service) => service.metadata.labels ?? {}),
    })
    .map(referenceOf)
}

/** A VolumeManager that does not exist is left out. If no API server serves its kind, Karmada's distributor would fail on it forever. */
function volumeManagersAndSecrets(
  { metadata: { namespace }, dependencies }: Workload,
  related: RelatedObjects,
): DependentObjectReference[] {
  if (namespace === undefined || dependencies.volumeManagers.length === 0 || !related.memberServes(volumeManagers))
    return []
  return dependencies.volumeManagers
    .flatMap((name) => related.volumeManager(namespace, name) ?? [])
    .flatMap((manager) => [
      referenceOf(manager),
      ...[...named(secrets, moverSecrets(manager)), ...named(serviceAccounts, moverAccounts(manager))].map((one) =>
        referenceTo(one, namespace),
      ),
    ])
}

/** Returns the names of the ServiceAccounts whose roles a VolumeManager uses. */
function moverAccounts(manager: VolumeManager): string[] {
  return stringsAt(manager, 'spec.volumeConfigs.*.mover.serviceAccountName')
}

/** Returns the names of the Secrets with which a VolumeManager reads its sources. */
export function moverSecrets(manager: VolumeManager): string[] {
  return SECRET_OPTIONS.flatMap((option) => stringsAt(manager, `spec.volumeConfigs.*.options.${option}`))
}

/**
 * A claim of another namespace cannot be attached: its binding's owner would be in another namespace, so the garbage collector would delete
 * it.
 */
function claimsForData(workload: Workload, related: RelatedObjects): DependentObjectReference[] {
  const { namespace } = workload.metadata
  const found = related
    .claimsOf(workload)
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  return found.length > 0 && related.memberServes(dataSourceClaims) ? found.map(referenceOf) : []
}
