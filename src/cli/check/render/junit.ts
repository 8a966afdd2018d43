/** Renders a report as JUnit: a test case per object, which fails with its findings. */
import { defined } from '../../../base/json.ts'
import { type JunitCase, renderJunit } from '../../junit.ts'
import { type Finding, fails } from '../findings/findings.ts'
import { findingsByReview, type Report } from '../report.ts'
import { describePlace } from './text.ts'

/** Renders one suite. An object for which nothing was decided is skipped; a finding without an object is a test case of its own. */
export function renderChecks(report: Report): string {
  const { objects, others } = findingsByReview(report)
  const failing = (findings: readonly Finding[]) => findings.filter((each) => fails(each, report.failOn))
  return renderJunit('lodestone check', [
    ...objects.map(({ review, findings }) => {
      const { derivedFrom, object, manifest } = review
      const skipped = findings.find(({ id }) => id === 'no-policy')
      return junitCase(derivedFrom ?? object, manifest.file, failing(findings), skipped)
    }),
    ...failing(others).map((each) => junitCase(each.object ?? each.id, each.file ?? 'input', [each])),
  ])
}

function junitCase(name: string, classname: string, failing: readonly Finding[], skipped?: Finding): JunitCase {
  const [first] = failing
  if (!first) return defined({ name, classname, skipped: skipped?.message })
  const text = failing
    .map((each) => `${describePlace(each)}: ${each.severity}: ${each.message} (${each.id})`)
    .join('\n')
  return { name, classname, failure: { message: first.message, text } }
}
