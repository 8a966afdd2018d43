/** File names in the form that CI systems expect. */
import { isAbsolute, normalize, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { STANDARD_INPUT } from '../input/read-manifests.ts'

/** Returns a file relative to the current directory, or an absolute path outside of it. Undefined for standard input. */
export function fileName(file: string | undefined): string | undefined {
  if (file === undefined || file === STANDARD_INPUT) return undefined
  const path = isAbsolute(file) ? relative(process.cwd(), file) : normalize(file)
  return path.startsWith('..') && isAbsolute(file) ? file : path.split(sep).join('/')
}

/** Returns the URI of a file: relative, or absolute outside of the current directory. Undefined for standard input. */
export function fileUri(file: string | undefined): string | undefined {
  const name = fileName(file)
  if (name === undefined) return undefined
  return isAbsolute(name) ? pathToFileURL(name).href : name.split('/').map(encodeURIComponent).join('/')
}
