/** Reviews one object in memory, as an API server would. */
import fastJsonPatch from 'fast-json-patch'
import type { AdmissionRequest } from '../../api/admission.ts'
import {
  clusterPropagationPolicies,
  type PropagationPolicy,
  propagationPolicies,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { apiVersionOf, groupOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { encodeResponse } from '../../core/admission/review.ts'
import type { FieldError } from '../../core/field-errors.ts'
import { deriveBinding, selectPolicy } from '../../core/resource-binding/derive.ts'
import { matchesLabels } from '../../core/selectors.ts'
import { isVolumeManager } from '../../core/volume-manager/spec/validate.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import { allKinds } from '../../store/kinds/cached-kinds.ts'
import type { GatherContext, Webhook } from '../../webhooks/define.ts'
import { webhooksOf } from '../../webhooks/index.ts'
import { unknownWorkloadWebhook } from '../../webhooks/unknown-workload.ts'
import { typeOfReference } from '../kinds.ts'
import { titleOf } from './place-manifests.ts'
import { isOf } from './validate-manifest.ts'

/** The review of one object. */
export interface ObjectReview {
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
  /** Whether no webhook reviews the kind. */
  isUnknownKind: boolean
}

/** The inputs of reviews: the store, and the settings of decisions. */
export interface ReviewContext extends GatherContext {
  store: FolderStore
  workloads: WorkloadKinds
}

/** The inputs with the table of webhooks, which is built once. */
export interface ReviewSession extends ReviewContext {
  webhooks: readonly Webhook[]
  unknownWorkload: Webhook
  types: readonly ResourceType[]
}

/** Prepares reviews with these inputs. */
export function openSession(context: ReviewContext): ReviewSession {
  const { workloads } = context
  return {
    ...context,
    webhooks: webhooksOf(workloads),
    unknownWorkload: unknownWorkloadWebhook(workloads),
    types: allKinds(workloads).map(({ type }) => type),
  }
}

/** Whether policies may select the object: workloads, and kinds that neither Lodestone nor Karmada owns. */
export function isTemplate(object: K8sObject, session: ReviewSession): boolean {
  return !webhookFor(object, session) || session.workloads.find(object.apiVersion, object.kind) !== undefined
}

export interface Policies {
  namespaced: PropagationPolicy[]
  clusterScoped: PropagationPolicy[]
}

/** Whole policies, not the cached fields: a binding inherits fields that no decision reads. */
export function policiesOf(store: FolderStore): Policies {
  const all = store.objects().map(({ object }) => object)
  const of = (type: ResourceType<PropagationPolicy>) =>
    all.filter((object) => isOf(type, object)) as PropagationPolicy[]
  return { namespaced: of(propagationPolicies), clusterScoped: of(clusterPropagationPolicies) }
}

/** Reviews the binding of a template, as the detector would create or update it. Undefined for a template without a policy. */
export async function reviewDerived(
  template: K8sObject,
  { namespaced, clusterScoped }: Policies,
  session: ReviewSession,
): Promise<ObjectReview | undefined> {
  const policy = selectPolicy(template, namespaced, clusterScoped)
  if (!policy) return undefined
  const binding = deriveBinding(template, policy)
  const stored = await session.store.read(
    typeOf(binding, session) as ResourceType<ResourceBinding>,
    binding.metadata.namespace,
    binding.metadata.name ?? '',
  )
  const placement = binding.spec.placement ?? {}
  const written = stored ? { ...stored, spec: { ...stored.spec, placement } } : binding
  return { ...(await reviewObject(written, session)), derivedFrom: titleOf(template) }
}

/** Reviews one object. `given` is the object before the change; without it, the stored one is used. */
export async function reviewObject(
  object: K8sObject,
  session: ReviewSession,
  given?: K8sObject,
): Promise<ObjectReview> {
  const webhook = webhookFor(object, session)
  const type = typeOf(object, session)
  const { namespace, name = '' } = object.metadata
  const stored = given ?? (await session.store.read(type, namespace, name))
  const operation = stored ? ('UPDATE' as const) : ('CREATE' as const)
  const { group, version, kind, plural } = type
  const request: AdmissionRequest = {
    uid: 'check',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    ...(object.metadata.namespace && { namespace: object.metadata.namespace }),
    ...(object.metadata.name && { name: object.metadata.name }),
    operation,
    object,
    oldObject: stored ?? null,
    dryRun: true,
  }
  const outcome = (webhook ?? session.unknownWorkload).review(request, session)
  // The encoded answer, and its patch as the API server applies it.
  const { allowed, patch, warnings = [], auditAnnotations } = encodeResponse(request, outcome, (text) => text)
  const { decision, reason } = auditAnnotations ?? {}
  return {
    object: titleOf(object),
    operation,
    outcome: allowed ? (patch ? 'patched' : 'allowed') : 'denied',
    ...(decision && { decision }),
    ...(reason && { reason }),
    warnings,
    errors: outcome.kind === 'deny' ? outcome.errors : [],
    before: object,
    after: patch ? fastJsonPatch.applyPatch(object, JSON.parse(patch), true, false).newDocument : object,
    isUnknownKind: webhook === undefined,
  }
}

/** The webhook of a kind; for a binding, the mutating one. */
export function webhookFor(object: K8sObject, { webhooks }: ReviewSession): Webhook | undefined {
  // A version that is no longer served gets an error with the new form.
  const current = isVolumeManager(object) ? { ...object, apiVersion: apiVersionOf(volumeManagers) } : object
  return webhooks.find(
    ({ resources, objectSelector }) =>
      resources.some((type) => isOf(type, current)) && matchesLabels(objectSelector, object.metadata.labels),
  )
}

export async function put(session: ReviewSession, object: K8sObject): Promise<void> {
  const { store } = session
  const type = typeOf(object, session)
  const { name = '', namespace } = object.metadata
  const stored = await store.read(type, namespace, name)
  if (!stored) return void (await store.create(type, object))
  const { resourceVersion } = stored.metadata
  await store.update(type, { ...object, metadata: { ...object.metadata, ...(resourceVersion && { resourceVersion }) } })
}

function typeOf(object: K8sObject, { webhooks, types }: ReviewSession): ResourceType {
  const group = groupOf(object.apiVersion)
  const known =
    webhooks.flatMap(({ resources }) => resources).find((type) => isOf(type, object)) ??
    types.find((type) => type.kind === object.kind && type.group === group)
  return known ?? { ...typeOfReference(object), namespaced: object.metadata.namespace !== undefined }
}
