/**
 * The tables of what Lodestone says to users: Events, conditions and audit annotations. docs/reference/events.md is generated from them. The types of
 * their keys are the only reasons that an Event, and the only decisions that an audit annotation, can have.
 */

interface EventDefinition {
  type: 'Normal' | 'Warning' | 'Normal or Warning'
  /** The kinds of the objects. */
  about: string
  when: string
}

const BINDING = 'ResourceBinding, ClusterResourceBinding'
const POLICY = 'PropagationPolicy, ClusterPropagationPolicy'
const CLAIM = 'DataSourceClaim'
const SOURCE = 'DataSource'
const MANAGER = 'VolumeManager'
const LEFT = 'VolumeManager, Namespace'
const REGISTRATION = 'MutatingWebhookConfiguration'
const ADMISSION_POLICY = 'ValidatingAdmissionPolicy'
const CRD = 'CustomResourceDefinition'
const WORKLOAD = 'Workload of Kueue'

/** By reason. */
export const EVENTS = {
  LocalityHold: { type: 'Warning', about: BINDING, when: 'the workload is put on hold' },
  LocalityHoldReleased: { type: 'Warning', about: BINDING, when: 'a hold timed out; the base affinity applies' },
  LocalityHoldEnded: { type: 'Normal', about: BINDING, when: 'the cause of a hold is gone' },
  LocalityHoldNotHonored: {
    type: 'Warning',
    about: `${BINDING}, ${CLAIM}`,
    when: 'the workload was scheduled although it is on hold',
  },
  LocalityNarrowed: { type: 'Normal', about: BINDING, when: 'the affinity is narrowed to clusters with the data' },
  LocalityNarrowedAgain: {
    type: 'Warning',
    about: `${BINDING}, ${CLAIM}`,
    when: 'the placement was changed while Lodestone was not available',
  },
  LocalityKept: { type: 'Normal', about: BINDING, when: 'the workload stays where it is' },
  LocalityRelaxed: { type: 'Warning', about: BINDING, when: 'the base affinity applies although claims exist' },
  LocalityRestored: { type: 'Normal', about: BINDING, when: 'no claim narrows the workload any more' },

  Located: { type: 'Normal', about: CLAIM, when: 'the claim is Bound: the data is in clusters' },
  Elsewhere: { type: 'Normal', about: CLAIM, when: 'the claim is Bound: the data is in none of the clusters' },
  NotFound: { type: 'Warning', about: CLAIM, when: 'the claim is Failed: the data does not exist' },
  Resolving: { type: 'Normal', about: CLAIM, when: 'the claim is Pending again: the location is not known yet' },
  NotPermitted: { type: 'Warning', about: CLAIM, when: 'the claim may not apply to its workload' },
  SystemUnknown: { type: 'Warning', about: CLAIM, when: 'the data system is not configured' },
  NameTaken: { type: 'Warning', about: CLAIM, when: 'a DataSource with the name describes other data' },
  FieldsDropped: {
    type: 'Warning',
    about: CLAIM,
    when: 'its CRD lacks fields that it has; its workload stays',
  },
  WorkloadPlaced: { type: 'Normal', about: CLAIM, when: 'the workload is scheduled to clusters with the data' },
  WorkloadNotNarrowed: { type: 'Normal', about: CLAIM, when: 'the workload is scheduled; the claim chose no cluster' },
  WorkloadNotScheduled: { type: 'Normal', about: CLAIM, when: 'the scheduler has not chosen a cluster again' },
  WorkloadKept: { type: 'Warning', about: CLAIM, when: 'the workload stays where it is, not with its data' },
  WorkloadRelaxed: { type: 'Warning', about: CLAIM, when: 'the base affinity applies to the workload' },
  WorkloadOnHold: { type: 'Warning', about: CLAIM, when: 'the workload is on hold' },

  Available: { type: 'Normal', about: SOURCE, when: 'the data system found the data' },
  Unavailable: { type: 'Warning', about: SOURCE, when: 'the data does not exist' },
  Moved: { type: 'Normal', about: SOURCE, when: 'the data is in other clusters' },
  Stale: { type: 'Warning', about: SOURCE, when: 'the data system does not answer; the last answer applies' },
  Fresh: { type: 'Normal', about: SOURCE, when: 'the data system answers again' },

  PropagateDepsSet: { type: 'Normal', about: POLICY, when: 'a loop set `propagateDeps`' },
  PropagateDepsUnset: { type: 'Normal', about: POLICY, when: 'a loop removed `propagateDeps`' },
  NeverPropagated: { type: 'Normal', about: BINDING, when: 'a dependency that each cluster creates is released' },
  DependencyPolicyConflict: {
    type: 'Warning',
    about: BINDING,
    when: 'the workloads of a dependency differ in their policies',
  },

  Pending: { type: 'Normal', about: MANAGER, when: 'the deployment or the deletion of its data begins' },
  Running: { type: 'Normal', about: MANAGER, when: 'the data of all volumes is ready' },
  Completed: { type: 'Normal', about: MANAGER, when: 'the data is deleted' },
  Failed: {
    type: 'Warning',
    about: MANAGER,
    when: 'a volume failed, a write-back keeps failing, or `spec.state` is Failed',
  },
  MoverFailed: { type: 'Warning', about: MANAGER, when: 'a mover failed to download data' },
  MoverPreempted: { type: 'Warning', about: MANAGER, when: 'a mover gave its slot to another namespace' },
  ReplicaLost: { type: 'Warning', about: MANAGER, when: 'a ready replica is downloaded again' },
  ReplicaUnreachable: { type: 'Warning', about: MANAGER, when: 'the node of a replica does not respond' },
  ReplicaEvicted: { type: 'Warning', about: MANAGER, when: 'a replica was deleted, since its node is short of disk' },
  WriteBackFailed: { type: 'Warning', about: MANAGER, when: 'changes could not be written back' },
  DeletionFailed: { type: 'Warning', about: MANAGER, when: 'a mover failed to delete data' },
  DataLeft: { type: 'Normal', about: LEFT, when: 'a mover in another namespace deletes the data' },
  NodeSkipped: { type: 'Warning', about: LEFT, when: 'data is deleted when its node is ready again' },
  LeftoverDeleted: { type: 'Normal', about: 'Node', when: 'data of a VolumeManager that ended before is deleted' },
  LeftoverFailed: { type: 'Warning', about: 'Node', when: 'such data could not be deleted; it is retried' },
  VolumesReady: { type: 'Normal', about: 'Pod', when: 'its scheduling gate is removed' },
  VolumesReplaced: { type: 'Warning', about: 'Pod', when: 'it waited for data that was replaced; it is deleted' },
  VolumesUnusable: { type: 'Warning', about: 'Pod', when: 'it waits for volumes that it cannot have; recreate it' },

  ClustersNominated: {
    type: 'Normal',
    about: WORKLOAD,
    when: 'MultiKueue copies it to these clusters, see [Kueue](../guides/kueue.md#choose-the-worker-clusters)',
  },
  NominationOnHold: { type: 'Warning', about: WORKLOAD, when: 'no cluster is nominated; the message has the reason' },

  KindUnavailable: { type: 'Warning', about: CRD, when: 'the kind cannot be read; its last objects stay in use' },
  KindAvailable: { type: 'Normal', about: CRD, when: 'the kind can be read again' },
  RegistrationKept: { type: 'Normal', about: REGISTRATION, when: 'other replicas want another registration' },
  RegistrationReverted: { type: 'Warning', about: REGISTRATION, when: 'another client changes it after each write' },
  NamespacesExempt: {
    type: 'Warning',
    about: ADMISSION_POLICY,
    when: 'namespaces have so many claims that their new workloads do not wait for Lodestone',
  },
} as const satisfies Readonly<Record<string, EventDefinition>>

