/** The page docs/reference/findings.md: the findings of `check`. */
import { FAIL_ON, type FailOn, FINDINGS, type Severity } from '../check/findings/findings.ts'
import { codes, GENERATED, markdownTable } from './markdown.ts'

/** Returns the text of docs/reference/findings.md. */
export function findingsPage(): string {
  const findings: [string, { severity: Severity; failsOn?: FailOn; title: string }][] = Object.entries(FINDINGS)
  return `# Findings

${GENERATED}

This page lists the findings of [\`lodestone check\`](../guides/check.md). Their identifiers are [API](versioning.md); the links lead to meaning and
remedy.

${markdownTable(
  ['Finding', 'Severity', 'Fails', 'Meaning'],
  findings.map(([id, { severity, failsOn, title }]) => [
    `[\`${id}\`](../guides/check.md#${id})`,
    severity,
    failsOn === undefined ? 'never' : codes([failsOn]),
    title,
  ]),
)}

The third column has the first value of \`--fail-on\` with which the command exits with 1. The values are ${codes(FAIL_ON)};
each includes those before it. \`ineffective\` is the default.
`
}
