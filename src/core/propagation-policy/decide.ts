/** Decides on a policy, at admission and in the loop: whether `propagateDeps` is set, and why. */
import type { PropagationPolicy } from '../../api/karmada.ts'
import { PROPAGATE_DEPS_ANNOTATION, PROPAGATE_DEPS_SET_ANNOTATION, VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { policySchema, withoutMetadata } from '../../api/schemas/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined } from '../../base/json.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { withAnnotations } from '../admission/annotations.ts'
import { cut, type Outcome } from '../outcome.ts'
import { declaredPropagateDeps } from './declared.ts'

/** Which policies get `propagateDeps`: those that select a data-bound workload, all, or none. */
export type PropagateDepsMode = 'dataBound' | 'always' | 'never'

/** A data-bound workload that a policy selects. */
export interface DataBound {
  /** `Kind namespace/name`. */
  workload: string
  /** The claim that names the workload, as `namespace/name`. Without a claim, its pod template names volumes. */
  claim?: string
}

export interface PolicyInput {
  /** The policy as the requester sent it, not validated. */
  policy: PropagationPolicy
  /** The stored policy; absent if the request creates it. */
  stored: PropagationPolicy | undefined
  mode: PropagateDepsMode
  /** Any one of the data-bound workloads that the policy selects. */
  dataBound: DataBound | undefined
  /** The policy has too many selectors; Lodestone cannot decide whether it selects a data-bound workload. */
  isTooLarge?: boolean
}

export interface PolicyDecision {
  /**
   * - Untouched: the policy selects no data-bound workload, or it sets `propagateDeps` already.
   * - Propagated: Lodestone sets `propagateDeps`.
   * - Declined: the author of the policy set `propagateDeps: false`.
   * - Accepted: the author set `propagateDeps: true` after a decline.
   */
  state: 'Untouched' | 'Propagated' | 'Declined' | 'Accepted'
  /** The policy after the decision: the same object if nothing changes. */
  policy: PropagationPolicy
  /** The reason, for the user; empty if the decision is Untouched. */
  message: string
}

/**
 * Decides on a policy. It sets `spec.propagateDeps` with a note; the loop removes both (plan.ts). If the author declines, it adds an
 * annotation: Karmada's webhook drops a `false`, so later decisions can read the choice only there.
 */
export function decidePolicy({ policy, stored, mode, dataBound }: PolicyInput): PolicyDecision {
  const untouched: PolicyDecision = { state: 'Untouched', policy, message: '' }
  if (mode === 'never' || policy.metadata.deletionTimestamp) return untouched
  const { propagateDeps } = policy.spec
  if (propagateDeps === true) {
    if (isTurnedOn(policy, stored)) {
      return {
        state: 'Accepted',
        policy: withAnnotation(policy, PROPAGATE_DEPS_ANNOTATION, undefined),
        message: `${DECLINED} is removed`,
      }
    }
    if (!isAnnotated(policy.metadata) || !isSetByUs(policy)) return untouched
    return { state: 'Declined', policy: withoutPropagateDeps(policy), message: DECLINED }
  }
  // A client may have removed the field, and not the note.
  const unset = withAnnotation(policy, PROPAGATE_DEPS_SET_ANNOTATION, undefined)
  const declined = declineReason(policy)
  if (propagateDeps === false && !isAnnotated(policy.metadata)) {
    return {
      state: 'Declined',
      policy: withAnnotation(unset, PROPAGATE_DEPS_ANNOTATION, 'false'),
      message: `propagateDeps: false is kept as ${DECLINED}`,
    }
  }
  if (declined !== undefined) return { state: 'Declined', policy: unset, message: declined }
  const message = mode === 'always' ? 'configured for every policy' : dataBound && describe(dataBound)
  if (message === undefined) return { ...untouched, policy: unset }
  const propagated = { ...policy, spec: { ...policy.spec, propagateDeps: true } }
  return { state: 'Propagated', policy: withAnnotation(propagated, PROPAGATE_DEPS_SET_ANNOTATION, 'true'), message }
}

/** Whether `propagateDeps` of a policy was set by Lodestone, as its note says. */
export function isSetByUs({ metadata, spec }: PropagationPolicy): boolean {
  return spec.propagateDeps === true && metadata.annotations?.[PROPAGATE_DEPS_SET_ANNOTATION] === 'true'
}

/** Returns a policy without the value of Lodestone and its note. */
function withoutPropagateDeps(policy: PropagationPolicy): PropagationPolicy {
  const { propagateDeps: _ours, ...spec } = policy.spec
  return withAnnotation({ ...policy, spec }, PROPAGATE_DEPS_SET_ANNOTATION, undefined)
}

/** Why the author of a policy declines to propagate the dependencies of its workloads; undefined if the author does not decline. */
export function declineReason(policy: PropagationPolicy): string | undefined {
  if (policy.spec.propagateDeps === true) return undefined
  if (isAnnotated(policy.metadata)) return DECLINED
  return declaredPropagateDeps(policy) === false ? 'its manifest says propagateDeps: false' : undefined
}

/** Whether the loop has to decide on a policy: it neither propagates nor declines. */
export function isUndecided(policy: PropagationPolicy): boolean {
  return policy.spec.propagateDeps !== true && declineReason(policy) === undefined
}

/** The response of admission: a patch if the policy changes, and a warning that describes the change. */
export function answerPolicy({ state, policy, message }: PolicyDecision, input: PolicyInput): Outcome {
  const audit = defined({
    auditAnnotations: state === 'Untouched' ? undefined : { decision: state, reason: cut(message, 512) },
  })
  if (policy === input.policy)
    return { kind: 'allow', ...audit, ...defined({ warnings: input.isTooLarge ? [TOO_LARGE] : undefined }) }
  if (state === 'Untouched') return { kind: 'patch', object: policy }
  return { kind: 'patch', object: policy, warnings: [cut(`lodestone: ${WARNING_PREFIX[state]}${message}`)], ...audit }
}

const TOO_LARGE =
  'lodestone: too many selectors and claims to compare; set propagateDeps yourself, or divide the policy'
const DECLINED = `annotation ${PROPAGATE_DEPS_ANNOTATION}: "false"`

const WARNING_PREFIX: Record<PolicyDecision['state'], string> = {
  Untouched: '',
  Propagated: 'propagateDeps set: ',
  Declined: '',
  Accepted: '',
}

function describe({ workload, claim }: DataBound): string {
  return claim === undefined
    ? `${workload} has annotation ${VOLUMES_ANNOTATION}`
    : `DataSourceClaim ${claim} names ${workload}`
}

/**
 * Whether this write ends a decline: only a write that sets the field does. Karmada sets the field as well (for ServiceImports), and that
 * is not the choice of the author.
 */
function isTurnedOn({ metadata }: PropagationPolicy, stored: PropagationPolicy | undefined): boolean {
  return (
    isAnnotated(metadata) && stored !== undefined && isAnnotated(stored.metadata) && stored.spec.propagateDeps !== true
  )
}

function isAnnotated({ annotations }: ObjectMeta): boolean {
  return annotations?.[PROPAGATE_DEPS_ANNOTATION] === 'false'
}

/** Sets an annotation of a policy, or removes it. Returns the same policy if nothing changes. */
function withAnnotation(policy: PropagationPolicy, key: string, text: string | undefined): PropagationPolicy {
  const { annotations } = policy.metadata
  if (annotations?.[key] === text) return policy
  return { ...policy, metadata: { ...policy.metadata, annotations: withAnnotations(annotations, { [key]: text }) } }
}

/** Returns all errors in the fields that Lodestone reads. Karmada validates the other fields. */
export const validatePolicy: (policy: PropagationPolicy) => FieldError[] = compileSchema(withoutMetadata(policySchema))
