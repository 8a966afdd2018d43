/** Reviews manifests in the order of their dependencies. */
import { isBinding } from '../../../api/karmada.ts'
import type { K8sObject } from '../../../api/meta.ts'
import { namespaces } from '../../../api/namespace.ts'
import { without } from '../../../base/json.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { hasType, validatedTypes } from '../input/validate-manifest.ts'
import { withEffect } from './effect.ts'
import { reviewDerived, wholePolicies } from './review-derived.ts'
import {
  isTemplate,
  type ObjectReview,
  openSession,
  putManifest,
  type ReviewContext,
  type ReviewSession,
  reviewObject,
  webhookFor,
} from './review-object.ts'

/** The review of a given manifest; for a binding that was derived, `manifest` is the one of its template. */
export type ManifestReview<Given> = ObjectReview & { manifest: Given }

export type Reviewed = ManifestReview<Manifest>

/**
 * Reviews the objects and stores the allowed ones. Decisions on workloads depend on their references, those on policies on claims and
 * workloads, those on bindings on all of them. They are made in that order, so the order of the manifests does not matter.
 *
 * @param concerned stored workloads whose bindings are reviewed too, each with the manifest that concerns it
 */
export async function reviewObjects<Given extends { object: K8sObject }>(
  manifests: readonly Given[],
  context: ReviewContext,
  concerned: readonly { template: K8sObject; manifest: Given }[] = [],
): Promise<ManifestReview<Given>[]> {
  const session = openSession(context)
  const ranked = manifests.map((manifest) => ({ manifest, rank: reviewRank(manifest.object, session) }))
  const reviews = new Map<Given, ManifestReview<Given>>()
  // As they are stored: a workload may have labels of other writers, which choose its policy.
  const stored = new Map<Given, K8sObject>()
  for (const { manifest } of ranked.toSorted((a, b) => a.rank - b.rank)) {
    const { object } = manifest
    const review = { ...(await reviewObject(object, session)), manifest }
    reviews.set(manifest, review)
    if (review.outcome !== 'denied' && !isBinding(object.kind))
      stored.set(manifest, await putManifest(session, review.after))
  }
  const policies = wholePolicies(context.store)
  const derive = async (template: K8sObject, isChanged: boolean) => {
    const derived = await reviewDerived(template, policies, session, isChanged)
    return derived && context.hasHub ? withEffect(derived, context) : derived
  }
  const results: ManifestReview<Given>[] = []
  for (const manifest of manifests) {
    const review = reviews.get(manifest)
    if (!review) continue
    const template = isTemplate(manifest.object, session) ? stored.get(manifest) : undefined
    const derived = template && (await derive(template, true))
    // A workload without a decision is not shown: its binding is.
    const isSilent = review.outcome === 'allowed' && review.warnings.length === 0
    if (!derived || !isSilent) results.push(derived || isLookedAt(review) ? review : { ...review, isNotChecked: true })
    if (derived) results.push({ ...derived, manifest })
  }
  for (const { template, manifest } of concerned) {
    const derived = await derive(template, false)
    if (derived) results.push({ ...derived, manifest })
  }
  return results
}

/** Whether a rule applies to the object: of admission, of the validation of manifests, or of annotations. */
function isLookedAt({ isUnknownKind, warnings, isExcluded, before }: ObjectReview): boolean {
  const isValidated = [...validatedTypes, namespaces].some((type) => hasType(type, before))
  return !isUnknownKind || isValidated || warnings.length > 0 || isExcluded === true
}

/**
 * Replaces the decision of a review whose context is incomplete, for instance without a policy that is invalid. Errors of the object itself
 * stay.
 */
export function withoutDecision(review: Reviewed): Reviewed {
  if (review.outcome === 'denied') return review
  const rest = without(review, 'decision', 'warnings', 'effect')
  const reason = 'another given manifest is invalid, so the decision is not known; correct that one first'
  return { ...rest, outcome: 'unknown', reason, warnings: [], after: review.before }
}

function reviewRank(object: K8sObject, session: ReviewSession): number {
  // Namespaces come first, because they grant permissions to claims.
  if (hasType(namespaces, object)) return -1
  if (webhookFor(object, session)?.type !== 'mutating') return 0
  if (isTemplate(object, session)) return 1
  return isBinding(object.kind) ? 3 : 2
}
