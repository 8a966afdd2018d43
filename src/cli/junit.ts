/** Renders results as a JUnit report, the form that CI systems read. */

export interface JunitCase {
  name: string
  /** The group of the case, e.g. its file. */
  classname: string
  failure?: { message: string; text: string }
  /** Why there is no result. */
  skipped?: string
  /** What a reader should know about a case that did not fail for it. */
  output?: string
}

/** Renders one suite. */
export function renderJunit(suite: string, cases: readonly JunitCase[]): string {
  const failures = cases.filter(({ failure }) => failure !== undefined).length
  const skipped = cases.filter((each) => each.skipped !== undefined).length
  const counts = `tests="${cases.length}" failures="${failures}" errors="0" skipped="${skipped}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="${escapeXml(suite)}" ${counts}>`,
    ...cases.map(renderCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function renderCase({ name, classname, failure, skipped, output }: JunitCase): string {
  const open = `    <testcase name="${escapeXml(name)}" classname="${escapeXml(classname)}"`
  const lines = [
    ...(skipped === undefined ? [] : [`<skipped message="${escapeXml(skipped)}"/>`]),
    ...(failure ? [`<failure message="${escapeXml(failure.message)}">${escapeXml(failure.text)}</failure>`] : []),
    ...(output ? [`<system-out>${escapeXml(output)}</system-out>`] : []),
  ]
  if (lines.length === 0) return `${open}/>`
  return [`${open}>`, ...lines.map((line) => `      ${line}`), '    </testcase>'].join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes markup, and replaces the control characters that XML 1.0 does not allow. */
function escapeXml(text: string): string {
  return text
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
}