export type EventReason = keyof typeof EVENTS

interface ConditionDefinition {
  about: string
  type: string
  reasons: readonly string[]
  when: string
}

/** The reasons of a phase of a claim, which Events have too. */
const CLAIM_REASONS = [
  'Located',
  'Elsewhere',
  'NotFound',
  'Resolving',
  'NotPermitted',
  'SystemUnknown',
  'NameTaken',
] as const

export type ClaimReason = (typeof CLAIM_REASONS)[number]

/** The reasons of the condition `WorkloadPlaced`. Events have them after `Workload`. */
const PLACED_REASONS = ['Placed', 'Kept', 'Relaxed', 'NotNarrowed', 'OnHold', 'NotScheduled'] as const

export type PlacedReason = (typeof PLACED_REASONS)[number]

export const CONDITIONS = [
  {
    about: CLAIM,
    type: 'Bound',
    reasons: ['BindingSuccessful', 'BindingInvalid', ...CLAIM_REASONS.slice(2)],
    when: 'the claim has a DataSource with an answer',
  },
  {
    about: CLAIM,
    type: 'Ready',
    reasons: [...CLAIM_REASONS, 'OnHold', 'NotScheduled'],
    when: 'the data is in a cluster, and the workload is not on hold',
  },
  { about: CLAIM, type: 'Stalled', reasons: ['NotFound'], when: 'the data does not exist, else absent' },
  {
    about: CLAIM,
    type: 'Resolved',
    reasons: [...CLAIM_REASONS, 'Stale'],
    when: 'the location is known; False: the data system does not answer',
  },
  {
    about: CLAIM,
    type: 'WorkloadPlaced',
    reasons: PLACED_REASONS,
    when: 'the workload is scheduled',
  },
  {
    about: CLAIM,
    type: 'Effective',
    reasons: ['NoBinding', 'AttachedDependency'],
    when: 'False while the claim affects no placement, else absent',
  },
  {
    about: CLAIM,
    type: 'HoldNotHonored',
    reasons: ['Restored', 'Scheduled'],
    when: 'the workload was scheduled on hold, and is not with its data yet',
  },
  {
    about: SOURCE,
    type: 'Ready',
    reasons: ['Available', 'Unavailable', 'Resolving', 'NotAnswered'],
    when: 'the data exists; Unknown before the first answer',
  },
  { about: SOURCE, type: 'Stalled', reasons: ['Unavailable'], when: 'the data does not exist, else absent' },
  { about: SOURCE, type: 'Stale', reasons: ['Answered', 'NotAnswered'], when: 'the last query failed' },
  {
    about: SOURCE,
    type: 'Mapped',
    reasons: ['NoCluster'],
    when: 'False for data in none of the clusters, else absent',
  },
  {
    about: SOURCE,
    type: 'SystemHealthy',
    reasons: ['Healthy', 'Unhealthy'],
    when: 'the health check of the data system passed; absent before its first failure',
  },
  {
    about: MANAGER,
    type: 'Ready',
    reasons: [
      'Deployed',
      'Deploying',
      'DeploymentFailed',
      'WriteBackFailed',
      'WantedFailed',
      'Deleting',
      'InUse',
      'CreateRefused',
      'Deleted',
    ],
    when: 'pods can use all volumes',
  },
  {
    about: MANAGER,
    type: 'Stalled',
    reasons: ['DeploymentFailed', 'WriteBackFailed', 'WantedFailed'],
    when: 'the state is Failed and pods cannot use all volumes, else absent',
  },
  {
    about: MANAGER,
    type: 'ReplicasReady',
    reasons: ['Complete', 'as Ready'],
    when: 'all replicas that the spec wants are ready',
  },
  {
    about: MANAGER,
    type: 'WrittenBack',
    reasons: ['NoFailure', 'WriteBackFailed'],
    when: 'no write-back keeps failing; absent without write-back',
  },
  {
    about: 'AdmissionCheck',
    type: 'Active',
    reasons: ['Active', 'BadParameters', 'DataUnknown', 'Uninstalled'],
    when: 'Lodestone answers the check of Kueue, see [Kueue](../guides/kueue.md)',
  },
  {
    about: WORKLOAD,
    type: 'lodestone.dev/Nominated',
    reasons: ['Nominated', 'OnHold', 'OtherDispatcher'],
    when: 'worker clusters are nominated; absent before the first hold',
  },
] as const satisfies readonly ConditionDefinition[]

