/** The causes of a hold, and their messages. */

import { listNames } from '../../base/names.ts'
import { earliest } from '../../base/time/earliest.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { cut } from '../outcome.ts'
import type { HoldReason } from './annotations.ts'

export interface HoldCause {
  reason: HoldReason
  message: string
  hold: boolean
  /** Seconds after which a hold for this cause is released. */
  timeoutSeconds: number | undefined
}

export const missingClaim: HoldCause = {
  reason: 'ClaimMissing',
  message: 'the policy requires a DataSourceClaim for this workload; create one',
  hold: true,
  timeoutSeconds: undefined,
}

/** A workload waits until the API server serves the kind of claims again. */
export function claimUnknown(why: string): HoldCause {
  return { reason: 'Unresolved', message: why, hold: true, timeoutSeconds: undefined }
}

/** Returns a cause for each required claim whose location is unknown, and that holds its workload until it is known. */
export function unresolved(claims: readonly ClaimAnswer[]): HoldCause[] {
  return claims.flatMap(({ enforcement, answer, claim, onUnresolved, holdTimeoutSeconds }) =>
    enforcement === 'Required' && answer.kind === 'unknown' && onUnresolved === 'Hold'
      ? [
          {
            reason: 'Unresolved',
            message: `${claim}: ${answer.reason}`,
            hold: true,
            timeoutSeconds: holdTimeoutSeconds,
          },
        ]
      : [],
  )
}

/** Returns a cause for each required claim whose data exists nowhere. It has a hold if the claim asks for one. */
export function nowhere(claims: readonly ClaimAnswer[]): HoldCause[] {
  return claims.flatMap(({ enforcement, answer, claim, onUnsatisfiable, holdTimeoutSeconds }) =>
    enforcement === 'Required' && answer.kind === 'nowhere'
      ? [
          {
            reason: 'Unsatisfiable',
            message: `${claim}: ${answer.reason}`,
            hold: onUnsatisfiable === 'Hold',
            timeoutSeconds: holdTimeoutSeconds,
          },
        ]
      : [],
  )
}

/**
 * Returns the cause of required claims whose clusters cannot take the workload. It has a hold if one of the claims asks for one, with the shortest
 * timeout of those.
 *
 * @param why the part of the sentence after the places of the data
 */
export function unsatisfiable(claims: readonly ClaimAnswer[], why: string): HoldCause {
  const required = claims.filter(({ enforcement, answer }) => enforcement === 'Required' && answer.kind === 'located')
  const holding = required.filter(({ onUnsatisfiable }) => onUnsatisfiable === 'Hold')
  return {
    reason: 'Unsatisfiable',
    message: cut(`${required.map(describeClaim).join(' and ')}: ${why}`, MAX_MESSAGE_LENGTH),
    hold: holding.length > 0,
    timeoutSeconds: earliest(...holding.map(({ holdTimeoutSeconds }) => holdTimeoutSeconds)),
  }
}

function describeClaim({ claim, answer }: ClaimAnswer): string {
  if (answer.kind !== 'located') return claim
  return `${claim} (${listNames(answer.clusters, 3)})`
}

/** Returns a sentence about the place of the data of a claim. */
export function whereIs({ claim, answer }: ClaimAnswer): string {
  if (answer.kind !== 'located') return `${claim} is ${answer.kind}: ${answer.reason}`
  return `${claim} is in ${listNames(answer.clusters, 5)}`
}

/** Returns why the claims without a location have none. */
export function describeUnlocated(claims: readonly ClaimAnswer[]): string {
  return holdMessage(
    claims.flatMap(({ claim, answer }) => (answer.kind === 'located' ? [] : [`${claim}: ${answer.reason}`])),
  )
}

/** In characters. Messages are written into an annotation, and a workload may have many claims. */
export const MAX_MESSAGE_LENGTH = 1024

/** Joins the parts of a message, cut to the length of the message of a hold. */
export function holdMessage(parts: readonly string[]): string {
  return cut(parts.join('; '), MAX_MESSAGE_LENGTH)
}
