/** The table of output formats. */
import type { Paint } from '../../command.ts'
import type { Report } from '../report.ts'
import { renderGithub } from './github.ts'
import { renderJson, renderObjects } from './json.ts'
import { renderChecks } from './junit.ts'
import { renderSarif } from './sarif.ts'
import { renderDiff, renderText } from './text.ts'

interface Format {
  render(report: Report, paint: Paint): string
  /** Whether the output has objects only. Then the findings go to standard error. */
  hasNoFindings?: true
}

export const FORMATS = {
  text: { render: renderText },
  diff: { render: renderDiffs, hasNoFindings: true },
  json: { render: renderJson },
  yaml: { render: renderObjects, hasNoFindings: true },
  junit: { render: renderChecks },
  sarif: { render: renderSarif },
  github: { render: renderGithub },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS

function renderDiffs({ reviews }: Report, paint: Paint): string {
  const diffs = reviews.map((review) => renderDiff(review, paint)).filter((diff) => diff !== '')
  return diffs.map((diff) => `${diff}\n`).join('\n')
}
