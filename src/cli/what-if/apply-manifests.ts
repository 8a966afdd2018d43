/** Supposes that manifests are applied, with the bindings that Karmada's detector would create for them. */
import { bindingTypeIn, isPolicy, type PropagationPolicy, type ResourceBinding } from '../../api/karmada.ts'
import { type K8sObject, keyOfObject, type ResourceType, referenceOf } from '../../api/meta.ts'
import { listNames } from '../../base/names.ts'
import { isDivided, isScaledToZero } from '../../core/placement/binding-state.ts'
import { PREEMPTION_GATE, takesWorkloadsOver } from '../../core/propagation-policy/preemption.ts'
import { closeness, kindOfKey, selectorKeys } from '../../core/propagation-policy/select.ts'
import { deriveBinding, givenReplicas, otherBindingClause } from '../../core/resource-binding/derive.ts'
import { matchedPolicy } from '../../queries/policy.ts'
import { objectBinding, otherBinding } from '../../queries/workload.ts'
import { isCached } from '../../store/any-kind.ts'
import type { Manifest } from '../../store/folder/manifests.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import { allKinds, placementKinds } from '../../store/kinds/cached-kinds.ts'
import { objectTitle, placeManifests } from '../check/input/place-manifests.ts'
import { applyManifest, keptNames } from '../check/review/apply-manifest.ts'
import {
  isTemplate,
  openSession,
  type ReviewSession,
  reviewedType,
  reviewObject,
} from '../check/review/review-object.ts'
import { UsageError } from '../command.ts'
import { typeAmong } from '../kinds.ts'
import { scopesOf } from '../scope.ts'
import type { AppliedManifests } from './options.ts'
import { type SupposeContext, type Supposed, SuppositionError } from './supposed.ts'

/**
 * Applies manifests, in any order. Throws `SuppositionError` for one that admission would reject, and `UsageError` for one that is no policy where
 * only policies may be.
 */
export async function applyManifests(
  manifests: AppliedManifests,
  supposed: Supposed,
  context: SupposeContext,
): Promise<void> {
  const { workloads, signal } = context
  const { store, notes } = supposed
  const types = allKinds(workloads).map(({ type }) => type)
  const session = openSession({ ...context, store })
  const templates: K8sObject[] = []
  const policies: PropagationPolicy[] = []
  for (const manifest of placedManifests(manifests, types, context)) {
    signal.throwIfAborted()
    const after = await admit(manifest, session, notes)
    const type = typeAmong(types, after)
    supposed.sentences.add(`${objectTitle(after)} is applied`)
    if (type && isCached(type, store)) supposed.changes.push(store.put(type, after))
    if (isPolicy(after.kind)) policies.push(after as PropagationPolicy)
    if (isTemplate(after, session) && !isPlacementKind(type)) templates.push(after)
    else if (!type) notes.push(`no decision reads ${objectTitle(after)}`)
  }
  // After all policies: the order of the manifests does not matter.
  for (const template of templates) writeTemplate(template, supposed)
  await bindSelected(policies, supposed, context)
  notes.push(...policies.flatMap((policy) => (takesWorkloadsOver(policy) ? [preemptionNote(policy)] : [])))
}

/** Returns the manifests with the namespaces in which kubectl would create them. */
function placedManifests(
  { given, from, onlyPolicies }: AppliedManifests,
  types: readonly ResourceType[],
  { namespace }: SupposeContext,
): readonly Manifest[] {
  const objects = given.manifests.map(({ object }) => object)
  const { placed, findings } = placeManifests(given.manifests, scopesOf(types, objects), namespace)
  const [problem] = [...given.problems, ...findings.filter(({ id }) => id === 'invalid-manifest')]
  if (problem) throw new SuppositionError(`${problem.file ?? from}: ${problem.message}`, problem.file)
  if (placed.length === 0) throw new SuppositionError(`no manifest in ${from}`)
  const other = onlyPolicies ? placed.find(({ object }) => !isPolicy(object.kind)) : undefined
  if (other) throw new UsageError(`${other.file}: ${objectTitle(other.object)} is no policy; use --manifest for it`)
  return placed
}

