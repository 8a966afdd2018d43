/** Checks files of data systems offline: every error of a file, with its line and a suggestion. */
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import { parseSystemConfig, SystemConfigError } from '../../locality/config/config.ts'
import { plugins } from '../../locality/plugins/index.ts'
import { positionOf } from '../../store/folder/positions.ts'
import { type Finding, finding } from './findings/findings.ts'

/** Returns the errors of a file of a data system; undefined for a file of another form. */
export function systemFileFindings(file: string, text: string): Finding[] | undefined {
  const lines = new LineCounter()
  // Tabs are valid in JSON, but not in YAML.
  const document = parseDocument(text.replaceAll('\t', ' '), {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
  })
  const { contents } = document
  if (!isMap(contents) || !isSystem(contents.items.map(({ key }) => (isScalar(key) ? key.value : key))))
    return undefined
  try {
    const { system, plugin } = parseSystemConfig(file, text, plugins)
    return [finding('valid-system', `data system ${system}, plugin ${plugin}`, { file, line: 1 })]
  } catch (error) {
    if (!(error instanceof SystemConfigError)) throw error
    if (error.errors.length === 0) return [finding('invalid-system', error.message.slice(file.length + 2), { file })]
    return error.errors.map(({ path, message }) =>
      finding('invalid-system', `${path}: ${message}`, { file, ...positionOf(path, contents, document, lines) }),
    )
  }
}

/** Whether the fields are those of a data system, and not those of a manifest. */
function isSystem(fields: readonly unknown[]): boolean {
  return !fields.includes('apiVersion') && (fields.includes('system') || fields.includes('plugin'))
}
