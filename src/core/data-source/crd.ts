/** The CRD that an API server has for DataSources, which can have fewer fields than ours. An API server drops the others. */
import type { DataSource } from '../../api/data-source.ts'
import type { Action } from '../plan.ts'

/** `upstream`: that of volcano-global, without most fields. */
export type SourceCrd = 'ours' | 'upstream'

type Locality = DataSource['spec']['locality']

/** Reduces a location to the fields of the CRD. */
export function localityFor(crd: SourceCrd, locality: Locality): Locality {
  return crd !== 'upstream' || locality === undefined ? locality : { clusterNames: locality.clusterNames ?? [] }
}

/** Reduces a status, or its merge patch, to the fields of the CRD. The condition Ready has the phase as its reason. */
export function statusFor<T extends object>(crd: SourceCrd, status: T): Partial<T> {
  if (crd === 'ours') return status
  const { phase, clusters, size, lastResolvedTime, lastError, observedGeneration, ...known } = status as T &
    Record<string, unknown>
  return known as Partial<T>
}

/**
 * Whether a source can be created with the result of its query. The CRD of volcano-global requires a location; data that does not exist is
 * in no cluster.
 */
export function isCreatable(crd: SourceCrd, attempt: { kind: string } | undefined): boolean {
  return crd !== 'upstream' || attempt?.kind === 'located' || attempt?.kind === 'nowhere'
}

/** Whether the API server has dropped the URI of the location that a write contained. */
export function dropsLocation(write: Action | undefined, written: DataSource): boolean {
  const { locality } = writtenSpec(write) ?? {}
  return Boolean(locality?.location) && !written.spec.locality?.location
}

/** Whether the API server has dropped the phase of the status that a write contained. */
export function dropsPhase(write: Action | undefined, written: DataSource): boolean {
  const status = write?.kind === 'patch' ? (write.patch['status'] as DataSource['status'] | undefined) : undefined
  return Boolean(status?.phase) && !written.status?.phase
}

/** Whether a write creates a source without a location, which the CRD of volcano-global rejects. */
export function lacksLocation(write: Action | undefined): boolean {
  return write?.kind === 'create' && writtenSpec(write)?.locality === undefined
}

function writtenSpec(write: Action | undefined): Partial<DataSource['spec']> | undefined {
  if (write?.kind === 'create') return (write.object as DataSource).spec
  return write?.kind === 'patch' ? (write.patch['spec'] as Partial<DataSource['spec']> | undefined) : undefined
}

/** Whether a source has a known location. Without one, the CRD of volcano-global requires an empty list. */
export function hasLocation(crd: SourceCrd, { spec }: DataSource): boolean {
  return crd !== 'upstream' ? spec.locality !== undefined : Boolean(spec.locality?.clusterNames?.length)
}
