/** Renders findings as SARIF 2.1.0, the form that code scanning reads. */
import { defined } from '../../../base/json.ts'
import { readBuildInfo } from '../../../telemetry/build-info.ts'
import { renderData } from '../../output.ts'

import { documentationOf, FINDINGS, type Finding, type FindingId, type Severity } from '../findings/findings.ts'
import type { Report } from '../report.ts'
import { fileUri } from './file-name.ts'

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'note' }

const IDS = Object.keys(FINDINGS) as FindingId[]

/** Renders all findings as one run, with a rule for each identifier. */
export function renderSarif({ findings }: Report): string {
  const rules = IDS.map((id) => ({
    id,
    shortDescription: { text: FINDINGS[id].title },
    help: { text: `See ${documentationOf(id)}.` },
    defaultConfiguration: { level: LEVELS[FINDINGS[id].severity] },
  }))
  const driver = { name: 'Lodestone', semanticVersion: readBuildInfo().version, rules }
  const run = { tool: { driver }, columnKind: 'utf16CodeUnits', results: findings.map(sarifResult) }
  const log = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] }
  return renderData(log, 'json')
}

function sarifResult(finding: Finding) {
  const { id, severity, message, object } = finding
  return {
    ruleId: id,
    ruleIndex: IDS.indexOf(id),
    level: LEVELS[severity],
    message: { text: object ? `${object}: ${message}` : message },
    ...sarifLocations(finding),
  }
}

function sarifLocations({ file, line, column }: Finding) {
  const uri = fileUri(file)
  if (uri === undefined) return {}
  const region = line === undefined ? undefined : defined({ startLine: line, startColumn: column || undefined })
  return { locations: [{ physicalLocation: defined({ artifactLocation: { uri }, region }) }] }
}
