/** Reviews one object in memory, as an API server would. */
import fastJsonPatch from 'fast-json-patch'
import type { AdmissionRequest } from '../../../api/admission.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../../../api/meta.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { defined, jsonEqual } from '../../../base/json.ts'
import { printable } from '../../../base/printable.ts'
import { matchesLabels } from '../../../base/selectors.ts'
import { encodeResponse } from '../../../core/admission/review.ts'
import type { KarmadaRules } from '../../../core/karmada-rules.ts'
import { type Outcome, withErrors } from '../../../core/outcome.ts'
import { isVolumeManager } from '../../../core/volume-manager/rules/validate.ts'
import type { WorkloadKinds } from '../../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../../store/folder/folder.ts'
import { allKinds } from '../../../store/kinds/cached-kinds.ts'
import type { ObjectStore } from '../../../store/store.ts'
import type { GatherContext, Webhook } from '../../../webhooks/define.ts'
import { allWebhooks } from '../../../webhooks/index.ts'
import { isExcluded } from '../../../webhooks/registration.ts'
import { unknownWorkloadWebhook } from '../../../webhooks/unknown-workload.ts'
import { typeOfObject } from '../../kinds.ts'
import { objectTitle } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import { applyManifest } from './apply-manifest.ts'

/** What happens to a workload. `placed`: Karmada would create the binding and schedule the workload. */
export type Effect = 'moves' | 'waits' | 'placed' | 'unchanged'

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
  /** What happens to the workload of a binding; absent in a check without a hub. */
  effect?: Effect
  /** Whether no webhook reviews the kind. */
  isUnknownKind: boolean
  /** Whether nothing was decided or validated, because no rule of Lodestone applies to the kind. */
  isNotChecked?: true
  /** Whether admission would decide otherwise, but its namespace is excluded from admission. */
  isExcluded?: true
}

/** The settings of decisions. */
export interface ReviewSettings extends Omit<GatherContext, 'store'> {
  karmadaRules: KarmadaRules
  workloads: WorkloadKinds
  /** The namespaces that are excluded from admission, with those of the registration itself. */
  excludedNamespaces: readonly string[]
}

/** The inputs of reviews: the store, and the settings of decisions. */
export interface ReviewContext extends ReviewSettings {
  store: FolderStore
  /** Whether the store has the bindings of a hub, so that reviews of bindings have an effect. */
  hasHub?: boolean
}

/** The inputs of single reviews, which only read the store. */
export interface SessionInput extends ReviewSettings {
  store: ObjectStore
  hasHub?: boolean
}

/** The inputs with the table of webhooks, which is built once. */
export interface ReviewSession extends SessionInput {
  webhooks: readonly Webhook[]
  unknownWorkload: Webhook
  types: readonly ResourceType[]
}

/** Prepares reviews with these inputs. */
export function openSession(context: SessionInput): ReviewSession {
  const { workloads } = context
  return {
    ...context,
    webhooks: allWebhooks(workloads),
    unknownWorkload: unknownWorkloadWebhook(workloads),
    types: allKinds(workloads).map(({ type }) => type),
  }
}

/** Whether policies may select the object: workloads, and kinds that neither Lodestone nor Karmada owns. */
export function isTemplate(object: K8sObject, session: ReviewSession): boolean {
  return !webhookFor(object, session) || session.workloads.find(object.apiVersion, object.kind) !== undefined
}

