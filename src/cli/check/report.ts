/** The result of a check: what a format renders. */
import { type FailOn, type Finding, fails } from './findings/findings.ts'
import type { EffectCounts } from './review/effect.ts'
import type { Reviewed } from './review/review-objects.ts'

export interface Report {
  reviews: readonly Reviewed[]
  findings: readonly Finding[]
  /** Which findings make the command fail. */
  failOn: FailOn
  /** What happens to the workloads of the hub; absent without a hub. */
  hub?: HubSummary
}

export interface HubSummary extends EffectCounts {
  /** The number of concerned workloads beyond the limit. */
  notReviewed: number
}

/** Whether the command fails. */
export function hasFailed({ findings, failOn }: Report): boolean {
  return findings.some((each) => fails(each, failOn))
}

/** Counts the given objects: those to which a rule applies, and the others. */
export function countObjects({ reviews }: Report): { checked: number; notChecked: number } {
  const given = new Map(reviews.map(({ manifest, isNotChecked = false }) => [manifest, isNotChecked]))
  const notChecked = [...given.values()].filter((each) => each).length
  return { checked: given.size - notChecked, notChecked }
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
