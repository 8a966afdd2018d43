/** The cost of a cluster in words. */
import { formatBytes, formatSize } from '../base/quantity.ts'
import { formatAge } from '../base/time/duration.ts'
import type { TransferCost } from '../core/transfer-cost/transfer-cost.ts'

/** Returns all figures in words. Without a price matrix, there is neither money nor time. */
export function describeCost(cost: TransferCost, hasPrices: boolean): string {
  const { localBytes, unknown } = cost
  const local = localBytes === undefined ? 'an unknown amount' : formatBytes(localBytes)
  const missing = unknown.length > 0 ? [`not known: ${unknown.slice(0, MAX_UNKNOWN).join(', ')}${moreOf(unknown)}`] : []
  return [`${local} local`, describeTransfer(cost, hasPrices), ...missing].join(', ')
}

/** Returns the bytes to transfer in words, with the price and the time. */
function describeTransfer(cost: TransferCost, hasPrices: boolean): string {
  const { transferBytes, money, currency, seconds, isMinimum } = cost
  const bytes = transferBytes === undefined ? 'an unknown amount' : formatSize(transferBytes, isMinimum)
  if (!hasPrices) return `${bytes} to transfer`
  const price = money === undefined ? 'unknown price' : `${formatMoney(money)}${currency ? ` ${currency}` : ''}`
  const time = seconds === undefined ? 'unknown time' : formatAge(seconds * 1000)
  return `${bytes} to transfer, ${price}, ${time}`
}

const MAX_UNKNOWN = 5

function moreOf({ length }: readonly string[]): string {
  return length > MAX_UNKNOWN ? ` and ${length - MAX_UNKNOWN} more` : ''
}

/** A small amount is not shown as 0. */
function formatMoney(amount: number): string {
  return amount > 0 && amount < 0.01 ? 'less than 0.01' : amount.toFixed(2)
}
