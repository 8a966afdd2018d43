/** Checks files of data systems offline: every error of a file, with its line and a suggestion. */
import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import { defined } from '../../../base/json.ts'
import { duplicateSystem, parseSystemConfig, type SystemConfig } from '../../../locality/config/config.ts'
import { SystemConfigError } from '../../../locality/config/system-config-error.ts'
import { plugins } from '../../../locality/plugins/index.ts'
import { fieldPosition } from '../../../store/folder/positions.ts'
import { type Finding, finding } from '../findings/findings.ts'

/** Collects the findings of files of data systems. A system may be in one file only. */
export class SystemFiles {
  readonly findings: Finding[] = []
  readonly #files = new Map<string, string>()

  /** Adds the findings of a file. Returns its configuration if it is valid. */
  add(file: string, text: string): SystemConfig | undefined {
    const find = positionsIn(text)
    try {
      const config = parseSystemConfig(file, text, plugins)
      const { system, plugin } = config
      const other = this.#files.get(system)
      if (other !== undefined)
        throw new SystemConfigError(file, { reason: '', errors: [duplicateSystem(system, other)] })
      this.#files.set(system, file)
      for (const { path, message } of config.warnings)
        this.findings.push(finding('system-warning', `${path}: ${message}`, { file, ...find(path) }))
      this.findings.push(finding('valid-system', `data system ${system}, plugin ${plugin}`, { file, line: 1 }))
      return config
    } catch (error) {
      if (!(error instanceof SystemConfigError)) throw error
      const { errors, line, reason } = error
      for (const { path, message } of errors)
        this.findings.push(finding('invalid-system', `${path}: ${message}`, { file, ...find(path) }))
      if (errors.length === 0) this.refuse(file, reason, line)
      return undefined
    }
  }

  /** Adds the finding of a file that cannot be read. */
  refuse(file: string, reason: string, line?: number): void {
    this.findings.push(finding('invalid-system', reason, defined({ file, line })))
  }
}

const SYSTEM_FIELDS = ['system', 'plugin', 'locationmapping']
/** Most texts have none of the fields, and need not be parsed twice. */
const MAY_BE_SYSTEM = new RegExp(`(${SYSTEM_FIELDS.join('|')})["']?\\s*:`, 'i')

/** Whether the fields are those of a data system, and not those of a manifest. */
export function isSystemFile(text: string): boolean {
  if (!MAY_BE_SYSTEM.test(text)) return false
  const { contents } = parse(text)
  const keys = isMap(contents) ? contents.items.map(({ key }) => (isScalar(key) ? key.value : key)) : []
  // Files of volcano-global may have any capitals, and no system.
  const fields = new Set(keys.map((key) => String(key).toLowerCase()))
  return !fields.has('apiversion') && SYSTEM_FIELDS.some((field) => fields.has(field))
}

function positionsIn(text: string) {
  const lines = new LineCounter()
  const document = parse(text, lines)
  const { contents } = document
  return (path: string) => (contents ? fieldPosition(path, contents, document, lines) : { line: 1, column: 1 })
}

function parse(text: string, lineCounter = new LineCounter()): Document.Parsed {
  // Tabs are valid in JSON, but not in YAML.
  const options = { lineCounter, prettyErrors: false, logLevel: 'silent' } as const
  // The reader of the file finds keys that are there twice. The parser would compare each key with each other.
  return parseDocument(text.replaceAll('\t', ' '), { ...options, uniqueKeys: false })
}
