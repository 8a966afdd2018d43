/** Finds claims without an effect: their workload does not exist, or they are not permitted to apply to it. */
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../../api/karmada.ts'
import { type K8sObject, referenceOf, referenceTitle } from '../../../api/meta.ts'
import { noEffect } from '../../../core/data-source-claim/effect.ts'
import { workloadKey, workloadsOfClaim } from '../../../core/data-source-claim/keys.ts'
import { refusalFor } from '../../../queries/permission.ts'
import { isClaimed, isPropagated } from '../../../queries/policy.ts'
import { bindingsOfClaim, bindingsOfWorkload } from '../../../queries/workload.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { objectTitle, placeOf } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import type { ReviewContext } from '../review/review-object.ts'
import { type Finding, finding } from './findings.ts'
import { hintFor } from './similar.ts'

/** Returns the findings about all claims of the store; those of the folder only if they concern a given manifest. */
export function claimFindings(manifests: readonly Manifest[], context: ReviewContext): Finding[] {
  const { store, workloads: kinds } = context
  const stored = store.objects()
  const known = stored.map(({ object }) => object)
  const byKey = new Map(known.map((object) => [workloadKey(referenceOf(object)), object]))
  const given = new Map(manifests.map((manifest) => [workloadKey(referenceOf(manifest.object)), manifest]))
  const unclaimed = manifests.map(({ object }) => object).filter((object) => !isClaimed(referenceOf(object), store))
  return stored.flatMap(({ object, ...at }) => {
    if (!hasType(dataSourceClaims, object)) return []
    const claim = object as DataSourceClaim
    const own = given.get(workloadKey(referenceOf(object)))
    const place = placeOf(own, 'spec.workload', at)
    const workloads = workloadsOfClaim(claim)
    const found = workloads.find((workload) => byKey.has(workloadKey(workload)))
    if (found) {
      const refusal = refusalFor(claim, found, store, context.clusterScopedClaims)
      const concerned = own ?? given.get(workloadKey(found))
      const reason =
        refusal ?? attachedReason(claim, store) ?? unpropagatedReason(claim, byKey.get(workloadKey(found)), store)
      return reason && concerned
        ? [finding('ineffective-claim', `is ignored: ${reason}`, place, objectTitle(claim))]
        : []
    }
    if (workloads.some((workload) => bindingsOfWorkload(workload, store).length > 0)) return []
    const [meant] = workloads
    if (!meant) return []
    // A hub has claims for workloads that are in none of the given files.
    const hint = hintFor(meant, own ? known : unclaimed, kinds)
    if (!own && hint === '') return []
    const title = referenceTitle(meant)
    return [
      finding(
        'dangling-claim',
        `${title} is not in the input${hint}; correct spec.workload`,
        place,
        objectTitle(claim),
      ),
    ]
  })
}

/** Why a claim has no effect although its workload has a binding. */
function attachedReason(claim: DataSourceClaim, store: ObjectStore): string | undefined {
  const bindings = bindingsOfClaim(claim, store)
  return bindings.length === 0 ? undefined : noEffect(claim, bindings)?.message
}

/** Why a claim has no effect on a workload that none of the known policies selects and that has no binding. */
function unpropagatedReason(
  claim: DataSourceClaim,
  workload: K8sObject | undefined,
  store: ObjectStore,
): string | undefined {
  const knowsPolicies = store.size(propagationPolicies) + store.size(clusterPropagationPolicies) > 0
  const isKnown = workload !== undefined && knowsPolicies
  if (!isKnown || bindingsOfClaim(claim, store).length > 0 || isPropagated(workload, store)) return undefined
  return `no known policy selects ${objectTitle(workload)}; add the policy to the input`
}
