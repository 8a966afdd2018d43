/** Reads the configuration file: one YAML or JSON document. */
import { readFileSync } from 'node:fs'
import { LineCounter, parseAllDocuments } from 'yaml'
import { describeFileError } from '../../base/file-error.ts'
import { findJsonComment, JSON_COMMENT_MESSAGE } from '../../base/json-comment.ts'
import { UserError } from '../../base/user-error.ts'

/** The configuration is invalid; the message names the file and the place of every error. */
export class ConfigError extends UserError {
  override name = 'ConfigError'
}

/** The yaml package stops at aliases that would fill the memory. */
const MAX_ALIASES = 100

/** Returns the content of a configuration file; undefined if it is empty. Throws `ConfigError`. */
export function readConfigFile(file: string): unknown {
  const text = readText(file)
  const comment = findJsonComment(text)
  if (comment !== undefined) throw new ConfigError(`${file}:${comment.line}: ${JSON_COMMENT_MESSAGE}`)
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' })
  const lineAt = (offset = 0) => lines.linePos(offset).line
  const mistakes = [...documents].flatMap(({ errors }) => errors)
  if (mistakes.length > 0) {
    throw new ConfigError(
      mistakes.map(({ pos, message }) => `${file}:${lineAt(pos[0])}: is not valid YAML: ${message}`).join('\n'),
    )
  }
  const [document, second] = [...documents]
  if (second !== undefined) {
    throw new ConfigError(`${file}:${lineAt(second.range?.[0])}: has a second document; remove the line ---`)
  }
  try {
    return document?.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (cause) {
    throw new ConfigError(`${file}: ${(cause as Error).message}`, { cause })
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${file}: ${describeFileError(cause)}`, { cause })
  }
}
