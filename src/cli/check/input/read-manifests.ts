/** Reads the manifests to check, with the place of each field, from files, folders and standard input. */
import { constants, openSync, type Stats, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { basename, resolve } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { apiVersionOf, groupOf, type K8sObject, type ResourceType } from '../../../api/meta.ts'
import { suggest } from '../../../base/suggest.ts'
import { summarizeErrors } from '../../../store/folder/files.ts'
import { type Manifest, type ManifestError, parseManifests } from '../../../store/folder/manifests.ts'
import { decodeText, readTextFile, refuseLarge, UnreadableFileError } from '../../../store/folder/read-text.ts'
import { isGone, scanFolder } from '../../../store/folder/scan.ts'
import { UsageError } from '../../command.ts'
import { type Finding, finding } from '../findings/findings.ts'
import { findMistypedFields } from './mistyped-fields.ts'
import { fieldPlace, objectTitle } from './place-manifests.ts'
import { unservedKind } from './served-kinds.ts'
import { isSystemFile, SystemFiles } from './system-files.ts'
import { validatedTypes, validateMetadata, validateUnreviewed } from './validate-manifest.ts'

/** The file name of standard input in messages. */
export const STANDARD_INPUT = '(standard input)'

export interface GivenManifests {
  manifests: Manifest[]
  /** The invalid files and manifests. */
  problems: Finding[]
  /** The files of data systems. Their findings do not affect the decisions on the manifests. */
  systems: SystemFiles
}

/** Reads all manifests, until the signal aborts. Throws `UsageError` for a file that does not exist. */
export async function readManifests(paths: readonly string[], signal: AbortSignal): Promise<GivenManifests> {
  const given: GivenManifests = { manifests: [], problems: [], systems: new SystemFiles() }
  const inputs = new Map<string, Input>()
  // A file that is named twice is read once.
  for (const path of paths) {
    for (const input of await findInputs(path, given.problems)) inputs.set(resolve(input.file), input)
  }
  for (const input of inputs.values()) {
    signal.throwIfAborted()
    await readInput(given, input, signal)
  }
  return withValid(given)
}

/** The text of a manifest file. */
export interface ManifestText {
  file: string
  text: string
}

/** Reads manifests from texts, in order. */
export function parseTexts(texts: readonly ManifestText[]): GivenManifests {
  const given: GivenManifests = { manifests: [], problems: [], systems: new SystemFiles() }
  for (const text of texts) addText(given, text)
  return withValid(given)
}

function withValid(given: GivenManifests): GivenManifests {
  const { manifests, problems } = given
  return { ...given, manifests: manifests.filter((manifest) => isValid(manifest, problems)) }
}

interface Input {
  file: string
  read(signal: AbortSignal): Promise<string>
}

/** The files of an argument of `-f`. */
async function findInputs(path: string, problems: Finding[]): Promise<Input[]> {
  if (path === '-') return [{ file: STANDARD_INPUT, read: readStandardInput }]
  const fail = (message: string, file = path) => void problems.push(finding('invalid-manifest', message, { file }))
  const stats = readStats(path, fail)
  if (stats?.isDirectory()) {
    const { files, errors } = await scanFolder(path)
    for (const { file, message } of errors) fail(message, file)
    return files.map((scanned) => ({ file: scanned.file, read: () => readTextFile(scanned) }))
  }
  if (stats?.isFIFO()) return [{ file: path, read: (signal) => readPipe(path, signal) }]
  if (stats?.isFile()) return [{ file: path, read: () => readTextFile({ file: path, bytes: stats.size }) }]
  if (stats) fail('is not a file, a folder or a pipe')
  return []
}

function readStats(path: string, fail: (message: string) => void): Stats | undefined {
  let stats: Stats | undefined
  try {
    stats = statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    // For example a symlink to itself, or a folder that the user may not read.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    fail(`cannot be read: ${(error as Error).message}`)
    return undefined
  }
  if (!stats && /^https?:\/\//.test(path))
    throw new UsageError(`${path} is a URL, and only files are read; pipe its text into -f -`)
  if (!stats) throw new UsageError(`${path || "''"} does not exist`)
  return stats
}

async function readInput(given: GivenManifests, { file, read }: Input, signal: AbortSignal): Promise<void> {
  let text: string
  try {
    text = await read(signal)
  } catch (error) {
    if (!(error instanceof UnreadableFileError || isGone(error))) throw error
    given.problems.push(finding('invalid-manifest', (error as Error).message, { file }))
    return
  }
  addText(given, { file, text })
}

function addText({ manifests, problems, systems }: GivenManifests, { file, text }: ManifestText): void {
  if (isSystemFile(text)) {
    systems.add(file, text)
    return
  }
  const parsed = parseManifests(text, file, { positions: true, generateName: true })
  // A file that is no manifest, such as a README, would have an error for each of its lines.
  const isOther = parsed.manifests.length === 0 || parsed.errors.some(({ isSyntax }) => isSyntax)
  const errors = isOther
    ? [inputOfTool(file, text, parsed.errors) ?? summarizeErrors(parsed.errors) ?? []].flat()
    : parsed.errors
  for (const error of errors) problems.push(finding('invalid-manifest', error.message, error))
  for (const manifest of parsed.manifests) manifests.push(manifest)
}

/** Whether the API server accepts a manifest that no webhook validates. */
function isValid(manifest: Manifest, problems: Finding[]): boolean {
  const { object } = manifest
  const type = validatedTypes.find((each) => isMeant(each, object))
  const unserved = unservedKind(object)
  const ofKind =
    type && object.apiVersion !== apiVersionOf(type)
      ? [{ path: 'apiVersion', message: `${object.apiVersion} is not served; write ${apiVersionOf(type)}` }]
      : unserved
        ? [unserved]
        : validateUnreviewed(object)
  const errors = [...validateMetadata(object), ...ofKind, ...findMistypedFields(object)]
  for (const { path, message } of errors) {
    problems.push(finding('invalid-manifest', `${path}: ${message}`, fieldPlace(manifest, path), objectTitle(object)))
  }
  return errors.length === 0
}

/** Whether an object is meant to be of a kind: its group is right, or mistyped. Other projects have kinds of the same name, such as Cluster. */
function isMeant({ group, kind }: ResourceType, object: K8sObject): boolean {
  if (kind !== object.kind) return false
  const given = groupOf(object.apiVersion)
  return given === group || kind === dataSourceClaims.kind || suggest(given, [group]) !== ''
}

const TOOLS: readonly { file: RegExp; text?: RegExp; message: string }[] = [
  {
    file: /^kustomization\.ya?ml$/,
    message: 'is the input of kustomize and no manifest; check the output of kustomize build',
  },
  {
    file: /^(Chart|values)\.ya?ml$/,
    message: 'is part of a Helm chart and no manifest; check the output of helm template',
  },
  {
    file: /./,
    text: /\{\{-?\s*([.$/]|(if|else|end|range|with|define|include|template|block|toYaml|tpl|printf|quote|default)\b)/,
    message: 'is a Helm template and no manifest; check the output of helm template',
  },
]

/** Returns one error for the file of a tool, at the place of its first error; undefined for another file. */
function inputOfTool(file: string, text: string, [first]: readonly ManifestError[]): ManifestError | undefined {
  const tool = TOOLS.find((each) => each.file.test(basename(file)) && (each.text?.test(text) ?? true))
  return first && tool && { ...first, message: tool.message }
}

const MAX_BYTES = 64 * 1024 * 1024

/** Throws `UnreadableFileError` if the input is too large or is not UTF-8. */
function readStandardInput(signal: AbortSignal): Promise<string> {
  return readStream(process.stdin, signal)
}

/**
 * Reads a named pipe, or the pipe of `<(command)` in a shell. Throws `UnreadableFileError` as above, and if it cannot be opened.
 *
 * A pipe without a writer blocks an open, and a process cannot end during a blocking call.
 */
async function readPipe(path: string, signal: AbortSignal): Promise<string> {
  return readStream(new Socket({ fd: openPipe(path), readable: true, writable: false }), signal)
}

/** The socket closes it. */
function openPipe(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw new UnreadableFileError(`cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

async function readStream(stream: Readable, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of addAbortSignal(signal, stream)) {
    const part = Buffer.from(chunk)
    bytes += part.length
    refuseLarge(bytes, MAX_BYTES)
    chunks.push(part)
  }
  return decodeText(Buffer.concat(chunks))
}