/** The audit annotations, by key. */
export const AUDIT_ANNOTATIONS = {
  decision: 'one of the words below; absent if nothing was decided, or if the object is rejected',
  reason: 'a sentence, at most 512 characters',
  'decision-id': 'the id of the decision on a binding or pod, also of one that rejects the write',
} as const

export type AuditKey = keyof typeof AUDIT_ANNOTATIONS

/** The values of the audit annotation `decision`, by webhook. */
export const DECISIONS = {
  Narrowed: { webhook: 'bindings', when: 'the affinity is narrowed' },
  OnHold: { webhook: 'bindings', when: 'scheduling is suspended' },
  Kept: { webhook: 'bindings', when: 'the workload stays where it is' },
  Relaxed: { webhook: 'bindings', when: 'the base affinity applies although claims exist' },
  Released: { webhook: 'bindings', when: 'a hold timed out' },
  Ignored: { webhook: 'bindings', when: 'the policy of the claims is to ignore what they lack' },
  Restored: { webhook: 'bindings', when: 'no claim is left' },
  Widened: { webhook: 'bindings', when: 'a defect of Lodestone was detected; nothing changes' },
  Propagated: { webhook: 'policies', when: '`propagateDeps` is set' },
  Declined: { webhook: 'policies', when: '`propagateDeps` is not set' },
  Accepted: { webhook: 'policies', when: 'the policy has `propagateDeps` already' },
  Injected: { webhook: 'pods', when: 'the pod has its volumes' },
  Gated: { webhook: 'pods', when: 'the pod waits for its data' },
  LeftOut: { webhook: 'pods', when: 'no volume is for the node of the pod' },
  Labeled: { webhook: 'workloads', when: 'its pods get their volumes' },
  Unlabeled: { webhook: 'workloads', when: 'no annotation requests volumes any more' },
  NotReviewed: { webhook: 'unknown paths', when: 'another version may have the webhook' },
} as const satisfies Readonly<Record<string, { webhook: string; when: string }>>

export type AuditDecision = keyof typeof DECISIONS
