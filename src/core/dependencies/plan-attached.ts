/** Plans the binding of one dependency: creates, updates or releases it, in one write for all workloads that need it. */
import {
  type BindingSnapshot,
  bindingTypeIn,
  DEPENDED_BY_LABEL_PREFIX as KARMADA_LABEL_PREFIX,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { DEPENDED_BY_LABEL_PREFIX } from '../../api/lodestone.ts'
import { type K8sObject, nameOfObject } from '../../api/meta.ts'
import { persistentVolumeClaims } from '../../api/persistent-volume.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { clustersWithWorkload, hasTarget } from '../placement/binding-state.ts'
import { type Action, eventAbout, NOTHING, type PatchAction, type Plan, patchOf } from '../plan.ts'
import {
  combineStrategies,
  labelsFor,
  newAttachedBinding,
  objectResource,
  referrerSnapshots,
  snapshotKey,
} from './attached-binding.ts'
import { dependedByLabel, karmadaDependedByLabel } from './names.ts'

/** A binding whose workload needs the dependency. */
export interface Need {
  binding: ResourceBinding
  /** Whether Lodestone attaches the dependency to it; otherwise Karmada's distributor does. */
  ours: boolean
  /** Whether Karmada's distributor attaches the dependency too when it processes the next change of the binding. */
  karmadaFollows: boolean
}

export interface AttachedInput {
  /** The dependency; undefined if it does not exist. */
  dependent: K8sObject | undefined
  /** Its stored binding, created by Lodestone or by another controller. */
  stored: ResourceBinding | undefined
  needs: readonly Need[]
  /** Returns the binding of a snapshot, if it exists. */
  bindingOf(snapshot: BindingSnapshot): ResourceBinding | undefined
  /** The cluster-scoped bindings for which `stored` has our labels: no snapshot names them. */
  labeledFor: readonly ResourceBinding[]
  /** Whether each cluster creates the dependency for itself. Then the binding is released for all referrers, also those of Karmada. */
  isNeverPropagated: boolean
  /** Whether the dependencies of a binding's workload are unknown. Then the binding is not released. */
  isUnknown(binding: ResourceBinding): boolean
  /** How long the binding has waited for Karmada's distributor to move a referrer, in ms. */
  waitedMs: number
}

/** How long Karmada's distributor gets to move a referrer that it may attach. It needs a second. */
const KARMADA_MOVES_WITHIN_MS = 10_000

/**
 * Plans the binding of a dependency as Karmada's distributor does (dependencies_distributor.go: createOrUpdateAttachedBinding,
 * removeScheduleResultFromAttachedBindings), for the referrers that Lodestone attaches. Labels and entries of other writers stay. A binding
 * without referrers stays empty, as with Karmada: the garbage collector deletes it with the dependency that owns it.
 */
export function planAttachedBinding(input: AttachedInput): Plan {
  const { dependent, stored } = input
  if (!stored) return dependent ? planNew(dependent, input.needs) : NOTHING
  // After a binding that is being deleted is gone, the next run creates a new one.
  if (stored.metadata.deletionTimestamp) return NOTHING
  // The binding of a deleted and recreated object: the garbage collector deletes it (karmada-io/karmada#6034), and its deletion triggers
  // the next run.
  if (dependent && isOfPredecessor(stored, dependent)) return NOTHING
  if (input.isNeverPropagated) return planRelease(stored)
  return planExisting(input, stored)
}

function planNew(dependent: K8sObject, needs: readonly Need[]): Plan {
  const referrers = needs.filter(({ ours, binding }) => ours && hasTarget(binding.spec)).map(({ binding }) => binding)
  if (referrers.length === 0 || dependent.metadata.deletionTimestamp) return NOTHING
  const type = bindingTypeIn(dependent.metadata.namespace)
  const object = newAttachedBinding(type, dependent, referrers)
  return { actions: [{ kind: 'create', type, object }, ...conflictEvents(object, referrers)] }
}

function planExisting(input: AttachedInput, stored: ResourceBinding): Plan {
  const { dependent, bindingOf } = input
  const { labels = {} } = stored.metadata
  const own = nameOfObject(stored)
  const entries = stored.spec.requiredBy ?? []
  const needs = input.needs
    .filter(({ binding, ours }) => ours || isNotHandedOver(binding, labels))
    // If the dependency is being deleted or is gone, it gets no new referrers.
    .filter(({ binding }) => ourLabelOf(binding) in labels || (dependent && hasTarget(binding.spec)))
  const attached = needs.map(({ binding }) => binding)
  const left = input.waitedMs < KARMADA_MOVES_WITHIN_MS ? movedByKarmada(needs, entries) : new Set()
  const unknown = unknownReferrers(input, entries)
  const released = releasedLabels(labels, [...attached, ...unknown])
  // A binding without labels and referrers of Lodestone stays as it is.
  if (attached.length === 0 && released.size === 0) return NOTHING
  const clusterScoped = [...attached, ...unknown].filter(({ metadata }) => own.namespace && !metadata.namespace)
  const requiredBy = merge(
    entries.filter((entry) => (isSame(entry, own) ? clusterScoped.length > 0 : !isReleased(entry, released, labels))),
    referrerSnapshots(own, [
      ...attached.filter((binding) => !left.has(binding) && !keepsClaim(binding, stored)),
      ...clusterScoped,
    ]),
  )
  const referrers = [
    ...requiredBy.filter((entry) => !isSame(entry, own)).flatMap((entry) => bindingOf(entry) ?? []),
    ...clusterScoped,
  ]
  const { strategy } = combineStrategies(referrers)
  const patch = patchOfChanges(stored, {
    labels: {
      ...labelsFor(attached),
      ...Object.fromEntries([...released].map((label) => [label, null])),
    },
    requiredBy: requiredBy.length > 0 ? requiredBy : null,
    ...defined({ resource: dependent && attached.length > 0 ? objectResource(dependent) : undefined }),
    // If the binding has its own policy, that policy decides how it is applied in members.
    ...(stored.spec.placement
      ? {}
      : {
          conflictResolution: strategy.conflictResolution ?? null,
          preserveResourcesOnDeletion: strategy.preserveResourcesOnDeletion ?? null,
        }),
  })
  const wait = left.size > 0 && { requeueAfterMs: KARMADA_MOVES_WITHIN_MS - input.waitedMs }
  if (!patch) return { ...NOTHING, ...wait }
  const events = stored.spec.placement ? [] : conflictEvents(stored, referrers)
  return { actions: [patch, ...events], ...wait }
}

/**
 * The attached referrers whose new clusters Karmada's distributor writes. It may read a referrer before it is scheduled again and write the
 * old clusters after Lodestone has written the new ones (dependencies_distributor.go: syncScheduleResultToAttachedBindings). The dependency
 * would then be deleted from its new cluster for a moment.
 */
function movedByKarmada(needs: readonly Need[], entries: readonly BindingSnapshot[]): Set<ResourceBinding> {
  const recorded = new Map(entries.map((entry) => [snapshotKey(entry), entry.clusters ?? []]))
  const moved = needs.filter(({ binding, karmadaFollows }) => {
    const clusters = recorded.get(snapshotKey(nameOfObject(binding)))
    if (!karmadaFollows || clusters === undefined) return false
    // The distributor ignores graceful evictions. What it writes, and what Lodestone writes, are both new.
    const { spec } = binding
    return [spec.clusters ?? [], clustersWithWorkload(spec)].every((written) => !jsonEqual(clusters, written))
  })
  return new Set(moved.map(({ binding }) => binding))
}

/**
 * Whether a PersistentVolumeClaim stays in the clusters that are recorded for a workload. Otherwise what the workload has stored would be deleted. The
 * scheduler takes a workload without replicas out of all clusters. When it gets replicas again, it is in none either until it is scheduled.
 */
function keepsClaim({ metadata, spec }: ResourceBinding, attached: ResourceBinding): boolean {
  const isClaim = attached.spec.resource.kind === persistentVolumeClaims.kind
  return isClaim && metadata.namespace !== undefined && clustersWithWorkload(spec).length === 0
}

/** Lodestone keeps its attachment until Karmada's distributor has its own label. Otherwise the dependency would be detached in between. */
function isNotHandedOver(binding: ResourceBinding, labels: Record<string, string>): boolean {
  return ourLabelOf(binding) in labels && !(karmadaDependedByLabel(nameOfObject(binding)) in labels)
}

/** The recorded referrers whose dependencies are unknown: they may still need this one. */
function unknownReferrers(
  { needs, bindingOf, labeledFor, isUnknown }: AttachedInput,
  entries: readonly BindingSnapshot[],
): ResourceBinding[] {
  const needing = new Set(needs.map(({ binding }) => binding))
  return [...entries.flatMap((entry) => bindingOf(entry) ?? []), ...labeledFor].filter(
    (binding) => isUnknown(binding) && !needing.has(binding),
  )
}

/** Our labels of all referrers that no longer need the dependency from Lodestone. */
function releasedLabels(labels: Record<string, string>, kept: readonly ResourceBinding[]): Set<string> {
  const keptLabels = new Set(kept.map(ourLabelOf))
  return new Set(
    Object.keys(labels).filter((label) => label.startsWith(DEPENDED_BY_LABEL_PREFIX) && !keptLabels.has(label)),
  )
}

/** An entry is removed with our label, unless it has a label of Karmada's distributor. */
function isReleased(entry: BindingSnapshot, released: Set<string>, labels: Record<string, string>): boolean {
  return released.has(dependedByLabel(entry)) && !(karmadaDependedByLabel(entry) in labels)
}

/** Replaces entries in place and appends new ones, so that an unchanged list stays the same. */
function merge(entries: readonly BindingSnapshot[], snapshots: readonly BindingSnapshot[]): BindingSnapshot[] {
  const byName = new Map(snapshots.map((snapshot) => [snapshotKey(snapshot), snapshot]))
  // Old versions of Karmada wrote an entry twice; here it is written once.
  const seen = new Map(entries.map((entry) => [snapshotKey(entry), byName.get(snapshotKey(entry)) ?? entry]))
  return [...seen.values(), ...snapshots.filter((snapshot) => !seen.has(snapshotKey(snapshot)))]
}

function isSame(entry: BindingSnapshot, other: BindingSnapshot): boolean {
  return snapshotKey(entry) === snapshotKey(other)
}

function ourLabelOf(binding: ResourceBinding): string {
  return dependedByLabel(nameOfObject(binding))
}

interface Wanted {
  labels: Record<string, string | null>
  [field: string]: unknown
}

/**
 * Removes all referrers with the labels of both distributors. Karmada does not query Lodestone again for what it attached before, and its own
 * interpreter names such objects.
 */
function planRelease(stored: ResourceBinding): Plan {
  const { labels = {} } = stored.metadata
  const prefixes = [DEPENDED_BY_LABEL_PREFIX, KARMADA_LABEL_PREFIX]
  const released = Object.keys(labels).filter((label) => prefixes.some((prefix) => label.startsWith(prefix)))
  const patch = patchOfChanges(stored, {
    labels: Object.fromEntries(released.map((label) => [label, null])),
    requiredBy: null,
  })
  if (!patch) return NOTHING
  const { kind, name } = stored.spec.resource
  const message = `released ${kind} ${name}: each cluster creates its own`
  return { actions: [patch, eventAbout(stored, 'Normal', 'NeverPropagated', message)] }
}

/** Returns the patch of the values that differ; undefined if none does. */
function patchOfChanges(stored: ResourceBinding, { labels, ...spec }: Wanted): PatchAction | undefined {
  const storedLabels = stored.metadata.labels ?? {}
  const storedSpec = stored.spec as unknown as Record<string, unknown>
  const changedLabels = Object.entries(labels).filter(([label, value]) => (storedLabels[label] ?? null) !== value)
  const changedSpec = Object.entries(spec).filter(([field, value]) => !jsonEqual(storedSpec[field] ?? null, value))
  if (changedLabels.length === 0 && changedSpec.length === 0) return undefined
  const change = defined({
    metadata: changedLabels.length > 0 ? { labels: Object.fromEntries(changedLabels) } : undefined,
    spec: changedSpec.length > 0 ? Object.fromEntries(changedSpec) : undefined,
  })
  return patchOf(bindingTypeIn(stored.metadata.namespace), stored, change)
}

/** Returns a warning if the strategies of the referrers differ; emitted only with a write of the binding. */
function conflictEvents(about: ResourceBinding, referrers: readonly ResourceBinding[]): Action[] {
  const { conflicts } = combineStrategies(referrers)
  if (conflicts.length === 0) return []
  const message = `the workloads have different values of ${conflicts.join(' and ')}; Overwrite and true apply`
  return [eventAbout(about, 'Warning', 'DependencyPolicyConflict', message)]
}

function isOfPredecessor({ metadata }: ResourceBinding, dependent: K8sObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  return owner !== undefined && dependent.metadata.uid !== undefined && owner.uid !== dependent.metadata.uid
}
