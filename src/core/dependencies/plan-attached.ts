/** Plans the binding of one dependency: creates, updates and releases it, in one write for all workloads that need it. */
import {
  type BindingSnapshot,
  clusterResourceBindings,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'
import { type K8sObject, nameOfObject, objectKey, type ResourceType } from '../../api/meta.ts'
import { jsonEqual } from '../json.ts'
import { type Action, NOTHING, type Plan } from '../plan.ts'
import { labelsFor, newAttachedBinding, resourceOf, snapshotsOf, strategyOf } from './attached-binding.ts'
import { dependedByLabel, karmadaDependedByLabel } from './names.ts'

/** A binding whose workload needs the dependency. */
export interface Need {
  binding: ResourceBinding
  /** Whether it is for us to attach it; else Karmada's distributor does. */
  ours: boolean
}

export interface AttachedInput {
  /** The object that is needed; undefined while it does not exist. */
  dependent: K8sObject | undefined
  /** Its binding, made by us or by another controller. */
  stored: ResourceBinding | undefined
  needs: readonly Need[]
  /** The binding that a snapshot is of, if it is there. */
  bindingOf(snapshot: BindingSnapshot): ResourceBinding | undefined
  /** The cluster-scoped bindings that `stored` carries our labels for: no snapshot names them. */
  labeledFor: readonly ResourceBinding[]
  /** Whether the needs of a binding's workload are unknown: then nothing is released. */
  isUnknown(binding: ResourceBinding): boolean
}

/**
 * Follows Karmada's distributor (dependencies_distributor.go: createOrUpdateAttachedBinding, removeScheduleResultFromAttachedBindings)
 * for those that are ours to attach, and leaves the labels and entries of other writers alone. A binding that is not needed any more stays,
 * empty, as Karmada leaves it: it goes with the object that owns it.
 */
export function planAttachedBinding(input: AttachedInput): Plan {
  const { dependent, stored } = input
  if (!stored) return dependent ? planNew(dependent, input.needs) : NOTHING
  // One on its way out is made anew when it is gone.
  if (stored.metadata.deletionTimestamp) return NOTHING
  // Of an object that was deleted and made again: the garbage collector takes it (karmada-io/karmada#6034), and its end is an event.
  if (dependent && isOfPredecessor(stored, dependent)) return NOTHING
  return planExisting(input, stored)
}

function planNew(dependent: K8sObject, needs: readonly Need[]): Plan {
  const referrers = needs.filter(({ ours, binding }) => ours && isScheduled(binding)).map(({ binding }) => binding)
  if (referrers.length === 0 || dependent.metadata.deletionTimestamp) return NOTHING
  const type = dependent.metadata.namespace ? resourceBindings : clusterResourceBindings
  const object = newAttachedBinding(type, dependent, referrers)
  return { actions: [{ kind: 'create', type, object }, ...conflictEvents(object, referrers)] }
}

function planExisting(input: AttachedInput, stored: ResourceBinding): Plan {
  const { dependent, bindingOf } = input
  const { labels = {} } = stored.metadata
  const own = nameOfObject(stored)
  const entries = stored.spec.requiredBy ?? []
  const attached = input.needs
    .filter(({ binding, ours }) => ours || isNotHandedOver(binding, labels))
    .map(({ binding }) => binding)
    // Nothing more is attached to where an object is going, or gone.
    .filter((binding) => ourLabelOf(binding) in labels || (dependent && isScheduled(binding)))
  const unknown = unknownReferrers(input, entries)
  const released = releasedLabels(labels, [...attached, ...unknown])
  // A binding that has nothing of ours stays as it is.
  if (attached.length === 0 && released.size === 0) return NOTHING
  const clusterScoped = [...attached, ...unknown].filter(({ metadata }) => own.namespace && !metadata.namespace)
  const requiredBy = merge(
    entries.filter((entry) => (isSame(entry, own) ? clusterScoped.length > 0 : !isReleased(entry, released, labels))),
    snapshotsOf(own, [...attached, ...clusterScoped]),
  )
  const referrers = [
    ...requiredBy.filter((entry) => !isSame(entry, own)).flatMap((entry) => bindingOf(entry) ?? []),
    ...clusterScoped,
  ]
  const { strategy } = strategyOf(referrers)
  const patch = withoutUnchanged(stored, {
    labels: {
      ...labelsFor(attached),
      ...Object.fromEntries([...released].map((label) => [label, null])),
    },
    requiredBy: requiredBy.length > 0 ? requiredBy : null,
    ...(dependent && attached.length > 0 && { resource: resourceOf(dependent) }),
    // One with a policy of its own is put into members as that says.
    ...(!stored.spec.placement && {
      conflictResolution: strategy.conflictResolution ?? null,
      preserveResourcesOnDeletion: strategy.preserveResourcesOnDeletion ?? null,
    }),
  })
  if (!patch) return NOTHING
  const type: ResourceType = own.namespace ? resourceBindings : clusterResourceBindings
  const events = stored.spec.placement ? [] : conflictEvents(stored, referrers)
  return { actions: [{ kind: 'patch', of: { type, ...own }, patch }, ...events] }
}

/** Our attachment stays ours until Karmada's distributor has recorded it as well: it would be lost in between. */
function isNotHandedOver(binding: ResourceBinding, labels: Record<string, string>): boolean {
  return ourLabelOf(binding) in labels && !(karmadaDependedByLabel(nameOfObject(binding)) in labels)
}

/** The recorded referrers of which it is unknown whether they still need the dependency. */
function unknownReferrers(
  { needs, bindingOf, labeledFor: noted, isUnknown }: AttachedInput,
  entries: readonly BindingSnapshot[],
): ResourceBinding[] {
  const needing = new Set(needs.map(({ binding }) => binding))
  return [...entries.flatMap((entry) => bindingOf(entry) ?? []), ...noted].filter(
    (binding) => isUnknown(binding) && !needing.has(binding),
  )
}

/** Our labels for all but those that still need it from us. */
function releasedLabels(labels: Record<string, string>, kept: readonly ResourceBinding[]): Set<string> {
  const keptLabels = new Set(kept.map(ourLabelOf))
  return new Set(
    Object.keys(labels).filter((label) => label.startsWith(DEPENDED_BY_LABEL_PREFIX) && !keptLabels.has(label)),
  )
}

/** An entry goes with our label, unless Karmada's distributor wants it as well. */
function isReleased(entry: BindingSnapshot, released: Set<string>, labels: Record<string, string>): boolean {
  return released.has(dependedByLabel(entry)) && !(karmadaDependedByLabel(entry) in labels)
}

/** Entries are replaced in place and new ones appended, so that a list that says the same stays the same. */
function merge(entries: readonly BindingSnapshot[], snapshots: readonly BindingSnapshot[]): BindingSnapshot[] {
  const byName = new Map(snapshots.map((snapshot) => [keyOf(snapshot), snapshot]))
  // A doubled entry, as old versions of Karmada left them, is written once.
  const seen = new Map(entries.map((entry) => [keyOf(entry), byName.get(keyOf(entry)) ?? entry]))
  return [...seen.values(), ...snapshots.filter((snapshot) => !seen.has(keyOf(snapshot)))]
}

function keyOf({ namespace, name }: BindingSnapshot): string {
  return objectKey(namespace, name)
}

function isSame(entry: BindingSnapshot, other: BindingSnapshot): boolean {
  return keyOf(entry) === keyOf(other)
}

function ourLabelOf(binding: ResourceBinding): string {
  return dependedByLabel(nameOfObject(binding))
}

interface Wanted {
  labels: Record<string, string | null>
  [field: string]: unknown
}

/** A merge patch of what differs, guarded by the version that was read; undefined when nothing does. */
function withoutUnchanged(stored: ResourceBinding, { labels, ...spec }: Wanted): Record<string, unknown> | undefined {
  const storedLabels = stored.metadata.labels ?? {}
  const storedSpec = stored.spec as unknown as Record<string, unknown>
  const changedLabels = Object.entries(labels).filter(([label, value]) => (storedLabels[label] ?? null) !== value)
  const changedSpec = Object.entries(spec).filter(([field, value]) => !jsonEqual(storedSpec[field] ?? null, value))
  if (changedLabels.length === 0 && changedSpec.length === 0) return undefined
  return {
    metadata: {
      resourceVersion: stored.metadata.resourceVersion,
      ...(changedLabels.length > 0 && { labels: Object.fromEntries(changedLabels) }),
    },
    ...(changedSpec.length > 0 && { spec: Object.fromEntries(changedSpec) }),
  }
}

/** Warns that the workloads that need the dependency do not agree; comes with a write for it. */
function conflictEvents(about: ResourceBinding, referrers: readonly ResourceBinding[]): Action[] {
  const { conflicts } = strategyOf(referrers)
  if (conflicts.length === 0) return []
  const message = `the workloads that need it do not agree on ${conflicts.join(' and ')}: Overwrite and true win`
  return [{ kind: 'event', about, type: 'Warning', reason: 'DependencyPolicyConflict', message }]
}

function isScheduled({ spec }: ResourceBinding): boolean {
  return (spec.clusters ?? []).length > 0
}

function isOfPredecessor({ metadata }: ResourceBinding, dependent: K8sObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  return owner !== undefined && dependent.metadata.uid !== undefined && owner.uid !== dependent.metadata.uid
}
