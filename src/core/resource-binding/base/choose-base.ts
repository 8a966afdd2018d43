/** Recovers the base of a write, the affinity before narrowing, and decides for it. */
import type { Cluster, PlacementAffinity, ResourceBinding } from '../../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../../api/lodestone.ts'
import { defined, jsonEqual, without } from '../../../base/json.ts'
import { cut } from '../../outcome.ts'
import { affinityTerms, effectiveAffinity, withAffinity } from '../../placement/affinity.ts'
import { targetClusters } from '../../placement/binding-state.ts'
import { nameGroups, withoutRound } from '../../placement/group-names.ts'
import { widenedBy } from '../../placement/widened.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import { decidePlacement } from '../decide-placement.ts'
import { MAX_MESSAGE_LENGTH } from '../hold-cause.ts'
import { isRefused, isUnfit, narrowBase } from '../narrow-to-fit.ts'
import { constraintIn, type ParsedInput } from '../parse-input.ts'
import { groupNameRound, type PlacementDecision } from '../placement-decision.ts'
import { policyReferenceOf } from '../policy.ts'
import { excludedClusters } from '../volcano-global.ts'

/** The base of a write, and the decision for it. */
interface DecisionForBase {
  base: PlacementAffinity
  decision: PlacementDecision
}

/** Chooses the base of a write among its candidates, and decides for it. */
export function decideForBase(parsed: ParsedInput): DecisionForBase {
  const first = decideForFirstBase(parsed)
  return decideForRecordedBase(parsed, first.decision) ?? first
}

/** Decides for one candidate after the other until a decision meets its condition. */
function decideForFirstBase(parsed: ParsedInput): DecisionForBase {
  const { conditional, otherwise } = baseCandidates(parsed)
  for (const candidate of conditional) {
    const decision = decidePlacement(parsed, candidate.base)
    // Admission leaves moves to the loop, so its own decision does not show where a base leads.
    const byLoop = () =>
      parsed.leavesMovesToLoop ? decidePlacement({ ...parsed, leavesMovesToLoop: false }, candidate.base) : decision
    const shown = candidate.condition === 'withinPolicy' ? byLoop() : decision
    if (!meetsCondition(parsed, candidate, shown)) continue
    const stored = storedByLoop(parsed, candidate, byLoop)
    return stored
      ? decideForFirstBase({ ...parsed, stored })
      : keepRecordedBase(parsed, { base: candidate.base, decision })
  }
  return (
    answerAgain(parsed) ?? keepRecordedBase(parsed, { base: otherwise, decision: decidePlacement(parsed, otherwise) })
  )
}

/**
 * The recorded base may be outside of a changed lazy policy. Then it does not count in the next review of what the loop sent, so neither does it in
 * this one. Returns the stored binding with the affinity that the loop sent; undefined if the base counts.
 */
function storedByLoop(
  parsed: ParsedInput,
  { base, condition }: BaseCandidate,
  byLoop: () => PlacementDecision,
): ResourceBinding | undefined {
  const { binding, stored, policy, storedAnnotations } = parsed
  if (condition !== 'answeredOrByLoop' || !policy?.lazy || !stored || !jsonEqual(base, storedAnnotations.base))
    return undefined
  const { placement } = binding.spec
  if (jsonEqual(effectiveAffinity(placement), effectiveAffinity(stored.spec.placement))) return undefined
  if (meetsCondition(parsed, { base, condition: 'withinPolicy' }, byLoop())) return undefined
  return withSentPlacement(stored, binding)
}

/**
 * Reinvocation: returns our answer to a write of the loop whose base does not count (`storedByLoop`); undefined if the write is none. Such an answer
 * decides for itself. The detector sends the stored annotation.
 */
function answerAgain(parsed: ParsedInput): DecisionForBase | undefined {
  const { binding, stored, policy, annotations, storedAnnotations } = parsed
  if (!policy?.lazy || !stored || !annotations.base || !jsonEqual(annotations.base, storedAnnotations.base))
    return undefined
  if (localityText(binding) === localityText(stored) || changesOtherFields(binding, stored)) return undefined
  const incoming = effectiveAffinity(binding.spec.placement)
  if (jsonEqual(incoming, effectiveAffinity(stored.spec.placement))) return undefined
  const again = decideForFirstBase({ ...parsed, stored: withSentPlacement(stored, binding) })
  const { affinity, annotations: decided } = again.decision
  return jsonEqual(affinity, incoming) && jsonEqual(decided, annotations) ? again : undefined
}

