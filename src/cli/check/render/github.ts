/** Renders findings as workflow commands, which GitHub Actions shows as annotations. */
import { FINDINGS, type Finding, type Severity } from '../findings/findings.ts'
import type { Report } from '../report.ts'
import { fileName } from './file-name.ts'

const COMMANDS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' }

/** Renders a line per finding. */
export function renderGithub({ findings }: Report): string {
  return findings.map(workflowCommand).join('')
}

function workflowCommand({ id, severity, message, object, file, line, column }: Finding): string {
  const name = fileName(file)
  const place = name === undefined ? {} : { file: name, line, col: column }
  const properties = Object.entries({ ...place, title: `${FINDINGS[id].title} (${id})` })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${escapeProperty(String(value))}`)
  return `::${COMMANDS[severity]} ${properties.join(',')}::${escapeData(object ? `${object}: ${message}` : message)}\n`
}

/** Escapes a message, as @actions/core does: a line break would end the command. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
