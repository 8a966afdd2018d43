/** Gathers, for a Workload of Kueue, the decisions on its jobs and the state of its volumes, and finds the Workloads that a change concerns. */

import { dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims, type WorkloadReference } from '../api/data-source-claim.ts'
import { isBinding, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import {
  type AdmissionCheck,
  admissionChecks,
  type KueueWorkload,
  kueueWorkloads,
  MULTIKUEUE_CONTROLLER,
  VARIANTS_LABEL,
} from '../api/kueue.ts'
import { HOLD_ANNOTATION } from '../api/lodestone.ts'
import {
  apiVersionOf,
  groupOf,
  type K8sObject,
  keyOfObject,
  objectKey,
  type ResourceType,
  referenceOf,
  splitObjectKey,
} from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { defined, jsonEqual, sortedUnique } from '../base/json.ts'
import { earliest } from '../base/time/earliest.ts'
import { workloadKey, workloadKeysOfClaim } from '../core/data-source-claim/keys.ts'
import { dependencyKey } from '../core/dependencies/keys.ts'
import type { Workload } from '../core/dependencies/workload.ts'
import { type CheckInput, openChecks } from '../core/kueue/decide-check.ts'
import { isDataCheck } from '../core/kueue/plan-admission-check.ts'
import { jobsOf, lacksJob, managersIn, reservedSince, volumeAnnotationsOf } from '../core/kueue/workload-state.ts'
import type { HoldAnnotation } from '../core/resource-binding/annotations.ts'
import { type BindingDecision, decideBinding } from '../core/resource-binding/decide.ts'
import { bindingName, deriveBinding } from '../core/resource-binding/derive.ts'
import type { BindingInput } from '../core/resource-binding/input.ts'
import { requeueAfter } from '../core/resource-binding/plan.ts'
import { volumesState } from '../core/workload/gate/volumes-state.ts'
import { isCached } from '../store/any-kind.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { type BindingContext, gatherBindingInput } from './binding.ts'
import { workloadTypeOf } from './dependents.ts'
import { claimsRegranted } from './permission.ts'
import { matchedPolicy } from './policy.ts'
import { claimsConcerned } from './source.ts'
import { isHub, volumeManagersOf } from './volumes.ts'
import { bindingsOfWorkload } from './workload.ts'

/** The input of the decision on a Workload, and the ms until it changes by time alone. */
export interface GatheredCheck {
  input: CheckInput
  requeueAfterMs?: number
}

/** Gathers the input of the decision on a Workload. The decisions on its jobs are those of admission on their bindings. */
export function gatherCheckInput(workload: KueueWorkload, context: BindingContext): GatheredCheck {
  const { store } = context
  const inHub = isHub(store)
  const jobs = inHub ? jobsOwning(workload, store) : jobsAround(workload, store)
  const isRemote = runsInWorker(workload, store)
  const inputs = jobs.flatMap((job) => placementInputs(job, workload, inHub && !isRemote, context))
  const decided = inputs.map((input): { decision: BindingDecision; requeueAfterMs: number | undefined } => {
    const decision = decideBinding(input)
    return { decision, requeueAfterMs: requeueAfter(decision.binding, input) }
  })
  const managers = volumeManagersOf(store, workload.metadata.namespace)
  return defined({
    input: {
      unknown: whyDataUnknown(store) ?? (inHub ? whyPolicyUnknown : whyJobUnknown)(workload, store),
      lacksJob: lacksJob(workload),
      placements: decided.map(({ decision }) => decision),
      volumes:
        inHub || isRemote
          ? []
          : volumeRequestsOf(workload, store).map((annotation) => volumesState(annotation, managers)),
    },
    requeueAfterMs: earliest(...decided.map((one) => one.requeueAfterMs)),
  })
}

/** Whether MultiKueue runs the Workload in a worker cluster, which has its VolumeManagers. */
function runsInWorker({ status }: KueueWorkload, store: ObjectStore): boolean {
  return (status?.admissionChecks ?? []).some(({ name }) => isOfMultiKueue(name, store))
}

/** Whether an AdmissionCheck with this name is one of MultiKueue. */
export function isOfMultiKueue(check: string, store: ObjectStore): boolean {
  return store.get(admissionChecks, undefined, check)?.spec.controllerName === MULTIKUEUE_CONTROLLER
}

/** Returns why a claim, a source or a VolumeManager may exist that is not cached; undefined if all are cached. */
export function whyDataUnknown(store: ObjectStore): string | undefined {
  const kinds = [dataSourceClaims.kind, dataSources.kind, volumeManagers.kind]
  return store.unavailable().find(({ type }) => kinds.includes(type.kind))?.message
}

/**
 * Returns why a claim or a volume for a Workload may be unknown; undefined if all are known. Only the cached job names its controller, and has
 * the annotations of its pods.
 */
export function whyJobUnknown(workload: KueueWorkload, store: ObjectStore): string | undefined {
  const owners = jobsOwning(workload, store)
  const reason = whyNotCached(owners, (job) => isKnown(job, store))
  if (reason !== undefined) return reason
  const own = new Set(owners.map(workloadKey))
  const controller = jobsAround(workload, store).find((job) => !own.has(workloadKey(job)) && !isKnown(job, store))
  return controller && `a controller of its job, ${controller.kind} ${controller.name}, is not cached yet`
}

/** On a hub, the binding of a job has its placement. Without a binding, the labels of the cached job choose its policy. */
function whyPolicyUnknown(workload: KueueWorkload, store: ObjectStore): string | undefined {
  return whyNotCached(
    jobsOwning(workload, store),
    (job) => bindingsOfWorkload(job, store).length > 0 || isKnown(job, store),
  )
}

/** One known owner is enough: a group of pods keeps those that were replaced as owners. */
function whyNotCached(
  owners: readonly WorkloadReference[],
  isFound: (job: WorkloadReference) => boolean,
): string | undefined {
  const [first] = owners
  return first && !owners.some(isFound) ? `its job, ${first.kind} ${first.name}, is not cached yet` : undefined
}

/** Whether a job is cached, or is of a kind that is not. A Workload that owns another one is no job: its own owner is not known yet. */
function isKnown(job: WorkloadReference, store: ObjectStore): boolean {
  if (isKueueWorkload(job)) return false
  const type = workloadTypeOf(job, store)
  return !type || !store.serves(type) || store.get(type, job.namespace, job.name) !== undefined
}

/** Returns the jobs of a Workload. A variant has those of the Workload that owns it; until these are known, that Workload itself. */
function jobsOwning(workload: KueueWorkload, store: ObjectStore): WorkloadReference[] {
  return jobsOf(workload).flatMap((owner) => {
    const parent = isKueueWorkload(owner) ? store.get(kueueWorkloads, owner.namespace, owner.name) : undefined
    const jobs = parent ? jobsOf(parent) : []
    return jobs.length > 0 ? jobs : [owner]
  })
}

/** Whether an owner is a Workload of Kueue. A configured kind of another group may be called Workload too. */
function isKueueWorkload({ apiVersion, kind }: WorkloadReference): boolean {
  return kind === kueueWorkloads.kind && groupOf(apiVersion) === kueueWorkloads.group
}

/**
 * Returns the jobs of a Workload, and the controllers that created them: the Deployment of a pod, the CronJob of a Job. A claim may name any
 * of them.
 */
export function jobsAround(workload: KueueWorkload, store: ObjectStore): WorkloadReference[] {
  const found = new Map<string, WorkloadReference>()
  const queue = jobsOwning(workload, store)
  for (const job of queue) {
    const key = workloadKey(job)
    if (found.has(key)) continue
    found.set(key, job)
    const controller = cachedJob(job, store)?.controller
    if (controller) queue.push(defined({ ...controller, namespace: job.namespace }))
  }
  return [...found.values()]
}

/** Returns the annotations that request volumes for the pods of a Workload: those of its pod templates and of its jobs. */
function volumeRequestsOf(workload: KueueWorkload, store: ObjectStore): string[] {
  const ofJobs = jobsOwning(workload, store).flatMap((job) => cachedJob(job, store)?.volumeRequests ?? [])
  return sortedUnique([...volumeAnnotationsOf(workload), ...ofJobs])
}

/** The annotations of the Workloads whose check waits for the volumes of a VolumeManager; none while checks are not answered. */
export function requestsOfWaiting(manager: K8sObject, store: ObjectStore): string[] {
  if (!isCached(kueueWorkloads, store)) return []
  const { namespace } = manager.metadata
  const keys = new Set([...ofVolumeManager(manager, store)].filter((key) => key !== undefined))
  return [...keys].flatMap((key) => {
    const workload = store.get(kueueWorkloads, namespace, splitObjectKey(key).name)
    return workload && waitsForData(workload, store) ? volumeRequestsOf(workload, store) : []
  })
}

/** The VolumeManagers that a Workload requests whose check waits, as `namespace/name`. */
export function managersAwaitedBy(workload: KueueWorkload, store: ObjectStore): string[] {
  if (!waitsForData(workload, store)) return []
  const { namespace } = workload.metadata
  return managersIn(volumeRequestsOf(workload, store)).map((name) => objectKey(namespace, name))
}

/** Whether a check of Lodestone keeps the Workload from its pods. In a manager of MultiKueue, its volumes are those of a worker. */
function waitsForData(workload: KueueWorkload, store: ObjectStore): boolean {
  const open = openChecks(workload, (check) => dataCheckNamed(check, store) !== undefined)
  return open.some(({ state }) => state === 'Pending') && !runsInWorker(workload, store)
}

function cachedJob(job: WorkloadReference, store: ObjectStore): Workload | undefined {
  const type = workloadTypeOf(job, store)
  return type && store.get(type, job.namespace, job.name)
}

/** Whether an AdmissionCheck with this name is one that Lodestone answers. */
export function dataCheckNamed(name: string, store: ObjectStore): AdmissionCheck | undefined {
  const check = store.get(admissionChecks, undefined, name)
  return check && isDataCheck(check) ? check : undefined
}

/**
 * Yields the keys of the Workloads whose decision a change concerns, and undefined for each job that was looked at. The manager takes both in
 * slices, since a job may have thousands of pods.
 */
export function* workloadsConcerned(change: StoreChange, store: ObjectStore): Generator<string | undefined> {
  const { type, before, after } = change
  const objects = [before, after].filter((object) => object !== undefined)
  // Also of a deleted one, which a loop with a memory forgets. A configured kind of another group may be called Workload too.
  if (type.kind === kueueWorkloads.kind && type.group === kueueWorkloads.group) {
    for (const workload of objects.slice(-1)) yield* withVariants(workload, store)
    return
  }
  switch (type.kind) {
    case admissionChecks.kind:
      yield* objects.flatMap(({ metadata }) => workloadsWithCheck(metadata.name ?? '', store))
      return
    case dataSourceClaims.kind:
      yield* ofClaims(objects as DataSourceClaim[], store)
      return
    case dataSources.kind:
      yield* ofClaims(claimsConcerned(change, store), store)
      return
    case volumeManagers.kind:
      for (const manager of objects.slice(-1)) yield* ofVolumeManager(manager, store)
      return
    default:
      if (isBinding(type.kind)) {
        for (const binding of objects) yield* ofJob((binding as ResourceBinding).spec.resource, store)
        return
      }
      if (objects.some((object) => workloadTypeOf(object, store))) yield* ofChangedJob(objects as Workload[], store)
      yield* ofClaims(claimsRegranted(change, store), store)
  }
}

/** Returns the keys of the Workloads that have a check. */
export function workloadsWithCheck(check: string, store: ObjectStore): string[] {
  return withIndex('check', check, store)
}

/** The Workloads of the jobs that claims name, and of the jobs that these control: a claim may name the Deployment of a pod. */
function* ofClaims(claims: Iterable<DataSourceClaim>, store: ObjectStore): Generator<string | undefined> {
  const known = new Set<string>()
  for (const claim of claims) for (const key of workloadKeysOfClaim(claim)) yield* ofJobsBelow(key, known, store)
}

/** The Workloads of a job. Those of the jobs that it controls follow only if it is new or gone, or has another controller: they read no more. */
function* ofChangedJob(versions: readonly Workload[], store: ObjectStore): Generator<string | undefined> {
  const [first, second] = versions
  if (!first) return
  const isRelated = !second || !jsonEqual(first.controller, second.controller)
  yield* isRelated ? ofJobsBelow(workloadKey(referenceOf(first)), new Set(), store) : ofJob(referenceOf(first), store)
}

/** The Workloads of the jobs that mount the volumes of a VolumeManager. */
function* ofVolumeManager(manager: K8sObject, store: ObjectStore): Generator<string | undefined> {
  yield* withIndex('volumeManager', keyOfObject(manager), store)
  for (const type of store.typesWithIndex('references'))
    for (const job of store.byIndex(type, 'references', dependencyKey(manager))) yield* ofJob(referenceOf(job), store)
}

function* ofJob(job: WorkloadReference, store: ObjectStore): Generator<string | undefined> {
  yield* ofJobKey(workloadKey(job), store)
  yield undefined
}

function* ofJobKey(key: string, store: ObjectStore): Generator<string> {
  for (const workload of store.byIndex(kueueWorkloads, 'job', key)) yield* withVariants(workload, store)
}

function* withVariants(workload: K8sObject, store: ObjectStore): Generator<string> {
  yield keyOfObject(workload)
  const hasVariants = workload.metadata.labels?.[VARIANTS_LABEL] !== undefined
  if (hasVariants) yield* withIndex('job', workloadKey(referenceOf(workload)), store)
}

/** @param known the keys of jobs that need no second look; those of this look are added */
function* ofJobsBelow(key: string, known: Set<string>, store: ObjectStore): Generator<string | undefined> {
  if (known.has(key)) return
  const types = store.typesWithIndex('controller') as readonly ResourceType<Workload>[]
  const found = new Set([key])
  // The iteration goes on with the keys that are added.
  for (const each of found) {
    known.add(each)
    yield* ofJobKey(each, store)
    yield undefined
    for (const type of types)
      for (const job of store.byIndex(type, 'controller', each)) {
        const below = workloadKey(referenceOf(job))
        if (!known.has(below)) found.add(below)
      }
  }
}

function withIndex(index: string, key: string, store: ObjectStore): string[] {
  return store.byIndex(kueueWorkloads, index, key).map(keyOfObject)
}

/**
 * The input for each binding of a job; for a job without one, that for the binding that it would have.
 *
 * @param locatesVolumes whether its VolumeManagers count as claims, as on a hub. Elsewhere, pods mount the volumes: they have to be on nodes.
 */
function placementInputs(
  job: WorkloadReference,
  workload: KueueWorkload,
  locatesVolumes: boolean,
  { store, ...present }: BindingContext,
): BindingInput[] {
  const options = locatesVolumes ? {} : { volumes: [] }
  const gather = (binding: ResourceBinding) => gatherBindingInput(binding, binding, { store, ...present }, options)
  const bindings = bindingsOfWorkload(job, store)
  if (bindings.length > 0) return bindings.map(gather)
  const input = gather(deriveJobBinding(job, store))
  return [input.claims.length > 0 ? withHold(input, reservedSince(workload)) : input]
}

/** The binding of a job that Karmada has not created yet, or never creates, as in a hub of MultiKueue. */
function deriveJobBinding(job: WorkloadReference, store: ObjectStore): ResourceBinding {
  const template = jobTemplate(job, store)
  const policy = matchedPolicy(template, store)
  return policy ? deriveBinding(template, policy) : bareBinding(job)
}

/** A stored binding remembers when its hold began, for `holdTimeoutSeconds`. Without one, the reservation of quota is that memory. */
export function withHold(input: BindingInput, since: string | undefined): BindingInput {
  if (since === undefined) return input
  const { metadata } = input.binding
  const hold: HoldAnnotation = { message: '', reason: 'Unresolved', since }
  const annotations = { ...metadata.annotations, [HOLD_ANNOTATION]: JSON.stringify(hold) }
  const binding = { ...input.binding, metadata: { ...metadata, annotations } }
  return { ...input, binding, stored: binding }
}

/** The cached job with its labels, by which policies select; its name alone if its kind is not cached. */
function jobTemplate({ apiVersion, kind, namespace, name }: WorkloadReference, store: ObjectStore): K8sObject {
  const type = workloadTypeOf({ apiVersion, kind }, store)
  const labels = type && store.get(type, namespace, name)?.metadata.labels
  return { apiVersion, kind, metadata: defined({ namespace, name, labels }) }
}

/** A binding whose policy allows every cluster. */
export function bareBinding(job: WorkloadReference): ResourceBinding {
  return {
    apiVersion: apiVersionOf(resourceBindings),
    kind: resourceBindings.kind,
    metadata: defined({ namespace: job.namespace, name: bindingName(job.kind, job.name) }),
    spec: { resource: job, placement: {} },
  }
}
