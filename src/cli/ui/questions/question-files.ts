/** The texts of manifests in a question: their schema, and how many are read. */

import { parseJson } from '../../../base/json.ts'
import { type GivenManifests, type ManifestText, parseTexts } from '../../check/input/read-manifests.ts'
import type { BodyProblem } from '../replies.ts'

/** Of the body, with all manifests. */
export const MAX_MANIFEST_BYTES = 1024 * 1024
const MAX_FILES = 100
/** A review takes milliseconds, and blocks the process. */
const MAX_OBJECTS = 100
/** Some documents may be empty. */
const MAX_DOCUMENTS = 2 * MAX_OBJECTS

/** The schema of a name. */
export const TEXT = { type: 'string', minLength: 1, maxLength: 253 } as const

/** The schema of `files`. */
export const FILES = {
  type: 'array',
  minItems: 1,
  maxItems: MAX_FILES,
  items: {
    type: 'object',
    required: ['file', 'text'],
    properties: { file: TEXT, text: { type: 'string', maxLength: MAX_MANIFEST_BYTES } },
  },
} as const

/** Parses the files, or says that they have too many objects for one question. */
export function readFiles(
  files: readonly ManifestText[],
  command: string,
): { given: GivenManifests; problems?: never } | { given?: never; problems: BodyProblem[] } {
  const message = `have more than ${MAX_OBJECTS} objects; give fewer at once, or run ${command}`
  const tooMany = { problems: [{ path: 'files', message }] }
  if (files.reduce((sum, { text }) => sum + countDocuments(text), 0) > MAX_DOCUMENTS) return tooMany
  const given = parseTexts(files)
  return given.manifests.length > MAX_OBJECTS ? tooMany : { given }
}

/** An estimate, before the texts are parsed: to parse many empty objects of JSON takes minutes. */
function countDocuments(text: string): number {
  return text.split(/^---/m).reduce((sum, chunk) => sum + countObjects(chunk), 0)
}

/** JSON objects may follow one another without a separator. */
function countObjects(chunk: string): number {
  if (!/^\s*\{/.test(chunk) || parseJson(chunk) !== undefined) return 1
  return chunk.split(/\}(?=\s*\{)/).length
}
