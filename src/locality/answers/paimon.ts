/** Decides whether a table of Paimon has its files at its location. */
import type { Members } from './members.ts'

/** Why such a table has no location, after "it". */
export const EXTERNAL_PATHS = 'has no data at its location: its files are at the property data-file.external-paths'

/** Whether a table writes its files to other places than its location, perhaps to several. By default, the strategy is `none`. */
export function hasExternalPaths(properties: Members): boolean {
  const strategy = properties['data-file.external-paths.strategy']
  const isUsed = typeof strategy === 'string' && strategy !== '' && strategy.toLowerCase() !== 'none'
  return isUsed && properties['data-file.external-paths'] !== undefined
}
