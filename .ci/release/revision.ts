/** Reads the version of the package, and the commit with its time. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.ts'

export interface Revision {
  version: string
  /** With `-dirty` after local changes; `unknown` outside of a repository. */
  commit: string
  /** The time of the commit, in seconds since 1970. It is the time of all files, so that each build has the same bytes. */
  timeSeconds: number
}

/**
 * Reads the revision. `COMMIT` and `SOURCE_DATE_EPOCH` override commit and time, for a build outside of the repository. Throws if
 * `SOURCE_DATE_EPOCH` is not a number of seconds.
 */
export async function readRevision(project: string, env: NodeJS.ProcessEnv = process.env): Promise<Revision> {
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }
  const git = (...words: string[]) => run('git', words, { cwd: project }).then((text) => text.trim())
  const commit = env['COMMIT'] || (await git('describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'))
  const seconds = env['SOURCE_DATE_EPOCH'] || (await git('log', '-1', '--format=%ct'))
  // The limit of the field in a tar archive.
  if (!/^\d{1,10}$/.test(seconds)) throw new Error(`SOURCE_DATE_EPOCH ${seconds}: must be a time in seconds since 1970`)
  return { version, commit, timeSeconds: Number(seconds) }
}
