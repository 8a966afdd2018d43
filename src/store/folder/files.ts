/** Reads the manifests of a folder: only changed files again. For an invalid file, the last valid objects stay. */
import type { K8sObject } from '../../api/meta.ts'
import type { StoreObserver } from '../observer.ts'
import { type Manifest, type ManifestError, parseManifests } from './manifests.ts'
import { readTextFile } from './read-text.ts'
import { isGone, type ScannedFile, scanFolder } from './scan.ts'

/** An error of an object: its path in the object, and its message. */
interface FieldMistake {
  path: string
  message: string
}

export type ValidateManifest = (object: K8sObject) => readonly FieldMistake[]

interface ReadFile {
  stamp: string | undefined
  text: string | undefined
  manifests: readonly Manifest[]
  /** The last reported error of the file, so that the next scan does not report it again. */
  complaint?: string
}

export class FolderFiles {
  readonly #directory: string | undefined
  readonly #observer: StoreObserver
  readonly #validate: ValidateManifest
  #files = new Map<string, ReadFile>()
  #complaints = new Set<string>()

  constructor(directory: string | undefined, observer: StoreObserver, validate: ValidateManifest = () => []) {
    this.#directory = directory
    this.#observer = observer
    this.#validate = validate
  }

  /** Reads the changed files. Returns all manifests, by path and then line. Manifests of unchanged files are the same objects as before. */
  async refresh(): Promise<readonly Manifest[]> {
    const scan = this.#directory === undefined ? { files: [], errors: [] } : await scanFolder(this.#directory)
    const complaints = new Set<string>()
    for (const { file, message } of scan.errors) {
      const complaint = `${file}: ${message}`
      complaints.add(complaint)
      if (!this.#complaints.has(complaint)) this.#observer.fileError({ file, message })
    }
    this.#complaints = complaints
    const files = new Map<string, ReadFile>()
    for (const scanned of scan.files) files.set(scanned.file, await this.#read(scanned))
    // A file below an unreadable folder is not deleted: its last content stays valid.
    for (const [file, read] of this.#files) {
      if (!files.has(file) && scan.errors.some((error) => isBelow(file, error.file))) files.set(file, read)
    }
    this.#files = files
    return [...files.values()].flatMap((read) => read.manifests)
  }

  async #read(scanned: ScannedFile): Promise<ReadFile> {
    const before = this.#files.get(scanned.file)
    if (before?.stamp !== undefined && before.stamp === scanned.stamp) return before
    const read: ReadFile = { stamp: scanned.stamp, text: undefined, manifests: before?.manifests ?? [] }
    try {
      read.text = await readTextFile(scanned)
    } catch (error) {
      // The file was deleted after the scan. The next scan removes its manifests.
      if (isGone(error)) return read
      read.complaint = (error as Error).message
      if (read.complaint !== before?.complaint) {
        this.#observer.fileError({ file: scanned.file, message: read.complaint })
      }
      return read
    }
    if (read.text === before?.text) return { ...before, stamp: scanned.stamp }
    // Many programs empty a file before they write it. An empty file counts only after it has not changed for a while.
    if (read.text === '' && scanned.stamp === undefined && before !== undefined) return before
    return { ...read, manifests: this.#parse(scanned.file, read.text, read.manifests) }
  }

  #parse(file: string, text: string, lastGood: readonly Manifest[]): readonly Manifest[] {
    const { manifests, errors } = parseManifests(text, file)
    const error = summarizeErrors(errors)
    if (error === undefined) return manifests.flatMap((manifest) => this.#check(manifest, lastGood))
    this.#observer.fileError(error)
    return lastGood
  }

  /** Validates an object. As on an API server, an invalid object is rejected and the other objects are accepted. */
  #check(manifest: Manifest, lastGood: readonly Manifest[]): Manifest[] {
    const mistakes = this.#validate(manifest.object)
    if (mistakes.length === 0) return [manifest]
    for (const { path, message } of mistakes) {
      const { file, line, column, object } = manifest
      this.#observer.fileError({
        file,
        line,
        column,
        message: `${object.kind} ${object.metadata.name}: ${path}: ${message}`,
      })
    }
    return lastGood.filter((other) => isSame(other.object, manifest.object)).slice(0, 1)
  }
}

/** Returns one error for a file: the first, and the number of the others. Undefined if there is none. */
export function summarizeErrors(errors: readonly ManifestError[]): ManifestError | undefined {
  const [first, ...others] = errors
  if (first === undefined || others.length === 0) return first
  return { ...first, message: `${first.message} (and ${others.length} more in this file)` }
}

function isBelow(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder}/`)
}

function isSame(a: K8sObject, b: K8sObject): boolean {
  return (
    a.apiVersion === b.apiVersion &&
    a.kind === b.kind &&
    a.metadata.name === b.metadata.name &&
    a.metadata.namespace === b.metadata.namespace
  )
}