function withSentPlacement(stored: ResourceBinding, { spec: { placement } }: ResourceBinding): ResourceBinding {
  return { ...stored, spec: defined({ ...stored.spec, placement }) }
}

/**
 * A base that is outside of a changed lazy policy does not count now, and stays recorded: it is the placement that Karmada has applied. The stored
 * affinity counts instead, also after no claim demands a cluster any more.
 */
function keepRecordedBase(parsed: ParsedInput, found: DecisionForBase): DecisionForBase {
  const { stored, policy, storedAnnotations, isScheduled } = parsed
  const { state, annotations } = found.decision
  const { base, locality: last } = storedAnnotations
  if (!policy?.lazy || !base || appliesLazyPolicy(parsed)) return found
  if (!stored || !jsonEqual(found.base, storedBase(parsed, stored))) return found
  if (annotations.base || annotations.hold)
    return { ...found, decision: { ...found.decision, annotations: { ...annotations, base } } }
  const kept = KEEPS_BASE.get(state)
  if (!kept || !last || !isScheduled || jsonEqual(base, found.base)) return found
  const message = cut(`${found.decision.message}; ${AWAITS_POLICY}`, MAX_MESSAGE_LENGTH)
  const claims = parsed.claims.map(({ claim }) => claim)
  const locality: LocalityAnnotation = { ...without(last, 'since'), state: kept, message, claims }
  return { ...found, decision: { ...found.decision, state: kept, annotations: { base, locality }, message } }
}

/** Decisions that would forget the base, and those that keep it until a changed lazy policy applies. */
const KEEPS_BASE = new Map<PlacementDecision['state'], 'Relaxed' | 'Kept'>([
  ['Restored', 'Relaxed'],
  ['Ignored', 'Kept'],
])

const AWAITS_POLICY = 'its lazy policy has changed, and applies with the next change of the workload'

/**
 * A lazy policy that changed waits for a change of its workload, and the base from before it may be outside of it. Such a base counts only if the
 * workload would have no cluster otherwise, and not when the detector applies the policy. Returns undefined if it does not count.
 */
function decideForRecordedBase(parsed: ParsedInput, { affinity }: PlacementDecision): DecisionForBase | undefined {
  const { policy, isScheduled, storedAnnotations } = parsed
  const { base } = storedAnnotations
  if (!policy?.lazy || !base || !isScheduled || appliesLazyPolicy(parsed) || bringsUnknownPlacement(parsed))
    return undefined
  if (!isUnfit(parsed, affinity) && !isRefused(parsed, affinity)) return undefined
  const decision = decidePlacement(parsed, base)
  return isUnfit(parsed, decision.affinity) ? undefined : { base, decision }
}

/** A possible base of a write. It is the base if the decision for it meets the condition. */
interface BaseCandidate {
  base: PlacementAffinity
  /**
   * - answered: the decision gives the incoming affinity, and writes the base into the annotations.
   * - answeredOrByLoop: as `answered`, or Lodestone sent the incoming affinity: the loop of another replica, or an earlier call for this request.
   * - withinPolicy: the decision stays within the policy, or within the incoming affinity.
   * - keepsClusters: the decision allows each cluster in which the workload runs, if the incoming affinity does.
   */
  condition: 'answered' | 'answeredOrByLoop' | 'withinPolicy' | 'keepsClusters'
}

interface BaseCandidates {
  /** At most four. The first whose condition is met is the base. */
  conditional: readonly BaseCandidate[]
  /** The base if no condition is met. */
  otherwise: PlacementAffinity
}

/**
 * Lists the candidates for the base of a write.
 *
 * Karmada's detector sends the policy's placement at every reconcile and keeps annotations. Every other writer sends the stored
 * placement, which Lodestone has narrowed. When a later webhook changes the object, the API server sends the first answer a second time
 * (reinvocation). The inputs of the decision may have changed since. The loop sends its own decision, which may be newer than this replica's
 * caches. Therefore:
 * - A changed affinity is the new base, unless it is the decision for the base in its annotation. So is one that comes with other changes of the
 *   placement. The affinity of a new policy can equal the narrowed one, and this replica may not have the policy yet.
 * - For an unchanged affinity that Lodestone or volcano-global has narrowed, the loop takes the placement of the policy for the base. So each
 *   base is corrected sooner or later. The loop reads the policy from the API server before such a write (`differsFromPolicy`).
 * - Admission takes the base in the annotation, or the policy if it allows less. A replica may have an older policy than the stored affinity.
 *   If it has a newer one, the detector writes that soon. A lazy policy counts only when the detector writes it: with a change of the workload.
 */
