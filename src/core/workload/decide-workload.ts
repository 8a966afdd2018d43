/** Decides on a workload that requests volumes: rejects it if its pods would be rejected, and labels its pod templates for admission. */

import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import type { K8sObject } from '../../api/meta.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { defined, isObject, jsonEqual } from '../../base/json.ts'
import { valuesAt } from '../../base/json-path.ts'
import { cut, type Outcome } from '../outcome.ts'
import type { AuditDecision } from '../signal-tables.ts'
import type { WorkloadKind } from '../workload-kinds/kinds.ts'
import { isDaemonSet, narrowDaemonSet } from './daemon-set.ts'
import { type Injector, injectorOf } from './injection/inject.ts'
import type { VolumeManagerLookup } from './injection/mountable-volumes.ts'
import { unknownContainers } from './injection/mounts.ts'
import { operatingSystemErrors } from './node-affinity/operating-system.ts'
import { mistypedAnnotations, ourAnnotations } from './requests/annotation-keys.ts'
import { MAX_TEMPLATES } from './requests/limits.ts'
import { type Resolved, resolveRequests, separateVolumes, type WantedVolume } from './requests/resolve.ts'
import { type PodPlace, podPlacesOf } from './requests/templates.ts'
import { type ParsedRequests, type PlacedRequest, parseVolumeRequests } from './requests/volume-requests.ts'
import {
  OWN_ANNOTATIONS,
  ownAnnotation,
  type ParsedAnnotation,
  type PlacedAnnotation,
  parseAll,
  removalWarnings,
  type WorkloadRequests,
  withRequests,
  workloadRequests,
} from './requests/workload-requests.ts'
import { workloadSizeErrors } from './requests/workload-size.ts'

/** The annotation of the owner, for a workload that inherits it. `isUnknown`: the cache does not have the owner yet. */
export type OwnerRequest = { title: string } & ({ annotation: string | undefined } | { isUnknown: true })

export interface WorkloadInput {
  object: K8sObject
  /** The stored workload; absent if the request creates it. */
  stored: K8sObject | undefined
  /** Its entry in the table of workload kinds. */
  kind: WorkloadKind | undefined
  /** Absent if the workload inherits nothing. */
  owner?: OwnerRequest | undefined
  managers: VolumeManagerLookup
  /** On a hub, only the VolumeManagers of the member clusters are relevant. */
  isHub: boolean
}

/**
 * Decides on a workload. The annotation of the workload itself applies to all of its pods, unless a template has its own.
 *
 * A workload that has a controller as owner is not changed, since its owner was decided already. The controller would revert each change.
 * Only the workloads of an owner that cannot pass its annotation on are changed: they inherit it.
 */
export function decideWorkload(input: WorkloadInput): Outcome {
  const { object, stored, kind, owner } = input
  const isOwned = object.metadata.ownerReferences?.some(({ controller }) => controller) ?? false
  if (!kind || object.metadata.deletionTimestamp || (isOwned && !owner)) return { kind: 'allow' }
  if (owner && 'isUnknown' in owner)
    return stored ? { kind: 'allow' } : { kind: 'deny', errors: [notRead(owner.title)] }
  const tooManyTemplates = templateCountErrors(object, kind)
  if (tooManyTemplates.length > 0) {
    // A stored workload with too many templates is not rejected, since otherwise no user could change it.
    const wasStored = stored && templateCountErrors(stored, kind).length > 0
    return wasStored ? { kind: 'allow' } : { kind: 'deny', errors: tooManyTemplates }
  }
  const found = workloadRequests(object, kind, stored, owner?.annotation)
  if (stored && isSame(object, stored, kind))
    return kind.immutable ? { kind: 'allow' } : removeStale(input, kind, found)
  return decideRequests(input, kind, found)
}

/** Removes values whose cause went while Lodestone was not called. Nothing is checked, since the update changes no request. */
function removeStale({ object, stored }: WorkloadInput, kind: WorkloadKind, found: WorkloadRequests): Outcome {
  const cleaned = withRequests(object, { requests: [], stale: found.stale })
  return answer(object, found.requests.length > 0 ? cleaned : withAllNodes(cleaned, kind, found, stored), {}, found)
}

