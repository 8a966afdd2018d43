/** The result of a check: what a format renders. */
import { type FailOn, type Finding, fails } from './findings.ts'
import type { Reviewed } from './review.ts'

export interface Report {
  reviews: readonly Reviewed[]
  findings: readonly Finding[]
  /** Which findings make the command fail. */
  failOn: FailOn
}

/** Whether the command fails. */
export function hasFailed({ findings, failOn }: Report): boolean {
  return findings.some((each) => fails(each, failOn))
}
