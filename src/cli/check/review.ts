/** Reviews objects as the API server would have them reviewed, in memory: for people who ask before they apply. */
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
import { interpretedKind } from '../../core/dependencies/kinds.ts'
import type { FieldError } from '../../core/field-errors.ts'
import { deriveBinding, selectPolicy } from '../../core/resource-binding/derive.ts'
import { isVolumeManager } from '../../core/volume-manager/spec/validate.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import type { GatherContext, Webhook } from '../../webhooks/define.ts'
import { webhooks } from '../../webhooks/index.ts'
import { isOf } from './validate-manifest.ts'

export interface Reviewed {
  /** `Kind namespace/name`. */
  object: string
  /** The template from which the binding was derived, as `Kind namespace/name`. */
  derivedFrom?: string
  operation: 'CREATE' | 'UPDATE'
  outcome: 'allowed' | 'patched' | 'denied'
  /** What was decided, e.g. Narrowed or Held; absent where there is nothing to decide. */
  decision?: string
  reason?: string
  warnings: string[]
  errors: FieldError[]
  before: K8sObject
  after: K8sObject
}

/** Kinds without a namespace that a policy may select; everything else without one is in `default`, as kubectl has it. */
const CLUSTER_SCOPED = new Set([
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'Namespace',
  'PersistentVolume',
  'PriorityClass',
  'RuntimeClass',
  'StorageClass',
])

/** What decides besides the store that holds what is there already: it gets what is allowed. */
export interface ReviewContext extends GatherContext {
  store: FolderStore
}

/**
 * Reviews the objects and leaves in the store what would be stored. Workloads are decided by what they name, policies by claims and
 * workloads, bindings by all of them: they come in that order, so that the order of the manifests does not matter.
 */
export async function reviewObjects(objects: readonly K8sObject[], context: ReviewContext): Promise<Reviewed[]> {
  const placed = objects.map(inNamespace)
  const reviews = new Map<K8sObject, Reviewed>()
  for (const object of placed.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const review = await reviewOne(object, webhookFor(object), context)
    reviews.set(object, review)
    if (review.outcome !== 'denied' && !isBinding(object.kind)) await put(context.store, review.after)
  }
  const results: Reviewed[] = []
  for (const object of placed) {
    const review = reviews.get(object)
    if (!review) continue
    const derived = isTemplate(object) && review.outcome !== 'denied' ? await reviewDerived(object, context) : undefined
    // Nothing was said about it, and the binding is what people ask for.
    const isSilent = review.outcome === 'allowed' && review.warnings.length === 0
    if (!derived || !isSilent) results.push(review)
    if (derived) results.push(derived)
  }
  return results
}

function rankOf(object: K8sObject): number {
  // Which claims are permitted follows from it.
  if (isOf(namespaces, object)) return -1
  if (webhookFor(object)?.type !== 'mutating') return 0
  if (isTemplate(object)) return 1
  return isBinding(object.kind) ? 3 : 2
}

/** Whether policies select it: what has pods, and whatever else is nobody's of us. */
function isTemplate(object: K8sObject): boolean {
  return !webhookFor(object) || interpretedKind(object.apiVersion, object.kind) !== undefined
}

/** The binding of a template: as the detector would make it, or write it again where there is one. */
async function reviewDerived(template: K8sObject, context: ReviewContext): Promise<Reviewed | undefined> {
  const { store } = context
  const policy = policyFor(template, store)
  if (!policy) return undefined
  const binding = deriveBinding(template, policy)
  const webhook = webhookFor(binding)
  if (!webhook) return undefined
  const stored = await store.read(
    typeOf(binding) as ResourceType<ResourceBinding>,
    binding.metadata.namespace,
    binding.metadata.name ?? '',
  )
  const placement = binding.spec.placement ?? {}
  const written = stored ? { ...stored, spec: { ...stored.spec, placement } } : binding
  return { ...(await reviewOne(written, webhook, context)), derivedFrom: titleOf(template) }
}

/** The policy that Karmada would apply to a template. */
function policyFor(template: K8sObject, store: FolderStore): PropagationPolicy | undefined {
  // Whole policies, not the cached cuts: a binding inherits fields that no decision reads.
  const all = store.objects().map(({ object }) => object)
  const of = (type: ResourceType<PropagationPolicy>) =>
    all.filter((object) => isOf(type, object)) as PropagationPolicy[]
  return selectPolicy(template, of(propagationPolicies), of(clusterPropagationPolicies))
}

async function reviewOne(object: K8sObject, webhook: Webhook | undefined, context: ReviewContext): Promise<Reviewed> {
  const { store } = context
  const stored = await store.read(typeOf(object), object.metadata.namespace, object.metadata.name ?? '')
  const base = {
    object: titleOf(object),
    operation: stored ? ('UPDATE' as const) : ('CREATE' as const),
    warnings: [],
    errors: [],
    before: object,
    after: object,
  }
  if (!webhook) return { ...base, outcome: 'allowed' }
  const { group, version, kind, plural } = typeOf(object)
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
  // The very answer that goes over the wire, and what the API server makes of it.
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

/** The webhook that a kind is sent to; bindings by the mutating one. */
function webhookFor(object: K8sObject): Webhook | undefined {
  // Of a version that no API server serves any more it is told how it is written now.
  const current = isVolumeManager(object) ? { ...object, apiVersion: apiVersionOf(volumeManagers) } : object
  return webhooks.find(({ resources }) => resources.some((type) => isOf(type, current)))
}

async function put(store: FolderStore, object: K8sObject): Promise<void> {
  const type = typeOf(object)
  const stored = await store.read(type, object.metadata.namespace, object.metadata.name ?? '')
  if (!stored) return void (await store.create(type, object))
  const { resourceVersion } = stored.metadata
  await store.update(type, { ...object, metadata: { ...object.metadata, ...(resourceVersion && { resourceVersion }) } })
}

function inNamespace(object: K8sObject): K8sObject {
  const namespaced = knownType(object)?.namespaced ?? !CLUSTER_SCOPED.has(object.kind)
  if (!namespaced || object.metadata.namespace) return object
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } }
}

function typeOf(object: K8sObject): ResourceType {
  const version = object.apiVersion.slice(object.apiVersion.indexOf('/') + 1)
  return (
    knownType(object) ?? {
      group: groupOf(object.apiVersion),
      version,
      kind: object.kind,
      plural: `${object.kind.toLowerCase()}s`,
      namespaced: object.metadata.namespace !== undefined,
    }
  )
}

function knownType(object: K8sObject): ResourceType | undefined {
  return webhookFor(object)?.resources.find((type) => isOf(type, object))
}

function titleOf({ kind, metadata }: K8sObject): string {
  return `${kind} ${objectKey(metadata.namespace, metadata.name ?? `${metadata.generateName ?? ''}*`)}`
}
