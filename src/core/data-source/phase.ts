/** The phase of a DataSource: whether its data exists. */

import type { DataSource } from '../../api/data-source.ts'
import { findCondition } from '../../base/conditions.ts'

export type SourcePhase = 'Available' | 'Unavailable'

const PHASES: readonly SourcePhase[] = ['Available', 'Unavailable']

/**
 * Returns the phase; undefined if the data system has not answered. The CRD of volcano-global has no `status.phase`. There the reason of the
 * condition Ready is the phase.
 */
export function sourcePhase({ status }: DataSource): SourcePhase | undefined {
  const reason = findCondition(status?.conditions, 'Ready')?.reason
  return PHASES.find((phase) => phase === (status?.phase ?? reason))
}

/** As `sourcePhase`. Before its first answer, a source has the phase Available if a user wrote the location. */
export function phaseOrDeclared(source: DataSource): SourcePhase | undefined {
  return sourcePhase(source) ?? (source.spec.locality?.clusterNames ? 'Available' : undefined)
}
