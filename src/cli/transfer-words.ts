/** The cost of a cluster in words. */
import { listNames } from '../base/names.ts'
import { formatBytes, formatSize } from '../base/quantity.ts'
import { formatAge } from '../base/time/duration.ts'
import type { TransferCost } from '../core/transfer-cost/transfer-cost.ts'

/** Returns all figures in words. Without a price matrix, there is neither money nor time. */
export function describeCost(cost: TransferCost, hasPrices: boolean): string {
  const { localBytes, transferBytes, isMinimum } = cost
  const local = `${localBytes === undefined ? UNKNOWN_AMOUNT : formatBytes(localBytes)} local`
  const rest = hasPrices
    ? describeTransfer(cost)
    : `${bytesToTransfer(transferBytes, isMinimum)}${describeUnknown(cost)}`
  return `${local}, ${rest}`
}

/** Returns the bytes to transfer with their price and time, and what is not known. */
export function describeTransfer(cost: TransferCost): string {
  const { transferBytes, money, currency, seconds, isMinimum } = cost
  const price = money === undefined ? 'unknown price' : formatMoney(money, currency)
  const time = seconds === undefined ? 'unknown time' : formatAge(seconds * 1000)
  return `${bytesToTransfer(transferBytes, isMinimum)}, ${price}, ${time}${describeUnknown(cost)}`
}

/** Returns a sum of transfers: bytes, and their price. */
export function describeTotal({ bytes, money, currency }: TransferSum): string {
  const size = bytes === undefined ? UNKNOWN_AMOUNT : formatBytes(bytes)
  return `${size}, ${money === undefined ? 'unknown price' : formatMoney(money, currency)}`
}

interface TransferSum {
  bytes: number | undefined
  money: number | undefined
  currency: string | undefined
}

const UNKNOWN_AMOUNT = 'an unknown amount'

function bytesToTransfer(bytes: number | undefined, isMinimum: boolean): string {
  return `${bytes === undefined ? UNKNOWN_AMOUNT : formatSize(bytes, isMinimum)} to transfer`
}

const MAX_UNKNOWN = 5

function describeUnknown({ unknown }: TransferCost): string {
  return unknown.length === 0 ? '' : `, not known: ${listNames(unknown, MAX_UNKNOWN)}`
}

/** A small amount is not shown as 0. */
function formatMoney(amount: number, currency: string | undefined): string {
  const shown = amount > 0 && amount < 0.01 ? 'less than 0.01' : amount.toFixed(2)
  return currency === undefined ? shown : `${shown} ${currency}`
}
