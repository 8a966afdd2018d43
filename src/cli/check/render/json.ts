/** Renders a report as JSON, and the stored objects as YAML. */
import { defined } from '../../../base/json.ts'
import { diffJson } from '../../../core/admission/diff.ts'
import { OUTPUT_API_VERSION, renderData, renderYaml } from '../../output.ts'
import { documentationOf } from '../findings/findings.ts'
import type { Report } from '../report.ts'
import type { Reviewed } from '../review/review-objects.ts'

/** Renders the findings and the reviews of all objects. docs/guides/check.md describes the fields. */
export function renderJson({ reviews, findings, hub }: Report): string {
  const report = defined({
    apiVersion: OUTPUT_API_VERSION,
    kind: 'CheckReport',
    hub,
    findings: findings.map((each) => ({ ...each, documentation: documentationOf(each.id) })),
    objects: reviews.map(objectRow),
  })
  return renderData(report, 'json')
}

/** Returns the row of an object in a report. */
export function objectRow(review: Reviewed) {
  const {
    object,
    derivedFrom,
    operation,
    outcome,
    decision,
    reason,
    warnings,
    errors,
    before,
    after,
    manifest,
    effect,
  } = review
  const { file, line, column } = manifest
  return defined({
    object,
    derivedFrom: derivedFrom || undefined,
    file,
    line,
    column,
    operation,
    outcome,
    decision: decision || undefined,
    reason: reason || undefined,
    effect,
    warnings,
    errors,
    patch: before === after ? [] : diffJson(before, after),
  })
}

/** Renders the objects as an API server would store them. */
export function renderObjects({ reviews }: Report): string {
  const stored = reviews.filter(({ outcome }) => outcome === 'allowed' || outcome === 'patched')
  return stored.map(({ after }) => renderYaml(after)).join('---\n')
}
