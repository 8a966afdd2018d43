/** Finds the objects of enabled kinds that relate to a workload, and the workloads to which such an object relates. */
import { type Service, serviceAccounts, services } from '../api/dependencies.ts'
import { apiVersionOf, type K8sObject, type LabelSelector, type ResourceType } from '../api/meta.ts'
import { labelMatcher } from '../base/selectors.ts'
import type { RelationTargets } from '../core/dependencies/related.ts'
import { type RelatedObject, selectsAny, targets } from '../core/dependencies/relations.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import { labelKey } from '../store/kinds/dependencies.ts'
import { targetKey } from '../store/kinds/related.ts'
import type { ObjectStore } from '../store/store.ts'

/** The enabled kinds of a store. */
export function relatedTypes(store: ObjectStore): readonly ResourceType<RelatedObject>[] {
  return store.typesWithIndex('related') as readonly ResourceType<RelatedObject>[]
}

/** Returns the objects in a namespace that name one of the targets, or select pods or Services with these labels. */
export function objectsRelatedTo(namespace: string, to: RelationTargets, store: ObjectStore): RelatedObject[] {
  return relatedTypes(store).flatMap((type) => [
    ...to.named.flatMap((object) => {
      const key = targetKey(namespace, { kind: object.kind, name: object.metadata.name ?? '' })
      return store.byIndex(type, 'related', key).filter(({ relations }) => targets(relations, object))
    }),
    ...store
      .byIndex(type, 'selecting', namespace)
      .filter(
        ({ relations }) =>
          selectsAny(relations.podSelectors, to.podLabels) || selectsAny(relations.serviceSelectors, to.serviceLabels),
      ),
  ])
}

/** The objects to which a related object leads: workloads, and Services and ServiceAccounts that lead to workloads. */
export function relationTargets(
  object: K8sObject,
  workloadTypes: readonly ResourceType<Workload>[],
  store: ObjectStore,
) {
  const { relations } = object as Partial<RelatedObject>
  const { namespace } = object.metadata
  const found: { workloads: Workload[]; carriers: K8sObject[] } = { workloads: [], carriers: [] }
  // A deleted object is known only by name; its attached bindings are found by their labels.
  if (!relations || namespace === undefined) return found
  for (const { kind, name } of relations.targets) {
    if (kind === services.kind) found.carriers.push(...[store.get(services, namespace, name) ?? []].flat())
    else if (kind === serviceAccounts.kind) found.carriers.push(accountNamed(namespace, name))
    else {
      const ofKind = workloadTypes.filter((type) => type.kind === kind)
      found.workloads.push(...ofKind.flatMap((type) => store.get(type, namespace, name) ?? []))
    }
  }
  const { podSelectors, serviceSelectors } = relations
  for (const selector of podSelectors) {
    for (const workload of workloadsSelectedBy(selector, namespace, workloadTypes, store))
      found.workloads.push(workload)
  }
  if (serviceSelectors.length > 0) {
    const selected = [...store.list(services)].filter(
      ({ metadata }: Service) =>
        metadata.namespace === namespace && selectsAny(serviceSelectors, [metadata.labels ?? {}]),
    )
    found.carriers.push(...selected)
  }
  return found
}

/** Returns the workloads with pods that a selector matches. It searches by the rarest label; without labels, it compares all workloads. */
export function workloadsSelectedBy(
  selector: LabelSelector,
  namespace: string | undefined,
  workloadTypes: readonly ResourceType<Workload>[],
  store: ObjectStore,
): Workload[] {
  const matches = labelMatcher(selector)
  const keys = Object.entries(selector.matchLabels ?? {}).map((pair) => labelKey(namespace, pair))
  return workloadTypes.flatMap((type) => {
    const [rarest] = keys.map((key) => store.byIndex(type, 'podLabels', key)).sort((a, b) => a.length - b.length)
    const candidates = rarest ?? [...store.list(type)].filter(({ metadata }) => metadata.namespace === namespace)
    return candidates.filter(({ dependencies }) => dependencies.podLabels.some(matches))
  })
}

function accountNamed(namespace: string, name: string): K8sObject {
  return { apiVersion: apiVersionOf(serviceAccounts), kind: serviceAccounts.kind, metadata: { namespace, name } }
}
