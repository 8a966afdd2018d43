/** The section `transferCosts` of the configuration: the price matrix. */
import type { FieldError } from '../../base/field-errors.ts'
import {
  currencySchema,
  openTransferMatrix,
  type TransferConfig,
  type TransferLink,
  type TransferMatrix,
  transferLinksSchema,
  validateTransferLinks,
} from '../../core/transfer-cost/matrix.ts'
import { field, optional, section } from './section.ts'

export const transferCostsSection = section({
  currency: optional<string>(currencySchema, 'Shown behind amounts of money, e.g. `USD`. No prices are converted.'),
  links: field<TransferLink[], typeof transferLinksSchema>(
    transferLinksSchema,
    [],
    'Prices and bandwidths between clusters, see the table below.',
  ),
})

/** Returns the errors that the schema does not find. */
export function transferCostErrors({ links }: TransferConfig): FieldError[] {
  return validateTransferLinks(links)
}

/** Compiled once for each configuration, since a matrix remembers the rates that it found. */
const compiled = new WeakMap<TransferConfig, TransferMatrix | undefined>()

/** Returns the matrix of a valid configuration; undefined if it has no entries. */
export function configuredTransferMatrix({
  transferCosts,
}: {
  transferCosts: TransferConfig
}): TransferMatrix | undefined {
  if (!compiled.has(transferCosts)) compiled.set(transferCosts, openTransferMatrix(transferCosts))
  return compiled.get(transferCosts)
}
