// Checks the guarantees of README.md after each step, and that no write of Lodestone takes the last cluster from a workload. The rules are
// a second model: they use no decision of src.
import { isDeepStrictEqual } from 'node:util'
import { allowedBy, refusalOf } from './accepts.ts'
import { type AdmissionCall, keyOf, type Write } from './api-server.ts'
import { checkAtRest } from './at-rest.ts'
import {
  affinitiesIn,
  annotatedBaseOf,
  dataOf,
  differenceOf,
  isPlaced,
  isReleased,
  isRequired,
  isSameAffinity,
  nameOf,
  oursIn,
  stateOf,
  viewedPolicyOf,
  viewOf,
  waitsForClaim,
  waitsSince,
  withAffinities,
  withBase,
  withoutOurs,
  workloadOf,
} from './bindings.ts'
import { type Answer, type AppliedClaim, type Claim, claimsOf, locate } from './claims.ts'
import { claimedPolicyOf, POLICY_KINDS } from './detector.ts'
import {
  type ApiObject,
  type Binding,
  type Cluster,
  isDuplicated,
  isWorkload,
  namesOf,
  occupiedBy,
  type Placement,
  type Policy,
} from './karmada.ts'
import { Moves } from './moves.ts'
import { checkNomination, checkNominationsAtRest } from './nominations.ts'
import { checkCheapestFirst } from './prices.ts'
import type { Replica } from './replica.ts'
import { type ScheduleResult, schedule, withFullRoom } from './schedule.ts'
import { common, minus } from './sets.ts'
import { checkStays } from './stays.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

// How long a release waits for a successor of what is missing.
const RELEASE_MS = 30_000

// What the guarantees remember about one binding, from its creation to its deletion.
interface Memory {
  // Whether it had clusters at some time.
  wasScheduled: boolean
  // The scheduler emptied it because of our narrowing, and it has no cluster since.
  isLost: boolean
  // A user changed our annotations since the last rest.
  isRuined: boolean
}

export class Guarantees {
  readonly #world: World
  readonly #memories = new Map<string, Memory>()
  // When a claim, source, grant or policy was last removed, by the workload that it concerns; in ms.
  readonly #removals = new Map<string, number>()
  #removedAll = Number.NEGATIVE_INFINITY
  #crdDeletedAt = Number.NEGATIVE_INFINITY
  // The workloads whose claims were deleted with their CRD, and not by users before.
  #lostClaims = new Set<string>()
  readonly #moves: Moves
  #violation: Violation | undefined

  constructor(world: World) {
    this.#world = world
    this.#moves = new Moves(world)
  }

  // A violation inside of a webhook call would be answered like any error, so it is thrown after the step.
  afterStep(): void {
    if (this.#violation) throw this.#violation
  }

  leaderChanged(): void {
    this.#moves.leaderChanged()
  }

  // A CRD will be deleted, with the objects that are left.
  crdDeleted(kind: string): void {
    this.#crdDeletedAt = this.#world.clock.now()
    if (kind !== 'DataSourceClaim') return
    const claims = this.#world.api.list<Claim>('DataSourceClaim')
    this.#lostClaims = new Set(claims.filter(({ metadata }) => !metadata.deletionTimestamp).map(workloadOf))
  }

  atRest(): void {
    this.afterStep()
    for (const binding of this.#world.api.list<Binding>('ResourceBinding')) {
      const memory = this.memoryOf(binding)
      this.#check(() => checkAtRest(this.#world, binding, memory))
      memory.isRuined = false
    }
    this.#check(() => checkNominationsAtRest(this.#world))
    this.afterStep()
  }

  memoryOf({ metadata }: Binding): Memory {
    const id = metadata.uid ?? keyOf(metadata.namespace, metadata.name)
    const memory = this.#memories.get(id) ?? { wasScheduled: false, isLost: false, isRuined: false }
    this.#memories.set(id, memory)
    return memory
  }

  // Checks the answer of a webhook to a write of a binding.
  reviewed({ writer, before, object }: AdmissionCall, admitted: ApiObject, replica: Replica): void {
    const [stored, sent, after] = [before, object, admitted] as [Binding | undefined, Binding, Binding]
    if (!sent.spec.placement || sent.metadata.deletionTimestamp) return
    this.#check(() => {
      // The leader's own write is checked when it is sent.
      const isByOthers = writer !== 'user' && writer !== 'lodestone'
      if (isByOthers && !(stored && this.memoryOf(stored).isRuined)) checkStays(stored, sent, after, replica)
      this.#checkFields(stored, sent, after, 'admission')
      this.#checkWithin(stored, sent, after, replica)
      // The leader's own write is checked when it is sent, by what the leader knows.
      const isOfOthers = writer !== 'lodestone' || !isSameAffinity(sent, after)
      if (isOfOthers) this.#checkHasCluster(sent, stored, after, replica, writer)
      this.#checkFirstPlacement(stored, after, replica)
      if (writer !== 'user' && !(stored && this.#hasHistory(stored)) && !isPlaced(after)) {
        checkCheapestFirst(after, replica)
      }
      this.#checkNoMoveAtAdmission(writer, stored, sent, after, replica)
      if (writer !== 'user' && isOfOthers) this.#checkRelease(stored, after, replica)
      // Without its clusters, a workload is not scheduled any more, which is another input.
      // Nothing says whether a failure to choose clusters was about the stored placement or about an earlier one.
      const mayBeRefused = hasNoChoice(stored) && [stored, after].some((one) => !one?.spec.clusters?.length)
      if (isPlaced(stored) === isPlaced(after) && !mayBeRefused) this.#checkIdempotent(writer, after, replica)
    })
  }

