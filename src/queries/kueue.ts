/** Gathers, for a Workload of Kueue, the decisions on its jobs and the state of its volumes, and finds the Workloads that a change concerns. */
import { dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims, type WorkloadReference } from '../api/data-source-claim.ts'
import { isBinding, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { type AdmissionCheck, admissionChecks, type KueueWorkload, kueueWorkloads } from '../api/kueue.ts'
import { HOLD_ANNOTATION } from '../api/lodestone.ts'
import { apiVersionOf, type K8sObject, keyOfObject, objectKey } from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { defined } from '../base/json.ts'
import type { Present } from '../base/time/clock-jumps.ts'
import { workloadKey, workloadKeysOfClaim } from '../core/data-source-claim/keys.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import type { CheckInput } from '../core/kueue/decide-check.ts'
import { isDataCheck } from '../core/kueue/plan-admission-check.ts'
import { jobsOf, lacksJob, reservedSince, volumeAnnotationsOf } from '../core/kueue/workload-state.ts'
import type { HoldAnnotation } from '../core/resource-binding/annotations.ts'
import { type BindingDecision, decideBinding } from '../core/resource-binding/decide.ts'
import { bindingName, deriveBinding, selectPolicy } from '../core/resource-binding/derive.ts'
import type { BindingInput } from '../core/resource-binding/input.ts'
import { requeueAfter } from '../core/resource-binding/plan.ts'
import type { PlacementTiming } from '../core/resource-binding/timing.ts'
import { volumesState } from '../core/workload/gate/volumes-state.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { gatherBindingInput } from './binding.ts'
import { workloadTypeOf } from './dependents.ts'
import { type ClusterScope, claimsRegranted } from './permission.ts'
import { policiesAround } from './policy.ts'
import { claimsConcerned } from './source.ts'
import { isHub, volumeManagersOf } from './volumes.ts'
import { bindingsOfWorkload } from './workload.ts'

export interface KueueContext extends Present {
  store: ObjectStore
  clusterScopedClaims?: ClusterScope
  timing?: PlacementTiming | undefined
  kinds?: WorkloadKinds | undefined
  karmadaRules?: KarmadaRules | undefined
}

/** The input of the decision on a Workload, and the ms until it changes by time alone. */
export interface GatheredCheck {
  input: CheckInput
  requeueAfterMs?: number
}

/** Gathers the input of the decision on a Workload. The decisions on its jobs are those of admission on their bindings. */
export function gatherCheckInput(workload: KueueWorkload, context: KueueContext): GatheredCheck {
  const { store } = context
  const inHub = isHub(store)
  const inputs = jobsOf(workload).flatMap((job) => placementInputs(job, workload, inHub, context))
  const decided = inputs.map((input): { decision: BindingDecision; requeueAfterMs: number | undefined } => {
    const decision = decideBinding(input)
    return { decision, requeueAfterMs: requeueAfter(decision.binding, input) }
  })
  const times = decided.flatMap(({ requeueAfterMs }) => requeueAfterMs ?? [])
  const managers = volumeManagersOf(store, workload.metadata.namespace)
  return defined({
    input: {
      unknown: whyDataUnknown(store),
      lacksJob: lacksJob(workload),
      placements: decided.map(({ decision }) => decision),
      volumes: inHub ? [] : volumeAnnotationsOf(workload).map((annotation) => volumesState(annotation, managers)),
    },
    requeueAfterMs: times.length > 0 ? Math.min(...times) : undefined,
  })
}

/** Returns why a claim, a source or a VolumeManager may exist that is not cached; undefined if all are cached. */
export function whyDataUnknown(store: ObjectStore): string | undefined {
  const kinds = [dataSourceClaims.kind, dataSources.kind, volumeManagers.kind]
  return store.unavailable().find(({ type }) => kinds.includes(type.kind))?.message
}

/** Whether an AdmissionCheck with this name is one that Lodestone answers. */
export function dataCheckNamed(name: string, store: ObjectStore): AdmissionCheck | undefined {
  const check = store.get(admissionChecks, undefined, name)
  return check && isDataCheck(check) ? check : undefined
}

/** Returns the keys of the Workloads whose decision a change concerns. */
export function workloadsConcerned(change: StoreChange, store: ObjectStore): string[] {
  const { type, before, after } = change
  const objects = [before, after].filter((object) => object !== undefined)
  switch (type.kind) {
    case kueueWorkloads.kind:
      return type.group === kueueWorkloads.group && after ? [keyOfObject(after)] : []
    case admissionChecks.kind:
      return objects.flatMap(({ metadata }) => workloadsWithCheck(metadata.name ?? '', store))
    case dataSourceClaims.kind:
      return objects.flatMap((claim) => ofClaim(claim as DataSourceClaim, store))
    case dataSources.kind:
      return [...claimsConcerned(change, store)].flatMap((one) => ofClaim(one, store))
    case volumeManagers.kind:
      return objects.flatMap(({ metadata }) =>
        withIndex('volumeManager', objectKey(metadata.namespace, metadata.name ?? ''), store),
      )
    default:
      return isBinding(type.kind)
        ? objects.flatMap((binding) => withIndex('job', workloadKey((binding as ResourceBinding).spec.resource), store))
        : claimsRegranted(change, store).flatMap((claim) => ofClaim(claim, store))
  }
}

/** Returns the keys of the Workloads that have a check. */
export function workloadsWithCheck(check: string, store: ObjectStore): string[] {
  return withIndex('check', check, store)
}

function ofClaim(claim: DataSourceClaim, store: ObjectStore): string[] {
  return workloadKeysOfClaim(claim).flatMap((key) => withIndex('job', key, store))
}

function withIndex(index: string, key: string, store: ObjectStore): string[] {
  return store.byIndex(kueueWorkloads, index, key).map(keyOfObject)
}

/** The input for each binding of a job; for a job without one, that for the binding that it would have. */
function placementInputs(
  job: WorkloadReference,
  workload: KueueWorkload,
  inHub: boolean,
  { store, ...present }: KueueContext,
): BindingInput[] {
  // Outside of a hub, pods mount the volumes: they have to be on nodes, not in a cluster of a binding.
  const options = inHub ? {} : { volumes: [] }
  const gather = (binding: ResourceBinding) => gatherBindingInput(binding, binding, { store, ...present }, options)
  const bindings = bindingsOfWorkload(job, store)
  if (bindings.length > 0) return bindings.map(gather)
  const input = gather(deriveJobBinding(job, store))
  return [input.claims.length > 0 ? withHold(input, reservedSince(workload)) : input]
}

/** The binding of a job that Karmada has not created yet, or never creates, as in a hub of MultiKueue. */
function deriveJobBinding(job: WorkloadReference, store: ObjectStore): ResourceBinding {
  const template = jobTemplate(job, store)
  const policies = policiesAround(job, store)
  const policy = selectPolicy(
    template,
    policies.filter(({ metadata }) => metadata.namespace),
    policies.filter(({ metadata }) => !metadata.namespace),
  )
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
