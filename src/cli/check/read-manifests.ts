/** Reads the manifests to check, with the place of each field, from files, folders and standard input. */
import { statSync } from 'node:fs'
import { apiVersionOf, groupOf } from '../../api/meta.ts'
import { summarizeErrors } from '../../store/folder/files.ts'
import { type Manifest, parseManifests } from '../../store/folder/manifests.ts'
import { readTextFile, UnreadableFileError } from '../../store/folder/read-text.ts'
import { isGone, scanFolder } from '../../store/folder/scan.ts'
import { UsageError } from '../command.ts'
import { type Finding, finding } from './findings/findings.ts'
import { placeOf, titleOf } from './input/place-manifests.ts'
import { validatedTypes, validateUnreviewed } from './input/validate-manifest.ts'
import { readStandardInput } from './standard-input.ts'
import { systemFileFindings } from './system-files.ts'

/** The file name of standard input in messages. */
export const STANDARD_INPUT = '(standard input)'

export interface GivenManifests {
  manifests: Manifest[]
  /** The invalid files and manifests. */
  problems: Finding[]
  /** One finding or more for each file of a data system. They do not affect the decisions on the manifests. */
  systems: Finding[]
}

/** Reads all manifests. Throws `UsageError` for a file that does not exist. */
export async function readManifests(paths: readonly string[]): Promise<GivenManifests> {
  const given: GivenManifests = { manifests: [], problems: [], systems: [] }
  // A file that is named twice is read once.
  for (const path of new Set(paths)) await readInto(given, path)
  const { manifests, problems } = given
  return { ...given, manifests: manifests.filter((manifest) => isValid(manifest, problems)) }
}

async function readInto(given: GivenManifests, path: string): Promise<void> {
  if (path === '-') return readFile(given, STANDARD_INPUT, readStandardInput)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) throw new UsageError(`${path} does not exist`)
  if (!stats.isDirectory()) return readFile(given, path, () => readTextFile({ file: path, bytes: stats.size }))
  const { files, errors } = await scanFolder(path)
  given.problems.push(...errors.map(({ file, message }) => finding('invalid-manifest', message, { file })))
  for (const scanned of files) await readFile(given, scanned.file, () => readTextFile(scanned))
}

async function readFile({ manifests, problems, systems }: GivenManifests, file: string, read: () => Promise<string>) {
  let text: string
  try {
    text = await read()
  } catch (error) {
    if (!(error instanceof UnreadableFileError || isGone(error))) throw error
    problems.push(finding('invalid-manifest', (error as Error).message, { file }))
    return
  }
  const system = systemFileFindings(file, text)
  if (system) {
    systems.push(...system)
    return
  }
  const parsed = parseManifests(text, file, { positions: true, generateName: true })
  // A file that is no manifest, such as a README, would have an error for each of its lines.
  const isOther = parsed.manifests.length === 0 || parsed.errors.some(({ isSyntax }) => isSyntax)
  const errors = isOther ? [summarizeErrors(parsed.errors) ?? []].flat() : parsed.errors
  problems.push(...errors.map((error) => finding('invalid-manifest', error.message, error)))
  manifests.push(...parsed.manifests)
}

/** Whether the API server accepts a manifest that no webhook validates. */
function isValid(manifest: Manifest, problems: Finding[]): boolean {
  const { object } = manifest
  const type = validatedTypes.find(({ group, kind }) => kind === object.kind && group === groupOf(object.apiVersion))
  const errors =
    type && object.apiVersion !== apiVersionOf(type)
      ? [{ path: 'apiVersion', message: `${object.apiVersion} is not served; write ${apiVersionOf(type)}` }]
      : validateUnreviewed(object)
  for (const { path, message } of errors) {
    problems.push(finding('invalid-manifest', `${path}: ${message}`, placeOf(manifest, path), titleOf(object)))
  }
  return errors.length === 0
}
