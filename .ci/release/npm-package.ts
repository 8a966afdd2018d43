/** The npm package of a release: what `npm pack` puts into it, and npm-shrinkwrap.json, so that every user gets the tested dependencies. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ArchiveEntry, gzipOf, tarOf } from './archive.ts'
import { entryOf, filesBelow } from './files.ts'
import { type LockFile, readLock } from './lock.ts'
import type { Revision } from './revision.ts'
import { run } from './run.ts'

/** Returns the archive. It has the same bytes in each build of a commit. */
export async function packageArchive(project: string, { version, commit, timeSeconds }: Revision): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'lodestone-package-'))
  try {
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: project })
    await run('tar', ['-xzf', `lodestone-${version}.tgz`], { cwd: folder })
    const packed = join(folder, 'package')
    const description = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8')) as Record<string, unknown>
    const replaced: ArchiveEntry[] = [
      json('package.json', published(description)),
      json('npm-shrinkwrap.json', shrinkwrapOf(readLock(project))),
      { path: 'package/dist/commit', content: Buffer.from(`${commit}\n`) },
    ]
    const kept = (await filesBelow(packed)).filter(
      (path) => !replaced.some((entry) => entry.path === `package/${path}`),
    )
    const entries = await Promise.all(kept.map((path) => entryOf(packed, path, `package/${path}`)))
    return gzipOf(tarOf([...entries, ...replaced], timeSeconds, false))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the lock file without the packages of development, as `npm shrinkwrap --omit=dev` writes it. */
export function shrinkwrapOf({ packages, ...lock }: LockFile): LockFile {
  const kept = Object.entries(packages).filter(([, { dev }]) => !dev)
  return { ...lock, packages: { ...Object.fromEntries(kept), '': published(packages[''] ?? {}) } } as LockFile
}

/** `private` prevents that a clone is published by mistake. Scripts and packages of development work in a clone only. */
function published<Description extends object>(description: Description) {
  const { private: _, scripts, devDependencies, allowScripts, ...kept } = description as Record<string, unknown>
  return kept
}

function json(path: string, value: unknown): ArchiveEntry {
  return { path: `package/${path}`, content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) }
}
