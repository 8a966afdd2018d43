/** The labels of the pods of a workload, by which Services select them: those of its templates, and those that its controller adds. */
import type { K8sObject } from '../../api/meta.ts'
import { isObject, sortedUnique } from '../../base/json.ts'
import { stringsAt, valuesAt } from '../../base/json-path.ts'

type Labels = Record<string, string>

/** Each set is compared with the Services of the namespace; real workloads have fewer kinds of pods. */
const MAX_POD_LABELS = 100

/**
 * Labels with an ordinal that the StatefulSet controller adds to each pod (k8s.io/api, apps/v1). Their number depends on the replicas in
 * each member, so `ANY_ORDINAL` replaces the ordinal in the labels of workloads and in the selectors of Services.
 */
const ORDINALS: readonly [string, RegExp][] = [
  ['statefulset.kubernetes.io/pod-name', /(?<=-)\d+$/],
  ['apps.kubernetes.io/pod-index', /^\d+$/],
]

/** A valid value of a label that no ordinal and no name of a pod has, since it is a capital. */
const ANY_ORDINAL = 'N'

/** Returns the selector of a Service with `ANY_ORDINAL` instead of the ordinal of a pod. */
export function withoutOrdinals(selector: Labels): Labels {
  const replaced = ORDINALS.flatMap(([label, ordinal]) => {
    const value = selector[label]
    return value === undefined ? [] : [[label, value.replace(ordinal, ANY_ORDINAL)] as const]
  })
  return replaced.length === 0 ? selector : { ...selector, ...Object.fromEntries(replaced) }
}

/**
 * Returns the first sets of labels that are not empty, sorted: the order of the templates does not matter.
 *
 * @param added the labels that the controller adds; `{name}` is the name of the workload, and a final `*` an ordinal
 */
export function podLabelsOf(raw: K8sObject, podMetadata: unknown[], added: Labels = {}): Labels[] {
  const [name] = stringsAt(raw, 'metadata.name')
  const own =
    name === undefined ? {} : Object.fromEntries(textEntries(added).map(([key, to]) => [key, labelAdded(to, name)]))
  const written = podMetadata.flatMap((metadata) => valuesAt(metadata, 'labels')).filter(isObject)
  const byText = new Map<string, Labels>()
  for (const labels of written.length > 0 ? written : [{}]) {
    const entries = textEntries({ ...labels, ...own }).sort(([a], [b]) => (a < b ? -1 : 1))
    if (entries.length > 0) byText.set(JSON.stringify(entries), Object.fromEntries(entries))
  }
  return sortedUnique(byText.keys())
    .slice(0, MAX_POD_LABELS)
    .map((text) => byText.get(text) ?? {})
}

function labelAdded(value: string, workload: string): string {
  return value.replace(/\*$/, ANY_ORDINAL).replace('{name}', workload)
}

function textEntries(labels: Record<string, unknown>): [string, string][] {
  return Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
}