/** Returns the object that the API server would store. Throws if admission rejects it. */
async function admit({ object, file }: Manifest, session: ReviewSession, notes: string[]): Promise<K8sObject> {
  const { namespace, name = '' } = object.metadata
  const stored = await session.store.read(reviewedType(object, session), namespace, name)
  const applied = applyManifest(object, stored)
  const { outcome, errors, after } = await reviewObject(applied, session, stored)
  if (outcome === 'denied') {
    const reasons = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
    throw new SuppositionError(`${file}: admission would reject ${objectTitle(object)}: ${reasons}`, file)
  }
  const kept = keptNames(object, applied)
  if (kept.length > 0) notes.push(keptNote(object, kept))
  return after
}

/** Writes a workload: its binding follows, or gets created. */
function writeTemplate(template: K8sObject, supposed: Supposed): void {
  const binding = objectBinding(referenceOf(template), supposed.store)
  if (binding) {
    const replicas = givenReplicas(template)
    supposed.written.set(keyOfObject(binding), replicas)
    if (movesReplicas(replicas, binding)) supposed.notes.push(replicasNote(template))
  } else bindTemplate(template, supposed)
}

/**
 * Whether a manifest gives a workload another number of replicas, so that its clusters change. A workload that had none before needs no note: it
 * counts as a new one.
 */
function movesReplicas(replicas: number | undefined, { spec }: ResourceBinding): boolean {
  if (replicas === undefined || replicas === (spec.replicas ?? 0) || isScaledToZero(spec)) return false
  // The cache does not have the requirements with which a workload leaves its clusters.
  return replicas === 0 || isDivided(spec) || isDivided({ ...spec, replicas })
}

function replicasNote(template: K8sObject): string {
  return `${objectTitle(template)} gets another number of replicas, and the clusters that these go to or leave do not count`
}

function keptNote(object: K8sObject, names: readonly string[]): string {
  return `${objectTitle(object)} keeps ${listNames(names, 5)}, which its manifest lacks, as with kubectl apply`
}

function preemptionNote(policy: PropagationPolicy): string {
  return `${objectTitle(policy)} takes workloads over only if Karmada has the feature gate ${PREEMPTION_GATE}`
}

/**
 * Adds the bindings of the workloads that no policy has selected before. Karmada's detector keeps them in its waiting list. Only workloads with pod
 * templates are cached.
 */
async function bindSelected(
  policies: readonly PropagationPolicy[],
  supposed: Supposed,
  { workloads, signal }: SupposeContext,
): Promise<void> {
  const { store } = supposed
  const selected = new Set(policies.flatMap(selectorKeys).map(kindOfKey))
  const types = workloads.all.map(({ type }) => type).filter((type) => selected.has(`${type.group}/${type.kind}`))
  for (const type of types.filter((each) => isCached(each, store))) {
    await forEachInSlices(store.list(type), (workload) => {
      signal.throwIfAborted()
      const { labels = {}, deletionTimestamp } = workload.metadata
      const isSelected = policies.some((policy) => closeness(referenceOf(workload), labels, policy) > 0)
      if (!isSelected || deletionTimestamp !== undefined) return
      // A lazy policy waits for a change of the workload.
      if (matchedPolicy(workload, store)?.spec.activationPreference !== 'Lazy') bindTemplate(workload, supposed)
    })
  }
}

/** Whether decisions read the kind itself: no policy has to select such an object. */
function isPlacementKind(type: ResourceType | undefined): boolean {
  return type !== undefined && placementKinds.some((kind) => kind.type === type)
}

/** Adds the binding that Karmada's detector would create for a new workload. */
function bindTemplate(template: K8sObject, { store, changes, notes }: Supposed): void {
  const reference = referenceOf(template)
  if (objectBinding(reference, store)) return
  const type = bindingTypeIn(template.metadata.namespace)
  const policy = matchedPolicy(template, store)
  const other = otherBinding(reference, store)
  if (policy && other) {
    const note = `Karmada does not schedule ${objectTitle(template)}: ${otherBindingClause(other)}`
    // A manifest and its policy both lead here.
    if (!notes.includes(note)) notes.push(note)
  } else if (policy) changes.push(store.put(type, deriveBinding(template, policy)))
  else notes.push(`no policy selects ${objectTitle(template)}, so Karmada does not schedule it`)
}