export function baseCandidates(input: ParsedInput): BaseCandidates {
  const { binding, stored } = input
  const incoming = effectiveAffinity(binding.spec.placement)
  if (!stored || !jsonEqual(incoming, effectiveAffinity(stored.spec.placement))) return candidatesOfNew(input, incoming)
  // A write that takes the policy from a binding brings no other placement.
  const hasPolicy = policyReferenceOf(binding.metadata) !== undefined
  const isNew = (hasPolicy && changesOtherFields(binding, stored)) || appliesLazyPolicy(input)
  return isNew ? candidatesOfNew(input, incoming) : candidatesOfStored(input, stored)
}

/** The candidates for an affinity that is another than the stored one, or that a policy brings anew. */
function candidatesOfNew(input: ParsedInput, incoming: PlacementAffinity): BaseCandidates {
  const { stored, annotations, storedAnnotations, policy } = input
  const annotated = annotations.base
  if (!annotated || isOfDetector(input)) return { conditional: [], otherwise: incoming }
  const ours: BaseCandidate[] = [{ base: annotated, condition: 'answeredOrByLoop' }]
  // Reinvocation: the recorded base did not count (`keepRecordedBase`).
  if (stored && policy?.lazy && jsonEqual(annotated, storedAnnotations.base))
    ours.push({ base: storedBase(input, stored), condition: 'answered' })
  return { conditional: ours, otherwise: incoming }
}

/** The candidates for an affinity that is the stored one. */
function candidatesOfStored(input: ParsedInput, stored: ResourceBinding): BaseCandidates {
  const otherwise = storedBase(input, stored)
  const annotated = input.annotations.base
  const { base } = input.storedAnnotations
  const ofPolicy = policyInForce(input)
  const conditional: BaseCandidate[] = []
  // Reinvocation: the decision for a new base can equal the stored affinity. This widens nothing, since the affinity is the stored one. The
  // next write uses the base of the policy again.
  if (annotated && !jsonEqual(annotated, base)) conditional.push({ base: annotated, condition: 'answered' })
  // The usual case: there is nothing to choose.
  if (base && ofPolicy && jsonEqual(base, ofPolicy)) return { conditional, otherwise: base }
  const isLoop = !input.leavesMovesToLoop
  const isNarrowed = base !== undefined || excludedClusters(stored.metadata.annotations).size > 0
  if (ofPolicy && isLoop && isNarrowed) return { conditional, otherwise: ofPolicy }
  const mayReplace = base ? ofPolicy && isWithin(input, base, ofPolicy) : isLoop
  if (ofPolicy && mayReplace) conditional.push({ base: ofPolicy, condition: 'answered' })
  if (!base) return { conditional, otherwise }
  conditional.push({ base, condition: 'withinPolicy' })
  if (ofPolicy) conditional.push({ base: ofPolicy, condition: 'keepsClusters' })
  return { conditional, otherwise }
}

/** The stored affinity as a base. Its groups may have the names of a round, which the decision gives them again. */
function storedBase(input: ParsedInput, { spec }: ResourceBinding): PlacementAffinity {
  return withoutRound(effectiveAffinity(spec.placement), groupNameRound(input))
}

/** Whether the detector may have sent a write: its affinity is that of the policy, and the annotations of Lodestone are the stored ones. */
function isOfDetector({ binding, stored, policy, annotations, storedAnnotations }: ParsedInput): boolean {
  const incoming = effectiveAffinity(binding.spec.placement)
  const isKept =
    stored !== undefined &&
    localityText(binding) === localityText(stored) &&
    jsonEqual(annotations.base, storedAnnotations.base)
  return isKept && policy !== undefined && jsonEqual(incoming, effectiveAffinity(policy.placement))
}

/**
 * Whether the detector applies a lazy policy in this write. Its affinity can equal the narrowed one. The detector then changes the reference to the
 * workload, which no other writer does (v1.18.1, pkg/detector/detector.go, ApplyPolicy). Also true for our answer to such a write, which the API server
 * may send again.
 */
