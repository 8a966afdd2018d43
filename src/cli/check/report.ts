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

/** Divides the findings: those of each object, and the others. */
export function findingsByReview({ reviews, findings }: Report): {
  objects: { review: Reviewed; findings: Finding[] }[]
  others: Finding[]
} {
  const byObject = Map.groupBy(findings, ({ object }) => object)
  const shown = new Set<Finding>()
  const objects = reviews.map((review) => {
    const { object, derivedFrom } = review
    const own = [object, ...(derivedFrom ? [derivedFrom] : [])].flatMap((title) => byObject.get(title) ?? [])
    const first = own.filter((each) => !shown.has(each))
    for (const each of first) shown.add(each)
    return { review, findings: first }
  })
  return { objects, others: findings.filter((each) => !shown.has(each)) }
}
