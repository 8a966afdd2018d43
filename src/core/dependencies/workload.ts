/** A workload cut down to what its dependencies follow from: this is all of it that the caches hold. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'

export interface WorkloadFacts {
  /** What the object itself names, sorted and without doubles: what Karmada's native interpreter would find. */
  references: readonly DependentObjectReference[]
  /** What Karmada's interpreter does not look for, but the object itself names as well: generic ephemeral volumes. */
  beyond: readonly DependentObjectReference[]
  /** The labels of each pod template, for the Services that select its pods; empty for an object without pods. */
  podLabels: readonly Record<string, string>[]
  /** The names in the annotation `lodestone.dev/volumes` of the pod templates, sorted. */
  volumeManagers: readonly string[]
  /** The names of the Services that an Ingress sends to, sorted. */
  backends: readonly string[]
}

/** Metadata is the object's own; of its spec only the facts are left. */
export interface Workload extends K8sObject {
  facts: WorkloadFacts
}
