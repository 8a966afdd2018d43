/** Reads the state of a Workload of Kueue: whether it waits for its checks, and what names its data. */
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import type { AdmissionCheckState, KueueWorkload } from '../../api/kueue.ts'
import { MULTIKUEUE_ORIGIN_LABEL } from '../../api/kueue.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { findCondition, isTrue } from '../../base/conditions.ts'
import { defined, isObject, sortedUnique } from '../../base/json.ts'
import { mayRequest, volumesAnnotationOf } from '../dependencies/workload.ts'
import { parseVolumeRequests } from '../workload/requests/volume-requests.ts'

/**
 * Whether Kueue waits for the checks of the Workload: it has reserved quota for it, and has neither evicted nor finished it. Before that, a
 * check says nothing: the states are those of an earlier attempt (kueue, pkg/controller/admissionchecks/provisioning/controller.go).
 */
export function awaitsChecks({ metadata, spec, status }: KueueWorkload): boolean {
  const holds = (type: string) => isTrue(status?.conditions, type)
  return (
    !metadata.deletionTimestamp &&
    spec?.active !== false &&
    holds('QuotaReserved') &&
    !holds('Evicted') &&
    !holds('Finished')
  )
}

/**
 * Whether Lodestone may write this state. Of an admitted Workload none changes: Kueue would keep its jobs running, and Retry and Rejected
 * evict. Retry and Rejected are of a user, and Kueue evicts the Workload.
 */
export function isOpen({ state }: AdmissionCheckState, { status }: KueueWorkload): boolean {
  return (state === 'Pending' || state === 'Ready') && !isTrue(status?.conditions, 'Admitted')
}

/** The condition that says why no worker cluster is nominated. */
export const NOMINATED = 'lodestone.dev/Nominated'

/**
 * Returns the check of MultiKueue if MultiKueue waits for a nomination: no worker cluster has the Workload yet. Kueue reads only the first
 * check of MultiKueue (kueue, pkg/util/admissioncheck).
 */
export function checkAwaitingNomination(
  workload: KueueWorkload,
  isOfMultiKueue: (check: string) => boolean,
): AdmissionCheckState | undefined {
  const { admissionChecks = [], clusterName } = workload.status ?? {}
  if (!awaitsChecks(workload) || clusterName !== undefined) return undefined
  const check = admissionChecks.find(({ name }) => isOfMultiKueue(name))
  return check?.state === 'Pending' ? check : undefined
}

/** Returns the clusters for which the Workload is nominated at present. */
export function nominatedClusters({ status }: KueueWorkload): readonly string[] {
  return status?.nominatedClusterNames ?? []
}

/** Returns when Kueue reserved quota, in RFC 3339: the beginning of the wait. */
export function reservedSince({ status }: KueueWorkload): string | undefined {
  return findCondition(status?.conditions, 'QuotaReserved')?.lastTransitionTime
}

/**
 * Returns the times, in RFC 3339, after which MultiKueue copies the Workload to nominated clusters. These are the reservation of quota, and when
 * each other check became Ready. Undefined while one is not: Kueue 0.17.1 and newer wait for it (pkg/controller/admissionchecks/multikueue/workload.go).
 *
 * @param check the name of the check of MultiKueue
 */
export function timesBeforeCopies(workload: KueueWorkload, check: string): readonly string[] | undefined {
  const since = reservedSince(workload)
  const others = (workload.status?.admissionChecks ?? []).filter(({ name }) => name !== check)
  if (since === undefined || others.some(({ state }) => state !== 'Ready')) return undefined
  return [since, ...others.map(({ lastTransitionTime }) => lastTransitionTime)]
}

/** Returns the jobs of a Workload: its owners. A group of plain pods has several. */
export function jobsOf({ metadata }: KueueWorkload): WorkloadReference[] {
  const { namespace, ownerReferences = [] } = metadata
  return ownerReferences.map(({ apiVersion, kind, name }) => defined({ apiVersion, kind, namespace, name }))
}

/** Whether a job will own the Workload later. In a worker cluster, MultiKueue creates the job when the Workload is admitted. */
export function lacksJob({ metadata }: KueueWorkload): boolean {
  return (metadata.ownerReferences ?? []).length === 0 && metadata.labels?.[MULTIKUEUE_ORIGIN_LABEL] === undefined
}

/** Returns the annotations of its pod templates that request volumes. */
export function volumeAnnotationsOf(workload: KueueWorkload): string[] {
  return sortedUnique(templateMetadata(workload).filter(mayRequest).flatMap(volumesAnnotationOf))
}

function templateMetadata({ spec }: KueueWorkload): (ObjectMeta | undefined)[] {
  const podSets = Array.isArray(spec?.podSets) ? spec.podSets : []
  return podSets.map((podSet) => (isObject(podSet) ? podSet.template?.metadata : undefined))
}

/** Returns the names of the VolumeManagers that its pods request; none of an annotation with errors. */
export function volumeManagersNamed(workload: KueueWorkload): string[] {
  return managersIn(volumeAnnotationsOf(workload))
}

/** Returns the names of the VolumeManagers in annotations that request volumes; none of one with errors. */
export function managersIn(annotations: readonly string[]): string[] {
  const names = annotations.flatMap((annotation) => {
    const parsed = parseVolumeRequests(annotation)
    return 'requests' in parsed ? parsed.requests.map(({ request }) => request.name) : []
  })
  return sortedUnique(names)
}
