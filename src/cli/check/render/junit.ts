/** Renders a report as JUnit: a test case per object, which fails with its findings. */
import { defined } from '../../../base/json.ts'
import { type JunitCase, renderJunit } from '../../junit.ts'
import { type Finding, type FindingId, fails } from '../findings/findings.ts'
import { findingsByReview, type Report } from '../report.ts'
import { describePlace } from './text.ts'

/**
 * Renders one suite. An object for which nothing was decided is skipped; a finding without an object is a test case of its own. Findings that
 * do not fail are the output of their test case.
 */
export function renderChecks(report: Report): string {
  const { objects, others } = findingsByReview(report)
  const cases = [
    ...objects.map(({ review, findings }) => {
      const { derivedFrom, object, manifest } = review
      return junitCase({ name: derivedFrom ?? object, classname: manifest.file }, findings, report)
    }),
    ...others.map((each) =>
      junitCase({ name: each.object ?? each.id, classname: each.file ?? 'input' }, [each], report),
    ),
  ]
  return renderJunit('lodestone check', cases)
}

/** Findings about objects for which nothing was decided. */
const SKIPS: ReadonlySet<FindingId> = new Set(['no-policy', 'not-checked'])

function junitCase(named: Pick<JunitCase, 'name' | 'classname'>, findings: readonly Finding[], report: Report) {
  const { failing = [], others = [] } = Object.groupBy(findings, (each) =>
    fails(each, report.failOn) ? 'failing' : 'others',
  )
  const [first] = failing
  const skipped = first ? undefined : others.find(({ id }) => SKIPS.has(id))
  const output = describe(others.filter((each) => each !== skipped))
  return defined({
    ...named,
    skipped: skipped?.message,
    failure: first && { message: first.message, text: describe(failing) },
    output: output || undefined,
  })
}

function describe(findings: readonly Finding[]): string {
  return findings
    .map((each) => `${describePlace(each)}: ${each.severity}: ${each.message} (${each.id})`.replace(/^: /, ''))
    .join('\n')
}
