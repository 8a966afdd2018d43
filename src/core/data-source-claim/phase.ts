/** The phase of a DataSourceClaim that follows from the location of its data. */
import type { DataSource } from '../../api/data-source.ts'
import type { Answer } from '../data-source/locate.ts'
import { sourcePhase } from '../data-source/phase.ts'

export type ClaimPhase = 'Pending' | 'Bound' | 'Failed'

/** Returns the phase of a permitted claim with this answer. Data that exists, but in none of our clusters, is Bound. */
export function phaseOfAnswer(answer: Answer, source: DataSource | undefined): ClaimPhase {
  if (answer.kind === 'unknown') return 'Pending'
  return answer.kind === 'nowhere' && source && sourcePhase(source) === 'Unavailable' ? 'Failed' : 'Bound'
}