/** Reviews one object. `given` is the object before the change; without it, the stored one is used. */
export async function reviewObject(
  object: K8sObject,
  session: ReviewSession,
  given?: K8sObject,
): Promise<ObjectReview> {
  const webhook = webhookFor(object, session)
  const type = reviewedType(object, session)
  const { namespace, name = '' } = object.metadata
  const stored = given ?? (await session.store.read(type, namespace, name))
  const operation = stored ? ('UPDATE' as const) : ('CREATE' as const)
  const { group, version, kind, plural } = type
  const request: AdmissionRequest = defined({
    uid: 'check',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    namespace: object.metadata.namespace || undefined,
    name: object.metadata.name || undefined,
    operation,
    object,
    oldObject: stored ?? null,
    dryRun: true,
  })
  const reviewing = webhook ?? session.unknownWorkload
  const reviewed = reviewing.operations.includes(operation) ? reviewing.review(request, session) : ALLOW
  const decided = withErrors(reviewed, laterErrors(request, object, session, webhook))
  const isUnreviewed =
    type.namespaced && namespace !== undefined && isExcluded(namespace, session) && !jsonEqual(decided, ALLOW)
  const outcome = isUnreviewed ? ALLOW : decided
  // The encoded answer, and its patch as the API server applies it.
  const { allowed, patch, warnings = [], auditAnnotations } = encodeResponse(request, outcome, (text) => text)
  const { decision, reason } = auditAnnotations ?? {}
  return defined({
    object: objectTitle(object),
    operation,
    outcome: allowed ? (patch ? 'patched' : 'allowed') : 'denied',
    decision: decision || undefined,
    reason: reason ? printable(reason) : undefined,
    warnings,
    errors: outcome.kind === 'deny' ? outcome.errors : [],
    before: object,
    after: patch ? fastJsonPatch.applyPatch(object, JSON.parse(patch), true, false).newDocument : object,
    isUnknownKind: webhook === undefined,
    isExcluded: isUnreviewed || undefined,
  })
}

const ALLOW: Outcome = { kind: 'allow' }

/** Returns the errors of the validating webhooks of a kind, which an API server calls after the mutating one. */
function laterErrors(
  request: AdmissionRequest,
  object: K8sObject,
  session: ReviewSession,
  first: Webhook | undefined,
): FieldError[] {
  const later = session.webhooks.filter((one) => one.type === 'validating' && one !== first && reviews(one, object))
  return later.flatMap((webhook) => {
    const outcome = webhook.review(request, session)
    return outcome.kind === 'deny' ? outcome.errors : []
  })
}

/** The webhook of a kind; for a binding, the mutating one. */
export function webhookFor(object: K8sObject, { webhooks }: ReviewSession): Webhook | undefined {
  // A version that is no longer served gets an error with the new form.
  const current = isVolumeManager(object) ? { ...object, apiVersion: apiVersionOf(volumeManagers) } : object
  return webhooks.find((webhook) => reviews(webhook, current))
}

function reviews({ resources, objectSelector }: Webhook, object: K8sObject): boolean {
  return resources.some((type) => hasType(type, object)) && matchesLabels(objectSelector, object.metadata.labels)
}

/** Stores an object in memory, as an API server would. The status of a stored object stays if the new one has none. */
export async function put(session: ReviewSession, object: K8sObject): Promise<void> {
  const { store } = session
  const type = reviewedType(object, session)
  const { name = '', namespace } = object.metadata
  const stored = await store.read(type, namespace, name)
  if (!stored) return void (await store.create(type, object))
  const { resourceVersion } = stored.metadata
  const { status } = stored as K8sObject & { status?: unknown }
  await store.update(type, {
    // Users do not write the status.
    ...defined({ status }),
    ...object,
    metadata: { ...object.metadata, ...defined({ resourceVersion: resourceVersion || undefined }) },
  })
}

/** Stores a manifest in memory, with what the stored object keeps. Returns the stored object. */
export async function putManifest(session: ReviewSession, manifest: K8sObject): Promise<K8sObject> {
  const { name = '', namespace } = manifest.metadata
  const stored = await session.store.read(reviewedType(manifest, session), namespace, name)
  const applied = applyManifest(manifest, stored)
  await put(session, applied)
  return applied
}

/** The type of an object: that of a webhook or of a cached kind, or else one that is derived from the kind. */
export function reviewedType(object: K8sObject, { webhooks, types }: ReviewSession): ResourceType {
  const reviewed = webhooks.flatMap(({ resources }) => resources).find((type) => hasType(type, object))
  return reviewed ?? typeOfObject(types, object)
}
