/** The workload kinds and related kinds of the configuration, added to the shipped tables. */
import { persistentVolumes } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { type NeverPropagatedEntry, validateNeverPropagated } from '../../core/dependencies/never-propagated.ts'
import type { WorkloadKindEntry } from '../../core/workload-kinds/entry.ts'
import { buildWorkloadKinds, SHIPPED_KINDS, type WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import {
  buildRelatedKinds,
  RELATED_KIND_NAMES,
  type RelatedConfig,
  validateRelatedKinds,
} from '../../core/workload-kinds/related-kinds.ts'
import { validateWorkloadKinds } from '../../core/workload-kinds/validate.ts'
import { DEPENDENT_KINDS } from '../../queries/dependents.ts'
import { kindKey } from '../../store/any-kind.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { kueueKinds, multiKueueKinds } from '../../store/kinds/kueue.ts'

interface KindsConfig {
  workloadKinds: readonly WorkloadKindEntry[]
  dependencies: RelatedConfig & { neverPropagated: readonly NeverPropagatedEntry[] }
}

/** Built once for each configuration: a table is compared by identity in caches. */
const built = new WeakMap<
  KindsConfig['workloadKinds'],
  { dependencies: KindsConfig['dependencies']; kinds: WorkloadKinds }
>()

/** Returns the table of workload kinds for a valid configuration. */
export function configuredWorkloadKinds({ workloadKinds, dependencies }: KindsConfig): WorkloadKinds {
  const known = built.get(workloadKinds)
  if (known?.dependencies === dependencies) return known.kinds
  const kinds = buildWorkloadKinds(workloadKinds, buildRelatedKinds(dependencies), dependencies.neverPropagated)
  built.set(workloadKinds, { dependencies, kinds })
  return kinds
}

/** Kinds that Lodestone reads for other purposes, with other fields. */
const OWN_USE: ReadonlySet<string> = new Set([
  ...[pods, persistentVolumes, ...[...kueueKinds, ...multiKueueKinds].map(({ type }) => type)].map(kindKey),
  ...cachedKinds
    .map(({ type }) => kindKey(type))
    .filter((key) => !SHIPPED_KINDS.all.some(({ type }) => kindKey(type) === key)),
])

/** Returns the errors that the schema does not find. */
export function workloadKindErrors({ workloadKinds, dependencies }: KindsConfig): FieldError[] {
  const workloads = new Set([...SHIPPED_KINDS.all.map(({ type }) => type), ...workloadKinds].map(kindKey))
  const forbidden =
    (at: string, isUsed: (key: string) => boolean) => (entry: { group: string; kind: string }, i: number) => {
      if (!isUsed(kindKey(entry))) return []
      const message = `Invalid value: "${entry.kind}": must not be a kind that Lodestone reads for another purpose; remove the entry`
      return [{ path: `${at}[${i}].kind`, code: 'Forbidden' as const, message }]
    }
  return [
    ...workloadKinds.flatMap(forbidden('workloadKinds', (key) => OWN_USE.has(key))),
    ...dependencies.relatedKinds.flatMap(
      forbidden('dependencies.relatedKinds', (key) => OWN_USE.has(key) || workloads.has(key)),
    ),
    ...validateWorkloadKinds(workloadKinds),
    ...validateRelatedKinds(dependencies, 'dependencies'),
    ...validateNeverPropagated(
      dependencies.neverPropagated,
      [...DEPENDENT_KINDS, ...RELATED_KIND_NAMES, ...dependencies.relatedKinds.map(({ kind }) => kind)],
      'dependencies.neverPropagated',
    ),
  ]
}
