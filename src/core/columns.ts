/** Texts for the columns of `kubectl get`, which prints the fields of an object without formatting them. */
import { formatBytes } from '../base/quantity.ts'

/** The most names in a column. */
const NAMES_SHOWN = 8

/** Formats a size, e.g. `5.0Gi`, or `>=5.0Gi` if it was not measured completely. */
export function sizeColumn(bytes: number, isMinimum = false): string {
  return `${isMinimum ? '>=' : ''}${formatBytes(bytes).replace(/ |B$/g, '')}`
}

/** Formats names, e.g. `member1,member2`. A long list is cut. */
export function namesColumn(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).join(',')
  return names.length > NAMES_SHOWN ? `${shown},…` : shown
}
