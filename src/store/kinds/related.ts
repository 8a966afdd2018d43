/** The cached kinds whose objects follow the workloads to which they relate, such as PodDisruptionBudgets. */
import { objectKey, type ResourceType } from '../../api/meta.ts'
import { type RelatedObject, relationsOf } from '../../core/dependencies/relations.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { RelatedKind } from '../../core/workload-kinds/related-kinds.ts'
import type { CachedKind } from '../store.ts'
import { keepContent } from './dependencies.ts'

/** Returns the cached kinds of the enabled table. */
export function relatedKindsOf({ related }: WorkloadKinds): CachedKind<RelatedObject>[] {
  return related.map(relatedKind)
}

function relatedKind(kind: RelatedKind): CachedKind<RelatedObject> {
  return {
    type: kind.type as ResourceType<RelatedObject>,
    keep: (raw) => ({ ...keepContent(raw), relations: relationsOf(raw, kind) }),
    indexes: {
      // The kinds and names of the objects that it names.
      related: ({ metadata, relations }) => relations.targets.map((target) => targetKey(metadata.namespace, target)),
      // Objects that select others by labels, by namespace.
      selecting: ({ metadata, relations }) =>
        relations.podSelectors.length + relations.serviceSelectors.length > 0 ? [metadata.namespace ?? ''] : [],
    },
    optional: true,
  }
}

/** The key of an object by kind and name. */
export function targetKey(namespace: string | undefined, { kind, name }: { kind: string; name: string }): string {
  return `${kind}/${objectKey(namespace, name)}`
}
