/** The definition of an admission point: its path, its rules for the API server, and gather → decide. */
import type { AdmissionRequest, Operation } from '../api/admission.ts'
import type { K8sObject, LabelSelector, ResourceType } from '../api/meta.ts'
import type { FieldError } from '../base/field-errors.ts'
import type { Present } from '../base/time/clock-jumps.ts'
import { annotationSizeErrors } from '../core/admission/annotations.ts'
import { ratchet, type ValidatedParts } from '../core/admission/ratcheting.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import { denyErrors, leaveMalformed, type Outcome } from '../core/outcome.ts'
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import type { DecisionSettings } from '../core/resource-binding/decision-settings.ts'
import type { VolumeLimits } from '../core/volume-manager/rules/settings.ts'
import type { WhenNotReady } from '../core/workload/decide-pod.ts'
import type { ObjectStore } from '../store/store.ts'

/** The inputs of a webhook: the cache of the store and the configuration, without network access. */
export interface GatherContext extends Present, Omit<DecisionSettings, 'kinds'> {
  store: ObjectStore
  /** Which policies get `propagateDeps`. */
  propagateDeps: PropagateDepsMode
  /** The treatment of pods whose data is not ready. */
  whenNotReady: WhenNotReady
  /** The rules of the connected Karmada; the strictest if undefined. */
  karmadaRules: KarmadaRules | undefined
  /** The limits for volumes. */
  volumeLimits: VolumeLimits
  /** Whether loops run, which remove finalizers. */
  loopsEnabled: boolean
}

/** An admission point, as the server and the registration use it. */
export interface Webhook {
  /** Kebab-case: its kind, or a common name of its kinds. The registered name is `<name>.lodestone.dev`. */
  name: string
  type: 'mutating' | 'validating'
  /** The kinds that it reviews. */
  resources: readonly ResourceType[]
  operations: readonly Operation[]
  /** The subresources that it reviews too; absent for none. */
  subresources?: readonly string[]
  /**
   * Whether the API server rejects requests while Lodestone is not available. With `FailWhereEnforced` it does so in namespaces labeled
   * `lodestone.dev/enforce=true`.
   */
  failurePolicy: 'Ignore' | 'Fail' | 'FailWhereEnforced'
  /** The API server sends only objects whose labels match. */
  objectSelector?: LabelSelector
  /** A CEL expression that filters out requests whose decision would always be "untouched". */
  matchCondition?: { name: string; expression: string }
  /**
   * Returns the errors of the stored object of a request. No user wrote it, so a review with such errors does not come from an API server.
   */
  validateStored?(stored: K8sObject): FieldError[]
  /** Decides on one request. Throws only unexpected errors, and NotSyncedError before the cache is complete. */
  review(request: AdmissionRequest, context: GatherContext): Outcome
}

/** All namespaced kinds, for an admission point that a condition limits. */
export const ANY_KIND: ResourceType = { group: '*', version: '*', kind: '*', plural: '*', namespaced: true }

/** A request with an object. */
export interface ObjectRequest extends AdmissionRequest {
  object: K8sObject
}

export interface WebhookDefinition<Input> extends Omit<Webhook, 'review'> {
  /** The parts of an object that `decide` may reject; default: the spec. */
  validates?: ValidatedParts
  /** Gathers the input of the decision, from the cache only. */
  gather(request: ObjectRequest, context: GatherContext): Input
  /** The decision, a pure function. */
  decide(input: Input): Outcome
}

/**
 * Builds an admission point from its definition. It allows a request without an object (DELETE), or for another subresource, unchanged. It
 * rejects no object that is being deleted, and no update that leaves the validated parts as they are.
 */
export function defineWebhook<Input>({
  validates = 'spec',
  gather,
  decide,
  ...webhook
}: WebhookDefinition<Input>): Webhook {
  return {
    ...webhook,
    review(request, context) {
      const { subResource } = request
      const isReviewed = !subResource || webhook.subresources?.includes(subResource)
      if (!request.object || !isReviewed) return { kind: 'allow' }
      const { object, oldObject } = request
      const tooLong = annotationSizeErrors(object.metadata.annotations, 'metadata.annotations')
      const outcome = tooLong.length > 0 ? denyErrors(tooLong) : decide(gather(request as ObjectRequest, context))
      return ratchet(outcome, { object, stored: oldObject ?? undefined }, validates)
    },
  }
}

export interface KarmadaWebhookDefinition<T extends K8sObject, Input> extends Pick<Webhook, 'name' | 'matchCondition'> {
  resource: ResourceType<T>
  /** Returns the errors in the fields that the decision reads. */
  validate(object: T): FieldError[]
  /** Gathers the input of the decision, from the cache only; `stored` is absent if the request creates the object. */
  gather(object: T, stored: T | undefined, context: GatherContext): Input
  /** The decision, a pure function. */
  decide(input: Input): Outcome
}

/** Builds an admission point for a kind of Karmada. It allows a malformed object unchanged, with a warning. */
export function defineKarmadaWebhook<T extends K8sObject, Input>({
  resource,
  validate,
  gather,
  decide,
  ...webhook
}: KarmadaWebhookDefinition<T, Input>): Webhook {
  return defineWebhook<{ input: Input } | { errors: FieldError[] }>({
    ...webhook,
    type: 'mutating',
    resources: [resource],
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'FailWhereEnforced',
    validateStored: (stored) => validate(stored as T),
    gather({ object, oldObject }, context) {
      const errors = validate(object as T)
      if (errors.length > 0) return { errors }
      return { input: gather(object as T, (oldObject ?? undefined) as T | undefined, context) }
    },
    decide: (gathered) => ('errors' in gathered ? leaveMalformed(gathered.errors) : decide(gathered.input)),
  })
}

/** Returns the path to which the API server sends the reviews: `/mutate/resource-binding`. */
export function webhookPath({ type, name }: Pick<Webhook, 'type' | 'name'>): string {
  return `/${type === 'mutating' ? 'mutate' : 'validate'}/${name}`
}
