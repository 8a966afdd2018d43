/** The application in the image: the build, the parts of npm packages that it uses, and the command `lodestone`. */
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ArchiveEntry, compare } from './archive.ts'
import { entryOf, filesBelow } from './files.ts'
import { lockedPackages } from './lock.ts'
import { pageOf } from './page.ts'
import { run } from './run.ts'
import type { SbomPackage } from './spdx.ts'
import { usedModules } from './used-modules.ts'

/** The folder of the application in the image. */
const HOME = 'lodestone'
const TERMS = '{LICENSE,LICENCE,NOTICE,COPYING}*'

export interface Application {
  entries: ArchiveEntry[]
  /** The npm packages with at least one file in the image. */
  packages: SbomPackage[]
}

/** Compiles the sources and returns the files of the application. `commit` is what `lodestone version` prints. */
export async function applicationOf(project: string, commit: string): Promise<Application> {
  const build = await mkdtemp(join(tmpdir(), 'lodestone-build-'))
  try {
    const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc')
    const words = ['-p', 'tsconfig.json', '--outDir', build, '--sourceMap', 'false']
    await run(process.execPath, [compiler, ...words], { cwd: project })
    const files = await filesBelow(build)
    const built = files.map((path) => entryOf(build, path, `dist/${path}`))
    const { entries, packages } = await packageFiles(
      project,
      await usedModules(
        project,
        build,
        files.filter((path) => path.endsWith('.js')),
      ),
    )
    const own = [
      ...(await Promise.all(built)),
      { path: 'dist/commit', content: Buffer.from(`${commit}\n`) },
      { path: 'package.json', content: Buffer.from(`${JSON.stringify(descriptionOf(project), null, 2)}\n`) },
      await entryOf(project, 'LICENSE'),
      await command(project),
      ...(await pageOf(project)),
      ...entries,
    ]
    return {
      entries: [
        ...own.map((entry) => ({ ...entry, path: `${HOME}/${entry.path}` })),
        { path: 'usr/bin/lodestone', content: { linkTo: `../../${HOME}/bin/lodestone.cjs` } },
      ],
      packages,
    }
  } finally {
    await rm(build, { recursive: true, force: true })
  }
}

/** What the program reads of package.json, and what describes it. */
function descriptionOf(project: string) {
  const { name, version, description, license, type, engines } = JSON.parse(
    readFileSync(join(project, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  return { name, version, description, license, type, engines }
}

/** The installed command. The image has no `env`, so its first line names Node itself. */
async function command(project: string): Promise<ArchiveEntry> {
  const text = await readFile(join(project, 'bin', 'lodestone.cjs'), 'utf8')
  const first = '#!/usr/bin/env node\n'
  if (!text.startsWith(first)) throw new Error(`bin/lodestone.cjs does not begin with ${first.trim()}`)
  const content = Buffer.from(`#!/usr/bin/node\n${text.slice(first.length)}`)
  return { path: 'bin/lodestone.cjs', content, isExecutable: true }
}

async function packageFiles(project: string, modules: Awaited<ReturnType<typeof usedModules>>): Promise<Application> {
  const locked = lockedPackages(project)
  // A package may try to load one that only development installs, such as supports-color.
  const installed = modules.filter(({ path }) => locked.has(packageFolderOf(path)))
  const folders = [...new Set(installed.map(({ path }) => packageFolderOf(path)))].sort(compare)
  const contents = new Map(installed.map(({ path, content }) => [path, content]))
  // Node.js reads in package.json how to load a package, and a license demands that its terms are with every copy.
  const described = folders.flatMap((folder) =>
    ['package.json', ...globSync(TERMS, { cwd: join(project, folder) })].map((file) => `${folder}/${file}`),
  )
  const paths = new Set([...contents.keys(), ...described])
  const entries = [...paths].sort(compare).map(async (path): Promise<ArchiveEntry> => {
    const content = contents.get(path)
    return { path, content: content === undefined ? await readFile(join(project, path)) : Buffer.from(content) }
  })
  return { entries: await Promise.all(entries), packages: folders.flatMap((folder) => locked.get(folder) ?? []) }
}

/** The folder of the innermost package of a path: `node_modules/a/node_modules/@b/c`. */
function packageFolderOf(path: string): string {
  const [folder] = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path) ?? []
  if (folder === undefined) throw new Error(`${path} is in no package`)
  return folder
}
