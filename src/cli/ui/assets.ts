/** The files of the page in the browser: built from src/page by `npm run build:page`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../../base/user-error.ts'

export interface Asset {
  type: string
  content: Buffer
}

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'build', 'page')

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** Returns the files by name. Throws `UserError` if the page was not built. */
export function readAssets(): ReadonlyMap<string, Asset> {
  try {
    return new Map(
      Object.entries(TYPES).map(([name, type]) => [name, { type, content: readFileSync(join(FOLDER, name)) }]),
    )
  } catch (error) {
    throw new UserError('the page is not built; run npm run build:page in the clone', { cause: error })
  }
}