function decideRequests(input: WorkloadInput, kind: WorkloadKind, found: WorkloadRequests): Outcome {
  const { object, stored } = input
  const { requests } = found
  if (stored && kind.immutable) {
    const warning = `lodestone: the pod template of a ${object.kind} is immutable; recreate the ${object.kind} to change its volumes`
    return { kind: 'allow', warnings: [warning] }
  }
  const [first] = requests
  const parsed = parseAll(requests)
  const tooLarge = first ? workloadSizeErrors(annotationPath(first), object, parsed) : []
  if (tooLarge.length > 0) return { kind: 'deny', errors: tooLarge }
  const prepared = preparation(input.managers)
  const checks = requests.length > 0 ? parsed.map((one) => check(one, prepared, input)) : [checkOwn(input, kind)]
  const errors = distinct([...found.errors, ...checks.flatMap((one) => one.errors)])
  const texts = distinct(checks.flatMap((found) => found.warnings)).map((text) => cut(`lodestone: ${text}`))
  const warnings = [...texts, ...mistyped(object, kind)]
  const details = warnings.length > 0 ? { warnings } : {}
  if (errors.length > 0) return { kind: 'deny', errors, ...details }
  const labeled = withRequests(object, found)
  const changed =
    requests.length > 0
      ? parsed.reduce((whole, request, i) => withNodes(whole, request, checks[i]?.wanted, { stored }), labeled)
      : withAllNodes(labeled, kind, found, stored)
  return answer(object, changed, details, found)
}

/** Answers with a patch if the workload changes. */
function answer(
  object: K8sObject,
  changed: K8sObject,
  { warnings = [] }: Pick<Outcome, 'warnings'>,
  found: WorkloadRequests,
): Outcome {
  const all = [...warnings, ...removalWarnings(found)]
  const details = all.length > 0 ? { warnings: all } : {}
  if (changed === object) return { kind: 'allow', ...details }
  const [decision, reason]: [AuditDecision, string] =
    found.requests.length > 0
      ? ['Labeled', 'its pods get their volumes when they are created']
      : ['Unlabeled', 'no annotation requests volumes any more']
  return { kind: 'patch', object: changed, ...details, auditAnnotations: { decision, reason } }
}

function notRead(title: string): FieldError {
  return {
    path: 'metadata.ownerReferences',
    code: 'Invalid',
    message: `Lodestone has not read ${title} yet, which may request volumes; its controller retries`,
  }
}

function isSame(object: K8sObject, stored: K8sObject, kind: WorkloadKind): boolean {
  const read = (one: K8sObject) => podPlacesOf(one, kind).map(({ path, metadata, pod }) => [path, metadata, pod?.spec])
  return jsonEqual(ourAnnotations(object), ourAnnotations(stored)) && jsonEqual(read(object), read(stored))
}

function mistyped(object: K8sObject, kind: WorkloadKind): string[] {
  const places = podPlacesOf(object, kind).map(({ metadata }) => metadata)
  return mistypedAnnotations(...[object.metadata, ...places].map(({ annotations }) => annotations))
}

function annotationPath({ writtenAt }: PlacedAnnotation): string {
  return `${writtenAt}[${VOLUMES_ANNOTATION}]`
}

/** Returns an error if a workload that requests volumes has too many pod templates to check. */
function templateCountErrors(object: K8sObject, { templates = [], podMetadata = [], allPodMetadata }: WorkloadKind) {
  const count = [...templates, ...podMetadata].reduce((sum, path) => sum + valuesAt(object, path).length, 0)
  if (count <= MAX_TEMPLATES) return []
  const inTemplates = allPodMetadata.flatMap((path) => valuesAt(object, `${path}.annotations`)).some(hasRequest)
  if (!hasRequest(object.metadata.annotations) && !inTemplates) return []
  const message = `the workload has ${count} pod templates, more than ${MAX_TEMPLATES}; divide it`
  return [{ path: `${OWN_ANNOTATIONS}[${VOLUMES_ANNOTATION}]`, code: 'TooLong' as const, message }]
}

function hasRequest(annotations: unknown): boolean {
  return isObject(annotations) && annotations[VOLUMES_ANNOTATION] !== undefined
}

