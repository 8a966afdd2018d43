/** Reduces metadata to the fields that decisions read. */
import type { ObjectMeta } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { intern } from '../cache/intern.ts'

/** Keeps name, namespace, version and deletion time, and the given annotations and labels. */
export function keepMetadata(
  { name, namespace, resourceVersion, deletionTimestamp, annotations, labels }: ObjectMeta,
  keptAnnotations: readonly string[] = [],
  keptLabels: readonly string[] = [],
): ObjectMeta {
  const ourAnnotations = pick(annotations, keptAnnotations)
  const ourLabels = pick(labels, keptLabels)
  return defined({
    name: name || undefined,
    namespace: namespace ? intern.string(namespace) : undefined,
    resourceVersion: resourceVersion || undefined,
    deletionTimestamp: deletionTimestamp || undefined,
    annotations: ourAnnotations && intern.json(ourAnnotations),
    labels: ourLabels && intern.json(ourLabels),
  })
}

/** Keeps the given annotations; no map if there is none of them. */
export function keepAnnotations({ annotations }: ObjectMeta, kept: readonly string[]): Pick<ObjectMeta, 'annotations'> {
  return defined({ annotations: pick(annotations, kept) })
}

function pick(values: Record<string, string> | undefined, keys: readonly string[]): Record<string, string> | undefined {
  const entries = keys.flatMap((key) => (values?.[key] === undefined ? [] : [[key, values[key]] as const]))
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