function appliesLazyPolicy(input: ParsedInput): boolean {
  const { binding, stored, policy, annotations, storedAnnotations } = input
  if (!policy?.lazy || !stored) return false
  const [sent, before] = [binding, stored].map(({ spec }) => effectiveAffinity(spec.placement))
  if (jsonEqual(sent, before) && jsonEqual(binding.spec.resource, stored.spec.resource)) return false
  const isAnswer = annotations.base !== undefined && !jsonEqual(annotations.base, storedAnnotations.base)
  return isAnswer ? jsonEqual(annotations.base, effectiveAffinity(policy.placement)) : isOfDetector(input)
}

/**
 * Whether a write brings a placement with a change of the workload, as only the detector does. This replica may have an older policy than the
 * detector. No later write would bring the placement again.
 */
function bringsUnknownPlacement({ binding, stored }: ParsedInput): boolean {
  if (!stored || jsonEqual(binding.spec.resource, stored.spec.resource)) return false
  return !jsonEqual(effectiveAffinity(binding.spec.placement), effectiveAffinity(stored.spec.placement))
}

/** The affinity of the policy; undefined for a policy that is unknown, or that applies only when the detector writes it. */
function policyInForce({ policy }: ParsedInput): PlacementAffinity | undefined {
  return policy && !policy.lazy ? effectiveAffinity(policy.placement) : undefined
}

/**
 * Whether the base of a stored binding is not the affinity of its policy. A replica that has an older policy than the binding cannot tell this
 * from a base that is wrong. So the policy must be read from the API server before the loop writes.
 */
export function differsFromPolicy(input: ParsedInput): boolean {
  const ofPolicy = policyInForce(input)
  const base = input.storedAnnotations.base ?? effectiveAffinity(input.stored?.spec.placement)
  return ofPolicy !== undefined && !jsonEqual(base, ofPolicy)
}

/** Whether the decision for a candidate meets its condition. */
function meetsCondition(input: ParsedInput, { base, condition }: BaseCandidate, decision: PlacementDecision): boolean {
  const incoming = effectiveAffinity(input.binding.spec.placement)
  switch (condition) {
    case 'answered':
      return isAnswered(decision, incoming)
    case 'answeredOrByLoop':
      return isAnswered(decision, incoming) || isByLodestone(input, base, decision.affinity)
    case 'withinPolicy':
      return isTrusted(input, decision.affinity, incoming)
    case 'keepsClusters':
      return keepsClusters(input, decision.affinity, incoming)
  }
}

/**
 * Whether a decision gives the incoming affinity. A decision without a base in its annotations did not change the affinity, so it is no
 * explanation of the incoming one.
 */
function isAnswered({ affinity, annotations }: PlacementDecision, incoming: PlacementAffinity): boolean {
  return annotations.base !== undefined && jsonEqual(affinity, incoming)
}

/**
 * Whether Lodestone sent the incoming affinity, which the locality annotation in the same write explains:
 * - the loop of another replica did. That replica may have decided from claims, sources, Clusters and a policy that this replica has not cached
 *   yet. The annotation is new, or the state of a cluster is.
 * - an earlier call for this request did (reinvocation), and an input of the decision has changed since. The loop never creates a binding and never
 *   changes other fields, and the detector sends the stored annotations.
 */
function isByLodestone(input: ParsedInput, annotated: PlacementAffinity, decided: PlacementAffinity): boolean {
  const { binding, stored, policy, annotations, storedAnnotations } = input
  const { locality } = annotations
  if (!locality) return false
  const incoming = effectiveAffinity(binding.spec.placement)
  const isStoredBase = jsonEqual(annotated, storedAnnotations.base)
  const isNew = localityText(binding) !== localityText(stored)
  if (!stored || changesOtherFields(binding, stored)) {
    // Without a known policy, nothing shows that the base is not forged.
    const mayBeAnswer = policy !== undefined && (isNew || !isStoredBase)
    return mayBeAnswer && explains(input, annotated, locality, incoming) && isTrusted(input, annotated, incoming)
  }
  if (!isNew && !(isStoredBase && mayKnowOtherClusters(input, incoming))) return false
  if (!explains(input, annotated, locality, incoming)) return false
  // A lazy policy that has changed does not show whether the base was one of a policy. The affinity of a binding that has no base is its base. Whether a
  // recorded base counts is decided by `storedByLoop`.
  if (policy?.lazy && jsonEqual(annotated, storedAnnotations.base ?? storedBase(input, stored))) return true
  return isTrusted(input, annotated, incoming) || (isStoredBase && isTrusted(input, decided, incoming))
}

