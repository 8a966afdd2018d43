/** The relations of an object, such as a PodDisruptionBudget, to the workloads of its namespace. The caches store nothing else of it. */
import { groupOf, type K8sObject, type LabelSelector } from '../../api/meta.ts'
import { defined, isObject } from '../../base/json.ts'
import { isName, stringsAt, valuesAt } from '../../base/json-path.ts'
import { labelMatcher } from '../../base/selectors.ts'
import type { RelatedKind } from '../workload-kinds/related-kinds.ts'
import type { Dependent } from './dependent.ts'
import { withoutOrdinals } from './pod-labels.ts'

/** An object by kind and name; without a group, it may be of any. */
export interface NamedTarget {
  group?: string
  kind: string
  name: string
}

export interface Relations {
  targets: readonly NamedTarget[]
  podSelectors: readonly LabelSelector[]
  serviceSelectors: readonly LabelSelector[]
}

/** An object of a related kind. */
export interface RelatedObject extends Dependent {
  relations: Relations
}

/** An object has at most this many relations; the rest are ignored. */
const MAX_RELATIONS = 200

/** Returns the relations of an object. Parts of the wrong shape add none. */
export function relationsOf(raw: K8sObject, kind: RelatedKind): Relations {
  const { references = [], podSelectors = [], serviceSelectors = [] } = kind
  const selectorsAt = (paths: readonly string[]) =>
    paths
      .flatMap((path) => valuesAt(raw, path))
      .filter(isSelector)
      .slice(0, MAX_RELATIONS)
  return {
    targets: references
      .flatMap(({ path, kind: usual }) => valuesAt(raw, path).flatMap((value) => relatedTargets(value, usual, raw)))
      .slice(0, MAX_RELATIONS),
    podSelectors: selectorsAt(podSelectors).map(selectorWithoutOrdinals),
    serviceSelectors: selectorsAt(serviceSelectors),
  }
}

/** A selector of one pod of a StatefulSet is compared with the labels of a workload, which have no ordinals. */
function selectorWithoutOrdinals(selector: LabelSelector): LabelSelector {
  const { matchLabels } = selector
  return matchLabels ? { ...selector, matchLabels: withoutOrdinals(matchLabels) } : selector
}

/** The relation to an object of another namespace is left out: dependencies stay in the namespace of the workload. */
function relatedTargets(value: unknown, usual: string | undefined, { metadata }: K8sObject): NamedTarget[] {
  const [name] = stringsAt(value, 'name')
  const [kind = usual] = stringsAt(value, 'kind')
  const [namespace = metadata.namespace] = stringsAt(value, 'namespace')
  const [apiVersion] = stringsAt(value, 'apiVersion')
  if (!name || !kind || namespace !== metadata.namespace) return []
  return [defined({ kind, name, group: isName(apiVersion) ? groupOf(apiVersion) : undefined })]
}

function isSelector(value: unknown): value is LabelSelector {
  if (!isObject(value)) return false
  const { matchLabels = {}, matchExpressions = [] } = value
  return (
    isObject(matchLabels) &&
    Object.values(matchLabels).every((label) => typeof label === 'string') &&
    Array.isArray(matchExpressions) &&
    matchExpressions.every(isRequirement)
  )
}

function isRequirement(value: unknown): boolean {
  if (!isObject(value)) return false
  const { key, operator, values = [] } = value
  return typeof key === 'string' && typeof operator === 'string' && Array.isArray(values)
}

/** Whether one of the targets is this object. */
export function targets({ targets }: Relations, { apiVersion, kind, metadata: { name } }: K8sObject): boolean {
  return targets.some(
    (target) =>
      target.kind === kind &&
      target.name === name &&
      (target.group === undefined || target.group === groupOf(apiVersion)),
  )
}

/** Whether one of the selectors matches any of these sets of labels. */
export function selectsAny(selectors: readonly LabelSelector[], labelSets: readonly Record<string, string>[]): boolean {
  return selectors.some((selector) => labelSets.some(labelMatcher(selector)))
}
