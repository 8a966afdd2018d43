/** Reads the version of the package, the commit of the build and the version of Node.js. */
import { existsSync, readFileSync } from 'node:fs'

export interface BuildInfo {
  version: string
  /** The commit of the build, with `-dirty` after local changes; `unknown` for sources without a build. */
  commit: string
  node: string
}

/** Below the sources and below the build, package.json is at the same place. */
const PACKAGE = new URL('../../package.json', import.meta.url)
/** `npm run build` and the Dockerfile write this file. */
const COMMIT = new URL('../commit', import.meta.url)
const COMMIT_PATTERN = /^[0-9a-f]{7,64}(-dirty)?$/

/** Reads what the running program was built from. `commitFile` is another file with the commit. */
export function readBuildInfo(commitFile: URL = COMMIT): BuildInfo {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }
  const commit = existsSync(commitFile) ? readFileSync(commitFile, 'utf8').trim() : ''
  return { version, commit: COMMIT_PATTERN.test(commit) ? commit : 'unknown', node: process.version }
}