/** Whether a write changes the labels, or the placement outside of the affinity, as the detector does for another policy. The loop never does. */
function changesOtherFields(binding: ResourceBinding, stored: ResourceBinding): boolean {
  const affinity = effectiveAffinity(stored.spec.placement)
  const [sent, before] = [binding, stored].map(({ spec }) => withAffinity(spec.placement ?? {}, affinity))
  return !jsonEqual(sent, before) || !jsonEqual(binding.metadata.labels, stored.metadata.labels)
}

/** Whether a locality annotation and its base give an affinity, with the Clusters of this replica or with others. */
function explains(
  input: ParsedInput,
  base: PlacementAffinity,
  locality: LocalityAnnotation,
  affinity: PlacementAffinity,
): boolean {
  const gives = (unnamed: PlacementAffinity) => jsonEqual(nameGroups(unnamed, locality.round ?? 0), affinity)
  if (locality.state === 'Relaxed') return gives(base)
  for (const clusters of [input.clusters, undefined]) {
    const { narrowing } = narrowBase({ ...input, clusters }, base, constraintIn(locality))
    if (narrowing.kind === 'narrowed' && gives(narrowing.affinity)) return true
  }
  const required = new Set(locality.required)
  const terms = affinityTerms(affinity, input.usesOverflow)
  return terms.every(
    ({ clusterNames = [] }) => clusterNames.length > 0 && clusterNames.every((name) => required.has(name)),
  )
}

/**
 * Whether a write with the stored annotations may be from a loop that knows other states of the Clusters. It names a cluster that is new. Or the policy
 * is lazy, and the workload has not changed: then the detector applies no other placement. No later write would bring the base back.
 */
function mayKnowOtherClusters(
  { binding, stored, clusters, policy }: ParsedInput,
  affinity: PlacementAffinity,
): boolean {
  if (policy?.lazy && jsonEqual(binding.spec.resource, stored?.spec.resource)) return true
  const names = affinityTerms(affinity, true).flatMap(({ clusterNames }) => clusterNames ?? [])
  return clusters !== undefined && names.some((name) => clusters(name) === undefined)
}

function localityText(binding: ResourceBinding | undefined): string | undefined {
  return binding?.metadata.annotations?.[LOCALITY_ANNOTATION]
}

/** Whether a result stays within the policy or within the incoming affinity. A forged annotation must not widen a placement. */
function isTrusted(input: ParsedInput, result: PlacementAffinity, incoming: PlacementAffinity): boolean {
  const { policy } = input
  return (
    policy === undefined ||
    isWithin(input, effectiveAffinity(policy.placement), result) ||
    isWithin(input, incoming, result)
  )
}

function keepsClusters(
  { binding, clusters, usesOverflow, rules }: ParsedInput,
  result: PlacementAffinity,
  incoming: PlacementAffinity,
): boolean {
  const excluded = new Set(widenedBy(result, incoming, clusters, usesOverflow, rules))
  return excluded.size === 0 || !targetClusters(binding.spec).some((name) => excluded.has(name))
}

/**
 * Whether a result stays within an affinity, in a world where each cluster that it names may join and match its selectors. A forged base
 * could name one that does not exist yet, or add a selector that matches nothing today. Overflow tiers count when the binding gets replicas.
 */
function isWithin(
  { clusters, usesOverflow, rules }: ParsedInput,
  outer: PlacementAffinity,
  result: PlacementAffinity,
): boolean {
  const lookup = clusters && ((name: string) => clusters(name) ?? JOINING)
  return [...new Set([usesOverflow, true])].every((countsTiers) => {
    const own = new Set(affinityTerms(outer, countsTiers).map((term) => JSON.stringify(term)))
    const others = affinityTerms(result, countsTiers).filter((term) => !own.has(JSON.stringify(term)))
    if (others.length === 0) return true
    const named = others.map(({ clusterNames, ...selectors }, i) => ({
      affinityName: `${i}`,
      ...(clusterNames?.length ? { clusterNames } : selectors),
    }))
    return widenedBy(outer, { clusterAffinities: named }, lookup, countsTiers, rules).length === 0
  })
}

const JOINING: Cluster = { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: {}, spec: {} }