interface Check {
  errors: FieldError[]
  warnings: string[]
  /** The volumes of the pods, if all are known. */
  wanted?: readonly WantedVolume[]
}

/** Checks the annotation of a workload without a place for it: its form, and whether it has an effect. */
function checkOwn({ object, managers, isHub, owner }: WorkloadInput, kind: WorkloadKind): Check {
  const annotation = ownAnnotation(object, owner && 'annotation' in owner ? owner.annotation : undefined)
  const optedOut = !kind.inherits && podPlacesOf(object, kind).length > 0
  if (annotation === undefined || optedOut) return { errors: [], warnings: [] }
  const parsed = parseVolumeRequests(annotation, OWN_ANNOTATIONS)
  if ('errors' in parsed) return { errors: parsed.errors, warnings: [] }
  const { errors, unusable } = resolveRequests(parsed.requests, managers)
  if (kind.inherits) return { errors, warnings: isHub ? [] : unusable.map(({ message }) => message) }
  return { errors, warnings: [`no pod gets the volumes: this ${object.kind} has no pod template`] }
}

interface Prepared extends Resolved {
  /** The requests whose volume is not known. */
  unresolved: readonly PlacedRequest[]
  inject: Injector
}

/** Resolves each annotation once, since that of the workload applies to all of its templates. */
function preparation(managers: VolumeManagerLookup) {
  const known = new Map<ParsedRequests, Prepared>()
  return (parsed: Extract<ParsedRequests, { requests: unknown }>): Prepared => {
    const before = known.get(parsed)
    if (before) return before
    const resolved = resolveRequests(parsed.requests, managers)
    const found = new Set(resolved.wanted.map((one) => one.path))
    const unresolved = parsed.requests.filter((one) => !found.has(one.path))
    const prepared = { ...resolved, unresolved, inject: injectorOf(resolved.wanted) }
    known.set(parsed, prepared)
    return prepared
  }
}

/** Returns the errors that the pods would get. A missing VolumeManager is only a warning, since manifests are applied in any order. */
function check(
  { place, parsed }: ParsedAnnotation,
  prepared: ReturnType<typeof preparation>,
  { isHub }: WorkloadInput,
): Check {
  if ('errors' in parsed) return { errors: parsed.errors, warnings: [] }
  const { wanted, errors, unusable, unresolved, inject } = prepared(parsed)
  const warnings = isHub ? [] : [...unusable.map(({ message }) => message), ...separateVolumes(wanted)]
  if (!place.pod) return { errors, warnings }
  const { path, spec } = place.pod
  const injected = inject(spec, path)
  return defined({
    errors: [
      ...operatingSystemErrors(spec, path),
      ...errors,
      ...('errors' in injected ? injected.errors : []),
      ...unknownContainers([...spec.containers, ...(spec.initContainers ?? [])], unresolved),
    ],
    warnings,
    // Until all volumes are known, the nodes of a DaemonSet stay as they are. On a hub, the member narrows it.
    wanted: unresolved.length === 0 && !isHub ? wanted : undefined,
  })
}

/** Narrows a DaemonSet to the nodes with the volumes of its pods. */
function withNodes(
  whole: K8sObject,
  { place: { pod } }: Pick<ParsedAnnotation, 'place'>,
  wanted: readonly WantedVolume[] | undefined,
  details: Parameters<typeof narrowDaemonSet>[3],
): K8sObject {
  return pod && wanted && isDaemonSet(whole) ? narrowDaemonSet(whole, pod, wanted, details) : whole
}

/** Returns a DaemonSet that requests no volumes with the node affinity of its user. */
function withAllNodes(
  whole: K8sObject,
  kind: WorkloadKind,
  { stale }: WorkloadRequests,
  stored: K8sObject | undefined,
): K8sObject {
  const copied = new Set(stale.filter(({ added }) => added.annotation).map(({ place }) => place.path))
  const hadCopy = ({ path }: PodPlace) => copied.has(path)
  return podPlacesOf(whole, kind).reduce(
    (one, place) => withNodes(one, { place }, [], { stored, hadCopy: hadCopy(place) }),
    whole,
  )
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}
