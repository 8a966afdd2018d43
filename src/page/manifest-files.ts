/** The files that a reader adds to a check. */
import { formatBytes } from '../base/quantity.ts'
import { MAX_MANIFEST_BYTES } from './api.ts'

export interface ManifestFile {
  file: string
  text: string
}

/** The server takes no more. */
const MAX_FILES = 100

/**
 * Returns the files with those that are added: one of a known name replaces it. All are added or none, so that no manifest is missing in a check
 * without a word. Returns why none is added as a text.
 */
export async function addFiles(
  known: readonly ManifestFile[],
  given: readonly Pick<File, 'name' | 'size' | 'text'>[],
): Promise<ManifestFile[] | string> {
  const large = given.find(({ size }) => size > MAX_MANIFEST_BYTES)
  if (large) return `${large.name} has more than ${formatBytes(MAX_MANIFEST_BYTES)}; use lodestone check`
  const names = new Set(given.map(({ name }) => name))
  const others = known.filter(({ file }) => !names.has(file))
  const count = others.length + given.length
  if (count > MAX_FILES) return `a check has at most ${MAX_FILES} files, and not ${count}; use lodestone check`
  const added = await Promise.all(given.map(readFile))
  const unread = given.find((_, i) => added[i] === undefined)
  if (unread) return `${unread.name} cannot be read; add files, and no folders`
  return [...others, ...added.filter((file) => file !== undefined)]
}

/** The text of a file; undefined for a folder, which a browser lists among files. */
async function readFile(file: Pick<File, 'name' | 'text'>): Promise<ManifestFile | undefined> {
  const text = await file.text().catch(() => undefined)
  return text === undefined ? undefined : { file: file.name, text }
}
