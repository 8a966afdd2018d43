/** Turns reviews into findings. */
import { isBinding, type ResourceBinding } from '../../../api/karmada.ts'
import { VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import { groupOf, type K8sObject, referenceOf } from '../../../api/meta.ts'
import { pods } from '../../../api/pod.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { suggest } from '../../../base/suggest.ts'
import { interpretWorkload } from '../../../core/dependencies/workload.ts'
import { cut } from '../../../core/outcome.ts'
import { otherBindingClause } from '../../../core/resource-binding/derive.ts'
import { missingVolumeManager } from '../../../core/workload/requests/resolve.ts'
import { hasPods } from '../../../core/workload-kinds/kinds.ts'
import { isClaimed } from '../../../queries/policy.ts'
import { otherBinding } from '../../../queries/workload.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { knownKinds } from '../../kinds.ts'
import { builtInScope } from '../../scope.ts'
import { fieldPlace, objectTitle } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import { isMovedByFirstNarrowing } from '../review/effect.ts'
import type { ReviewContext } from '../review/review-object.ts'
import type { Reviewed } from '../review/review-objects.ts'
import { annotationFindings } from './annotation-findings.ts'
import { claimFindings } from './claim-findings.ts'
import { type Finding, type FindingId, finding } from './findings.ts'
import { canEnd, type KnownSystems } from './holds.ts'
import { policyFindings } from './policy-findings.ts'

/** Returns the findings of all reviews, and those about claims. */
export function diagnose(reviews: readonly Reviewed[], context: ReviewContext, systems: KnownSystems): Finding[] {
  const manifests = [...new Set(reviews.map(({ manifest }) => manifest))]
  // Another manifest, which is invalid, may have the missing object.
  const isComplete = reviews.every(({ outcome }) => outcome !== 'unknown')
  const bound = new Set(reviews.flatMap((review) => (isBinding(review.before.kind) ? [review.manifest] : [])))
  const orphans = reviews.filter((review) => !bound.has(review.manifest) && isUnselected(review, context))
  return [
    ...reviews.flatMap((review) => reviewFindings(review, context, systems)),
    ...manifests.flatMap((manifest) => annotationFindings(manifest, context.workloads)),
    ...(isComplete
      ? [
          ...orphans.map((review) => noPolicy(review.manifest, context)),
          ...policyFindings(
            manifests,
            orphans.map(({ manifest }) => manifest.object),
            context,
          ),
          ...claimFindings(manifests, context),
        ]
      : []),
  ]
}

function reviewFindings(review: Reviewed, context: ReviewContext, systems: KnownSystems): Finding[] {
  const { object, outcome, reason = '', errors, manifest } = review
  const at = (id: Finding['id'], message: string, path = '') => finding(id, message, fieldPlace(manifest, path), object)
  if (outcome === 'unknown') return [at('undecided-object', reason)]
  if (outcome === 'denied') return errors.map(({ path, message }) => at('denied-object', `${path}: ${message}`, path))
  if (review.isNotChecked) return [at('not-checked', notCheckedMessage(manifest.object, context))]
  if (review.isExcluded) return [at('excluded-namespace', excludedMessage(manifest.object))]
  // The volumes of a pod that exists cannot be changed.
  const isFixed = hasType(pods, review.before) && review.operation === 'UPDATE'
  const missing = isFixed ? [] : missingVolumeManagers(review.after, context)
  // The finding about a missing VolumeManager replaces the warning.
  const replaced = new Set(missing.map((name) => cut(`lodestone: ${missingVolumeManager(name)}`)))
  return [
    ...decisionFindings(review, context, systems),
    ...(isBinding(review.before.kind)
      ? []
      : missing.map((name) =>
          at(
            'missing-volume-manager',
            missingVolumeManager(name, similarManager(name, review.after, context)),
            requestPath(manifest.object),
          ),
        )),
    ...review.warnings
      .filter((warning) => !reason || !warning.includes(reason))
      .filter((warning) => !replaced.has(warning))
      .map((warning) => warning.replace(/^lodestone: /, ''))
      .map((text) => at(findingOfWarning(text, review.isUnknownKind), text, 'metadata.annotations')),
  ]
}

/** The warnings of admission that are findings of their own, because the object would not do what it says. */
const INEFFECTIVE: readonly { text: RegExp; id: FindingId }[] = [
  { text: /^unknown annotation /, id: 'ineffective-annotation' },
  { text: / is a label, not an/, id: 'ineffective-annotation' },
  { text: /^label \S+ without annotation /, id: 'ineffective-annotation' },
  { text: /^no pod gets the volumes: /, id: 'ineffective-annotation' },
  { text: /^metadata\.annotations\[\S+\]: has no effect/, id: 'ineffective-annotation' },
  { text: /^the pod template of a \S+ is immutable; /, id: 'ineffective-annotation' },
  { text: / is read-only; /, id: 'ineffective-annotation' },
  { text: /^VolumeManager \S+ cannot be used: /, id: 'unusable-volume' },
  { text: /^volume \S+ of VolumeManager /, id: 'unusable-volume' },
]

/**
 * Returns the finding for a warning of admission.
 *
 * @param text the warning without its prefix
 * @param isUnknownKind whether the object is of a kind that is not in the table of workload kinds
 */
function findingOfWarning(text: string, isUnknownKind: boolean): FindingId {
  const found = INEFFECTIVE.find((each) => each.text.test(text))
  return found?.id ?? (isUnknownKind ? 'unknown-kind' : 'admission-warning')
}

/** Objects of Kubernetes and Karmada are ordinary; a custom kind may be a workload. */
function notCheckedMessage({ apiVersion, kind }: K8sObject, { workloads }: ReviewContext): string {
  const group = groupOf(apiVersion)
  if (builtInScope({ group, kind })) return `no rule of Lodestone applies to a ${kind}`
  const hint = suggest(
    kind,
    knownKinds(workloads)
      .map((type) => type.kind)
      .filter((known) => known !== kind),
  )
  return `no rule of Lodestone applies to ${kind}.${group}${hint}; if it has pods, add the kind to workloadKinds`
}

function excludedMessage({ metadata: { namespace = '' } }: K8sObject): string {
  return `namespace ${namespace} is excluded from admission, so nothing was decided; use another namespace`
}

/** The path of the annotation, if it is on the object itself and not on its pod templates. */
function requestPath({ metadata }: K8sObject): string {
  return metadata.annotations?.[VOLUMES_ANNOTATION] === undefined ? '' : `metadata.annotations[${VOLUMES_ANNOTATION}]`
}

/** The names of VolumeManagers that the pods of a workload request and that do not exist. */
function missingVolumeManagers(object: K8sObject, { store, workloads }: ReviewContext): string[] {
  const { volumeManagers: names } = interpretWorkload(object, workloads).dependencies
  return names.filter((name) => store.get(volumeManagers, object.metadata.namespace, name) === undefined)
}

/** Suggests a VolumeManager of the namespace with a similar name. */
function similarManager(name: string, { metadata }: K8sObject, { store }: ReviewContext): string {
  const known = [...store.list(volumeManagers)].filter((manager) => manager.metadata.namespace === metadata.namespace)
  return suggest(
    name,
    known.map((manager) => manager.metadata.name ?? ''),
  )
}

/** The findings about the decision on a binding or a pod. */
function decisionFindings(review: Reviewed, context: ReviewContext, systems: KnownSystems): Finding[] {
  const { object, decision, reason = '', manifest, before, after } = review
  const at = (id: Finding['id'], message: string) => [finding(id, message, fieldPlace(manifest, ''), object)]
  switch (decision) {
    case 'OnHold':
      return canEnd(after as ResourceBinding, context, systems)
        ? at('hold', `waits for its data: ${reason}`)
        : at('endless-hold', `nothing in the input ends the hold: ${reason}`)
    case 'Gated':
      return at('hold', `waits at its scheduling gate: ${reason}`)
    case 'Ignored':
    case 'Relaxed':
    case 'Released':
      return at('ignored-claim', `is placed without its data: ${reason}`)
    case 'Kept':
      return at('kept-narrowing', `keeps its last clusters: ${reason}`)
    case undefined:
      return isBinding(before.kind) && isWorkload(manifest.object, context)
        ? at('no-claim', 'no claim applies to it; its policy alone places it')
        : []
    default:
      return isMovedByFirstNarrowing(review, context) ? at('first-narrowing', FIRST_NARROWING) : []
  }
}

const FIRST_NARROWING =
  'rebalance does not prevent this move, since it is the first narrowing; apply the claim when the workload may restart'

/** Whether Karmada creates no binding for a workload, because no known policy selects it. */
function isUnselected({ decision, outcome, manifest }: Reviewed, context: ReviewContext): boolean {
  const { object } = manifest
  if (!isWorkload(object, context) || outcome === 'denied') return false
  // In a member cluster, the volumes of a workload are the decision.
  return decision === undefined || isClaimed(referenceOf(object), context.store)
}

function noPolicy(manifest: Manifest, { store }: ReviewContext): Finding {
  const { object } = manifest
  const other = otherBinding(referenceOf(object), store)
  const message = other
    ? `Karmada creates no binding for it: ${otherBindingClause(other)}; rename one of the two`
    : isClaimed(referenceOf(object), store)
      ? 'no known policy selects it, so its claim has no effect; add the policy to the input'
      : 'no known policy or claim selects it, so nothing was decided; add them to the input'
  return finding('no-policy', message, fieldPlace(manifest, ''), objectTitle(object))
}

/** Hooks of Helm and Argo CD run before or after a release: no policy selects them. */
const HOOK_ANNOTATIONS = ['helm.sh/hook', 'argocd.argoproj.io/hook']

/** Whether the object is a workload with pods that no other object owns. */
function isWorkload(object: K8sObject, { workloads }: ReviewContext): boolean {
  const kind = workloads.find(object.apiVersion, object.kind)
  const { annotations, ownerReferences } = object.metadata
  const isOwned = ownerReferences?.some(({ controller }) => controller) ?? false
  const isHook = HOOK_ANNOTATIONS.some((key) => annotations?.[key] !== undefined)
  return kind !== undefined && hasPods(kind) && !isOwned && !isHook
}
