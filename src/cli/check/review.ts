/** Reviews objects in memory, as an API server would. */
import fastJsonPatch from 'fast-json-patch'
import type { AdmissionRequest } from '../../api/admission.ts'
import {
  clusterPropagationPolicies,
  isBinding,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { apiVersionOf, groupOf, type K8sObject, objectKey, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { encodeResponse } from '../../core/admission/review.ts'
import type { FieldError } from '../../core/field-errors.ts'
import { deriveBinding, selectPolicy } from '../../core/resource-binding/derive.ts'
import { matchesLabels } from '../../core/selectors.ts'
import { isVolumeManager } from '../../core/volume-manager/spec/validate.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import type { GatherContext, Webhook } from '../../webhooks/define.ts'
import { webhooksOf } from '../../webhooks/index.ts'
import { unknownWorkloadWebhook } from '../../webhooks/unknown-workload.ts'
import { CLUSTER_SCOPED } from '../kinds.ts'
import { isOf } from './validate-manifest.ts'

export interface Reviewed {
  /** `Kind namespace/name`. */
  object: string
  /** The template from which the binding was derived, as `Kind namespace/name`. */
  derivedFrom?: string
  operation: 'CREATE' | 'UPDATE'
  /** `unknown` if another given manifest is invalid: with it, the decision may differ. */
  outcome: 'allowed' | 'patched' | 'denied' | 'unknown'
  /** The decision, e.g. Narrowed or OnHold; absent for kinds without one. */
  decision?: string
  reason?: string
  warnings: string[]
  errors: FieldError[]
  before: K8sObject
  after: K8sObject
}

/** The inputs of reviews: the store, and the settings of decisions. */
export interface ReviewContext extends GatherContext {
  store: FolderStore
  workloads: WorkloadKinds
}

/**
 * Reviews the objects and stores the allowed ones. Decisions on workloads depend on their references, those on policies on claims and
 * workloads, those on bindings on all of them. They are made in that order, so the order of the manifests does not matter.
 */
export async function reviewObjects(objects: readonly K8sObject[], context: ReviewContext): Promise<Reviewed[]> {
  const { store, workloads } = context
  const placed = objects.map((object) => inNamespace(object, workloads))
  const reviews = new Map<K8sObject, Reviewed>()
  for (const object of placed.toSorted((a, b) => rankOf(a, workloads) - rankOf(b, workloads))) {
    const review = await reviewOne(object, webhookFor(object, workloads) ?? unknownWorkloadWebhook(workloads), context)
    reviews.set(object, review)
    if (review.outcome !== 'denied' && !isBinding(object.kind)) await put(store, workloads, review.after)
  }
  const results: Reviewed[] = []
  for (const object of placed) {
    const review = reviews.get(object)
    if (!review) continue
    const derived =
      isTemplate(object, workloads) && review.outcome !== 'denied' ? await reviewDerived(object, context) : undefined
    // A workload without a decision is not shown: its binding is.
    const isSilent = review.outcome === 'allowed' && review.warnings.length === 0
    if (!derived || !isSilent) results.push(review)
    if (derived) results.push(derived)
  }
  return results
}

/**
 * Replaces the decision of a review whose context is incomplete, for instance without a policy that is invalid. Errors of the object itself
 * stay.
 */
export function withoutDecision(review: Reviewed): Reviewed {
  if (review.outcome === 'denied') return review
  const { decision: _decision, warnings: _warnings, ...rest } = review
  const reason = 'another given manifest is invalid, so the decision is not known; correct it and check again'
  return { ...rest, outcome: 'unknown', reason, warnings: [], after: review.before }
}

function rankOf(object: K8sObject, workloads: WorkloadKinds): number {
  // Namespaces come first, because they grant permissions to claims.
  if (isOf(namespaces, object)) return -1
  if (webhookFor(object, workloads)?.type !== 'mutating') return 0
  if (isTemplate(object, workloads)) return 1
  return isBinding(object.kind) ? 3 : 2
}

/** Whether policies may select the object: workloads, and kinds that neither Lodestone nor Karmada owns. */
export function isTemplate(object: K8sObject, workloads: WorkloadKinds): boolean {
  return !webhookFor(object, workloads) || workloads.find(object.apiVersion, object.kind) !== undefined
}

/** Reviews the binding of a template, as the detector would create or update it. Undefined for a template without a policy. */
export async function reviewDerived(template: K8sObject, context: ReviewContext): Promise<Reviewed | undefined> {
  const { store, workloads } = context
  const policy = policyFor(template, store)
  if (!policy) return undefined
  const binding = deriveBinding(template, policy)
  const webhook = webhookFor(binding, workloads)
  if (!webhook) return undefined
  const stored = await store.read(
    typeOf(binding, workloads) as ResourceType<ResourceBinding>,
    binding.metadata.namespace,
    binding.metadata.name ?? '',
  )
  const placement = binding.spec.placement ?? {}
  const written = stored ? { ...stored, spec: { ...stored.spec, placement } } : binding
  return { ...(await reviewOne(written, webhook, context)), derivedFrom: titleOf(template) }
}

/** The policy that Karmada would apply to a template. */
function policyFor(template: K8sObject, store: FolderStore): PropagationPolicy | undefined {
  // Whole policies, not the cached fields: a binding inherits fields that no decision reads.
  const all = store.objects().map(({ object }) => object)
  const of = (type: ResourceType<PropagationPolicy>) =>
    all.filter((object) => isOf(type, object)) as PropagationPolicy[]
  return selectPolicy(template, of(propagationPolicies), of(clusterPropagationPolicies))
}

/** Reviews one object. `given` is the object before the change; without it, the stored one is used. */
export async function reviewOne(
  object: K8sObject,
  webhook: Webhook | undefined,
  context: ReviewContext,
  given?: K8sObject,
): Promise<Reviewed> {
  const { store, workloads } = context
  const { namespace, name = '' } = object.metadata
  const stored = given ?? (await store.read(typeOf(object, workloads), namespace, name))
  const base = {
    object: titleOf(object),
    operation: stored ? ('UPDATE' as const) : ('CREATE' as const),
    warnings: [],
    errors: [],
    before: object,
    after: object,
  }
  if (!webhook) return { ...base, outcome: 'allowed' }
  const { group, version, kind, plural } = typeOf(object, workloads)
  const request: AdmissionRequest = {
    uid: 'check',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    ...(object.metadata.namespace && { namespace: object.metadata.namespace }),
    ...(object.metadata.name && { name: object.metadata.name }),
    operation: base.operation,
    object,
    oldObject: stored ?? null,
    dryRun: true,
  }
  const outcome = webhook.review(request, context)
  // The encoded answer, and its patch as the API server applies it.
  const { allowed, patch, warnings = [], auditAnnotations } = encodeResponse(request, outcome, (text) => text)
  const { decision, reason } = auditAnnotations ?? {}
  return {
    ...base,
    outcome: allowed ? (patch ? 'patched' : 'allowed') : 'denied',
    ...(decision && { decision }),
    ...(reason && { reason }),
    warnings,
    errors: outcome.kind === 'deny' ? outcome.errors : [],
    after: patch ? fastJsonPatch.applyPatch(object, JSON.parse(patch), true, false).newDocument : object,
  }
}

/** The webhook of a kind; for a binding, the mutating one. */
export function webhookFor(object: K8sObject, workloads: WorkloadKinds): Webhook | undefined {
  // A version that is no longer served gets an error with the new form.
  const current = isVolumeManager(object) ? { ...object, apiVersion: apiVersionOf(volumeManagers) } : object
  return webhooksOf(workloads).find(
    ({ resources, objectSelector }) =>
      resources.some((type) => isOf(type, current)) && matchesLabels(objectSelector, object.metadata.labels),
  )
}

/** Creates or replaces an object of the store. */
export async function put(
  store: FolderStore,
  workloads: WorkloadKinds,
  object: K8sObject,
  type = typeOf(object, workloads),
): Promise<void> {
  const stored = await store.read(type, object.metadata.namespace, object.metadata.name ?? '')
  if (!stored) return void (await store.create(type, object))
  const { resourceVersion } = stored.metadata
  await store.update(type, { ...object, metadata: { ...object.metadata, ...(resourceVersion && { resourceVersion }) } })
}

/** The object in its namespace: `default` if a namespaced kind has none, as with kubectl. */
export function inNamespace(object: K8sObject, workloads: WorkloadKinds): K8sObject {
  const namespaced = knownType(object, workloads)?.namespaced ?? !CLUSTER_SCOPED.has(object.kind)
  if (!namespaced || object.metadata.namespace) return object
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } }
}

function typeOf(object: K8sObject, workloads: WorkloadKinds): ResourceType {
  const version = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1)
  return (
    knownType(object, workloads) ?? {
      group: groupOf(object.apiVersion),
      version,
      kind: object.kind,
      plural: `${object.kind.toLowerCase()}s`,
      namespaced: object.metadata.namespace !== undefined,
    }
  )
}

function knownType(object: K8sObject, workloads: WorkloadKinds): ResourceType | undefined {
  return webhookFor(object, workloads)?.resources.find((type) => isOf(type, object))
}

function titleOf({ kind, metadata }: K8sObject): string {
  return `${kind} ${objectKey(metadata.namespace, metadata.name ?? `${metadata.generateName ?? ''}*`)}`
}
