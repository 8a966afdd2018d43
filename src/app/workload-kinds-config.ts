/** The workload kinds of the configuration, added to the shipped table. */

import { persistentVolumes } from '../api/persistent-volume.ts'
import { pods } from '../api/pod.ts'
import type { FieldError } from '../core/field-errors.ts'
import type { WorkloadKindEntry } from '../core/workload-kinds/entry.ts'
import { buildWorkloadKinds, SHIPPED_KINDS, type WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { validateWorkloadKinds } from '../core/workload-kinds/validate.ts'
import { kindKey } from '../store/kinds/any-kind.ts'
import { cachedKinds } from '../store/kinds/cached-kinds.ts'

const built = new WeakMap<readonly WorkloadKindEntry[], WorkloadKinds>()

/** Returns the table of workload kinds for a valid configuration. */
export function workloadKindsOf({ workloadKinds }: { workloadKinds: readonly WorkloadKindEntry[] }): WorkloadKinds {
  const known = built.get(workloadKinds) ?? buildWorkloadKinds(workloadKinds)
  built.set(workloadKinds, known)
  return known
}

/** Kinds that Lodestone reads for other purposes, with other fields. */
const OWN_USE: ReadonlySet<string> = new Set([
  ...[pods, persistentVolumes].map(kindKey),
  ...cachedKinds
    .map(({ type }) => kindKey(type))
    .filter((key) => !SHIPPED_KINDS.all.some(({ type }) => kindKey(type) === key)),
])

/** Returns the errors that the schema does not find. */
export function workloadKindErrors(entries: readonly WorkloadKindEntry[]): FieldError[] {
  const used = entries.flatMap(({ group, kind }, i) => {
    if (!OWN_USE.has(kindKey({ group, kind }))) return []
    const message = `Invalid value: "${kind}": must not be a kind that Lodestone uses itself; remove the entry`
    return [{ path: `workloadKinds[${i}].kind`, code: 'Forbidden' as const, message }]
  })
  return [...used, ...validateWorkloadKinds(entries, 'workloadKinds')]
}