  written({ writer, before, sent, after }: Write): void {
    const object = after ?? before
    if (!object) return
    this.#check(() => {
      const isNominated = object.kind === 'Workload' && writer === 'lodestone' && after
      if (isNominated) checkNomination(this.#world, before, after)
      else if (object.kind === 'ResourceBinding')
        this.#bindingWritten(writer, before as Binding, sent as Binding, after as Binding)
      else this.#inputWritten(before, after)
    })
  }

  // Checks a result of the scheduler before it is written.
  scheduled(binding: Binding, result: ScheduleResult): void {
    if (result.kind === 'error') return
    this.#check(() => {
      const base = this.#world.placementOf(binding)
      if (!base) return
      const memory = this.memoryOf(binding)
      const isOfPolicy = isDeepStrictEqual(affinitiesIn(base), affinitiesIn(binding.spec.placement ?? {}))
      const clusters = this.#world.scheduler.clusters.values()
      const unnarrowed = isOfPolicy ? result : schedule(withAffinities(binding, base), clusters)
      if (result.kind === 'noFit') {
        const isNarrowed = annotatedBaseOf(binding) !== undefined && !isOfPolicy
        if (binding.spec.clusters?.length && unnarrowed.kind === 'fit' && isNarrowed) memory.isLost = true
        // Then Karmada finds no cluster for the policy either. It does not try again when a cluster offers the kind later, since that is a
        // change of its status (v1.18.1, pkg/scheduler/event_handler.go, updateCluster).
        if (unnarrowed.kind === 'noFit') memory.isLost = false
        return
      }
      if (isOfPolicy) return
      this.#checkPreference(binding, result, unnarrowed, base)
    })
  }

  // A preference never removes copies of a workload that runs, or would run, in several clusters.
  #checkPreference(binding: Binding, result: ScheduleResult, unnarrowed: ScheduleResult, base: Placement): void {
    if (result.kind !== 'fit' || unnarrowed.kind !== 'fit') return
    const claims = claimsOf(binding, this.#world.api)
    if (claims.length === 0 || claims.some(({ required }) => required) || this.memoryOf(binding).isRuined) return
    // Replicas may not have received yet that its claim does not require the data any more, or that it has a claim.
    if (isRequired(binding) || stateOf(binding) === undefined) return
    const own = annotatedBaseOf(binding)
    if (own && isDeepStrictEqual(affinitiesIn(own), affinitiesIn(binding.spec.placement ?? {}))) return
    const present = namesOf(binding.spec.clusters)
    const would = namesOf(unnarrowed.clusters)
    // Where each cluster gets a copy, a workload that starts gets all of them.
    const startsEverywhere = isDuplicated(base) && !base.spreadConstraints?.length
    const copies = startsEverywhere ? would : present.filter((name) => would.includes(name))
    const removed = copies.filter((name) => !namesOf(result.clusters).includes(name))
    if (copies.length > 1 && removed.length > 0) {
      throw new Violation(
        'preference-keeps-copies',
        `${nameOf(binding)}: a preference removes the copies in ${removed}`,
      )
    }
  }

  #bindingWritten(
    writer: string,
    before: Binding | undefined,
    sent: Binding | undefined,
    after: Binding | undefined,
  ): void {
    if (!after) {
      if (before) this.#memories.delete(before.metadata.uid ?? '')
      return
    }
    const memory = this.memoryOf(after)
    if (after.spec.clusters?.length) Object.assign(memory, { wasScheduled: true, isLost: false })
    // The scheduler writes the result for a binding of the same name that was deleted. It then looks like a workload that ran.
    if (after.status?.lastScheduledTime) memory.wasScheduled = true
    const isByUser = writer === 'user'
    if (isByUser && before && !isDeepStrictEqual(oursIn(before), oursIn(after))) memory.isRuined = true
    if (before) this.#moves.written(before, after)
    if (writer !== 'lodestone' || !before || !sent) return
    this.#checkFields(before, before, sent, 'loop')
    const leader = this.#world.leader.replica
    this.#checkHasCluster(sent, before, sent, leader, writer)
    this.#checkRelease(before, sent, leader)
    if (!memory.isRuined) checkStays(before, before, sent, leader)
    this.#moves.check(before, after)
  }

  // Whether a workload had clusters, or a user changed our annotations on it.
  #hasHistory(binding: Binding): boolean {
    const { wasScheduled, isRuined } = this.memoryOf(binding)
    return wasScheduled || isRuined
  }

  // Whether a workload waits since an earlier removal, and Lodestone has not decided on this claim: the wait goes on.
  #isUndecided(claim: Claim): boolean {
    const isOf = ({ spec: { resource } }: Binding) =>
      `${resource.kind} ${keyOf(resource.namespace, resource.name)}` === workloadOf(claim)
    return waitsForClaim(this.#world.api.list<Binding>('ResourceBinding').find(isOf))
  }

  // Remembers when something was removed that concerns workloads.
  #inputWritten(before: ApiObject | undefined, after: ApiObject | undefined): void {
    const now = this.#world.clock.now()
    // The end of an object that was deleted before, and waited for a finalizer, removes nothing more.
    const isRemoved = !before?.metadata.deletionTimestamp && (!after || after.metadata.deletionTimestamp !== undefined)
    const object = before ?? after
    if (object?.kind === 'DataSourceClaim') {
      const claim = before as Claim | undefined
      const isChanged = after !== undefined && !isDeepStrictEqual((after as Claim).spec, claim?.spec)
      if (claim && (isRemoved || isChanged) && !this.#isUndecided(claim)) this.#removals.set(workloadOf(claim), now)
    }
    const isGrant =
      object?.kind === 'Namespace' && !isDeepStrictEqual(before?.metadata.annotations, after?.metadata.annotations)
    if (isGrant || (isRemoved && POLICY_KINDS.includes(object?.kind ?? ''))) this.#removedAll = now
  }

  // A decision on the result changes nothing. A replica that has an older policy takes it for the base of an unchanged affinity.
  #checkIdempotent(writer: string, after: Binding, replica: Replica): void {
    if (this.memoryOf(after).isRuined || writer === 'user') return
    const current = this.#truePolicyOf(after)?.spec.placement
    const readers = writer === 'lodestone' ? [replica, this.#world.leader.replica] : [replica]
    const isCurrent = (one: Replica) => isDeepStrictEqual(viewedPolicyOf(after, one)?.spec.placement, current)
    if (!readers.every(isCurrent)) return
    // The detector has not written the newest policy, or a cluster has just joined. The next write brings the base too.
    if (this.#world.awaitsDetector(after) || readers.some((one) => this.#lacksCluster(one))) return
    const again = replica.review({ writer, before: after, object: after })
    if (isDeepStrictEqual(again, after)) return
    // A replica with an older policy had brought the former base back.
    const corrected = withBase(after, affinitiesIn(current ?? {}))
    if (isDeepStrictEqual(again, corrected) && annotatedBaseOf(after)) return
    throw new Violation('idempotent', `${nameOf(after)}: a second review changes ${differenceOf(after, again)}`)
  }

  #lacksCluster({ clusters }: Replica): boolean {
    return this.#world.api.list<Cluster>('Cluster').some(({ metadata }) => !clusters.has(metadata.name ?? ''))
  }

  // README: admission and the loop change only the affinity, our suspension and our annotations.
  #checkFields(stored: Binding | undefined, sent: Binding, after: Binding, by: string): void {
    const name = nameOf(after)
    if (!isDeepStrictEqual(withoutOurs(sent), withoutOurs(after))) {
      const isRestoredHold = stored?.metadata.annotations?.['lodestone.dev/hold'] && !after.spec.clusters?.length
      if (!isRestoredHold)
        throw new Violation('fields', `${name}: ${by} changes ${differenceOf(withoutOurs(sent), withoutOurs(after))}`)
    }
    const was = sent.spec.suspension?.scheduling === true
    const is = after.spec.suspension?.scheduling === true
    const isScheduled = stored?.spec.clusters?.length && sent.spec.clusters?.length
    if (is && !was && isScheduled && after.spec.clusters?.length) {
      throw new Violation(
        'suspends-scheduled',
        `${name}: ${by} suspends a workload that runs in ${namesOf(after.spec.clusters)}`,
      )
    }
    const hold = (binding: Binding | undefined) => binding?.metadata.annotations?.['lodestone.dev/hold']
    if (was && !is && !hold(stored) && !hold(sent)) {
      throw new Violation('foreign-suspension', `${name}: ${by} removes a suspension of another client`)
    }
    const { clusterAffinities, clusterAffinity } = after.spec.placement ?? {}
    const isEmpty =
      clusterAffinities?.length === 0 || (clusterAffinity?.clusterNames?.length === 0 && !isSameAffinity(sent, after))
    if (isEmpty) throw new Violation('empty-list', `${name}: ${by} writes an empty list into the placement`)
  }

  // README: Lodestone never adds a cluster that the policy does not allow.
  #checkWithin(stored: Binding | undefined, sent: Binding, after: Binding, replica: Replica): void {
    if (isSameAffinity(sent, after)) return
    const clusters = this.#world.api.list<Cluster>('Cluster')
    const allows = (placement: Placement | undefined) =>
      placement ? allowedBy(placement, clusters, isWorkload(after)) : new Set<string>()
    const policies = [viewedPolicyOf(after, replica), this.#truePolicyOf(after)].map((policy) => policy?.spec.placement)
    const known = policies.some((placement) => placement !== undefined)
    const bases = [
      sent.spec.placement,
      stored?.spec.placement,
      ...policies,
      this.#world.placementOf(after),
      ...(known ? [] : [annotatedBaseOf(stored)]),
    ]
    const within = new Set(bases.flatMap((placement) => [...allows(placement)]))
    const added = [...minus(allows(after.spec.placement), within)]
    if (added.length > 0) throw new Violation('within-policy', `${nameOf(after)}: the policy does not allow ${added}`)
  }

  // No write of Lodestone leaves a scheduled workload without a cluster, if its policy allows one that can take it. A replica decides by
  // the Clusters that it has received.
  #checkHasCluster(sent: Binding, stored: Binding | undefined, after: Binding, replica: Replica, writer: string): void {
    if (!isPlaced(stored) || !isPlaced(after) || after.metadata.deletionTimestamp) return
    if (!['Narrowed', 'Kept'].includes(stateOf(after) ?? '')) return
    const viewed = viewedPolicyOf(after, replica)
    const isLazy = viewed?.spec.activationPreference === 'Lazy'
    // The affinity of the policy, as it is.
    if (stored && !isRequired(stored) && isSameAffinity(stored, after)) return
    const base =
      writer === 'detector'
        ? sent.spec.placement
        : ((isLazy ? this.#world.placementOf(after) : viewed?.spec.placement) ?? annotatedBaseOf(stored))
    if (!base) return
    // Lodestone learns from a failure of the scheduler that there is no room.
    const clusters = [...replica.clusters.values()].map(withFullRoom)
    const result = schedule(after, clusters)
    // An error leaves the present clusters.
    if (result.kind === 'fit' || (result.kind === 'error' && after.spec.clusters?.length)) return
    const unnarrowed = schedule(withAffinities(after, base), clusters)
    if (unnarrowed.kind !== 'fit') return
    // The leader reads the policy from the API server before it writes the placement of another one.
    const current = writer === 'lodestone' ? this.#truePolicyOf(after)?.spec.placement : undefined
    if (current && schedule(withAffinities(after, current), clusters).kind !== 'fit') return
    const refused = clusters.flatMap((cluster) => {
      const isAllowed = allowedBy(after.spec.placement ?? {}, [cluster]).size > 0
      return isAllowed ? [`${cluster.metadata.name} (${refusalOf(cluster, after) ?? 'accepted'})`] : []
    })
    const states = [stored, after].map((binding) => stateOf(binding) ?? 'none').join(' to ')
    throw new Violation(
      'has-cluster',
      `${nameOf(after)}: from ${states}, it is narrowed to ${refused.join(', ')}, although it could run in ${namesOf(unnarrowed.clusters)}`,
    )
  }

  // A workload that never ran is scheduled only to its data, or waits.
  #checkFirstPlacement(stored: Binding | undefined, after: Binding, replica: Replica): void {
    if (stored ? this.memoryOf(stored).wasScheduled : false) return
    if (after.spec.clusters?.length || stored?.spec.gracefulEvictionTasks?.length) return
    if (after.spec.suspension?.scheduling === true) return
    if (stored && this.memoryOf(stored).isRuined) return
    const claims = claimsOf(after, viewOf(replica)).filter(({ required }) => required)
    if (claims.length === 0 || claims.some(({ isDeleting }) => isDeleting)) return
    if (isReleased(stored, this.#world.clock.now(), claims)) return
    const answers = claims.map((claim): [typeof claim, Answer] => [claim, locate(claim.claim, viewOf(replica))])
    if (answers.some(([claim, { kind }]) => kind === 'unknown' && !claim.holdsUnresolved)) return
    const unknown = answers.filter(([, { kind }]) => kind === 'unknown')
    const data = dataOf(answers)
    if (unknown.length === 0 && claims.some(({ holdsUnsatisfiable }) => !holdsUnsatisfiable)) {
      const allowed = allowedBy(after.spec.placement ?? {}, this.#world.api.list<Cluster>('Cluster'))
      if (data.size === 0 || common(data, allowed).size === 0 || minus(allowed, data).size > 0) return
    }
    if (unknown.length > 0) {
      throw new Violation(
        'waits-for-data',
        `${nameOf(after)}: it is not on hold although ${unknown[0]?.[0].claim.metadata.name} is unknown`,
      )
    }
    const outside = [...minus(allowedBy(after.spec.placement ?? {}, this.#world.api.list<Cluster>('Cluster')), data)]
    if (outside.length > 0) {
      throw new Violation(
        'first-to-data',
        `${nameOf(after)}: it may be scheduled first to ${outside}, its data is in ${[...data]}`,
      )
    }
  }

  // Admission does not move a running workload: the loop does, at a limited rate.
  #checkNoMoveAtAdmission(
    writer: string,
    stored: Binding | undefined,
    sent: Binding,
    after: Binding,
    replica: Replica,
  ): void {
    if (writer === 'lodestone' || writer === 'user' || !stored || isSameAffinity(stored, after)) return
    const clusters = this.#world.api.list<Cluster>('Cluster')
    const allows = ({ spec }: Binding) => allowedBy(spec.placement ?? {}, clusters)
    const running = namesOf(stored.spec.clusters).filter((name) => occupiedBy(after).includes(name))
    // A workload cannot stay in a cluster that, for this replica, does not exist or is being deleted.
    const known = running.filter((name) => {
      const cluster = replica.clusters.get(name)
      return cluster && !cluster.metadata.deletionTimestamp
    })
    const [was, asked, is] = [allows(stored), allows(sent), allows(after)]
    const moved = known.filter((name) => was.has(name) && asked.has(name) && !is.has(name))
    if (moved.length > 0 && minus(was, asked).size === 0) {
      throw new Violation(
        'moves-by-loop',
        `${nameOf(after)}: admission of a write by ${writer} moves it away from ${moved}`,
      )
    }
  }

  // Absence is not a decision: what disappears may be there again in a moment.
  #checkRelease(stored: Binding | undefined, after: Binding, replica: Replica): void {
    if (!stored?.spec.clusters?.length || !after.spec.clusters?.length || after.metadata.deletionTimestamp) return
    // A relaxed workload follows its policy already.
    if (stateOf(stored) === 'Relaxed') return
    // A preference removes no cluster that it could release.
    if (!isRequired(stored) || after.metadata.annotations?.['lodestone.dev/locality']) return
    if (this.memoryOf(stored).isRuined) return
    const clusters = this.#world.api.list<Cluster>('Cluster')
    const added = [
      ...minus(allowedBy(after.spec.placement ?? {}, clusters), allowedBy(stored.spec.placement ?? {}, clusters)),
    ]
    if (added.length === 0) return
    // For this replica, no cluster of the narrowing is allowed any more, and can take it.
    const clustersOf = [...replica.clusters.values()]
    const allowsIn = ({ spec }: Binding, cluster: Cluster) => allowedBy(spec.placement ?? {}, [cluster]).size > 0
    const mayStay = (cluster: Cluster) =>
      allowsIn(stored, cluster) && allowsIn(after, cluster) && refusalOf(cluster, after) === undefined
    if (!clustersOf.some(mayStay) || schedule(stored, clustersOf).kind !== 'fit') return
    // The claims that are left are known, and require no data that is anywhere.
    const claims = claimsOf(after, viewOf(replica))
    const left = claims.filter(({ isDeleting }) => !isDeleting)
    const isKnown = ({ required, claim }: AppliedClaim) =>
      !required || locate(claim, viewOf(replica)).kind !== 'unknown'
    // A claim that was changed to a preference has ended the requirement before it is deleted.
    const honored = claims.filter(({ isDeleting, required }) => !isDeleting || !required)
    if (honored.length > 0 && honored.every(isKnown)) return
    const now = this.#world.clock.now()
    const { kind, namespace, name } = after.spec.resource
    // A wait that began before something else disappeared may end.
    const waitedMs = now - (waitsSince(stored) ?? now)
    const isCounted = (removedAt: number) => waitsSince(stored) === undefined || now - waitedMs >= removedAt
    const workload = `${kind} ${keyOf(namespace, name)}`
    const gone = this.#goneCrds(left, workload)
    if (gone.length > 0 && isCounted(this.#crdDeletedAt))
      throw new Violation('absence', `${nameOf(after)}: it is released to ${added} although the CRD ${gone} is gone`)
    const removals = [this.#removedAll, this.#crdDeletedAt].filter(isCounted)
    const ofWorkload = this.#removals.get(workload) ?? Number.NEGATIVE_INFINITY
    const sinceMs = now - Math.max(ofWorkload, ...removals)
    // Kubernetes writes whole seconds.
    if (sinceMs < RELEASE_MS - 1000) {
      throw new Violation('release-waits', `${nameOf(after)}: it is released to ${added} ${sinceMs} ms after a removal`)
    }
  }

  // The CRDs that are gone, and without which these claims or their data are unknown.
  #goneCrds(claims: readonly AppliedClaim[], workload: string): string[] {
    const kinds = [
      ...(this.#lostClaims.has(workload) ? ['DataSourceClaim'] : []),
      ...(claims.length > 0 ? ['DataSource'] : []),
    ]
    return kinds.filter((kind) => !this.#world.isCrdServed(kind))
  }

  #truePolicyOf(binding: Binding): Policy | undefined {
    return claimedPolicyOf(binding, this.#world.api)
  }

  #check(run: () => void): void {
    try {
      run()
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      if (!this.#world.config.ignored?.includes(error.guarantee)) this.#violation ??= error
    }
  }
}

// Whether the scheduler could not choose among the clusters that it accepts.
function hasNoChoice(binding: Binding | undefined): boolean {
  return (
    binding?.status?.conditions?.some(({ reason }) => reason === 'Unschedulable' || reason === 'SchedulerError') ??
    false
  )
}
