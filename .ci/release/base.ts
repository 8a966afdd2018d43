/**
 * The base of the image: the libraries of Debian that the Node binary loads, and Node itself. `base.json` pins versions and hashes, and
 * `npm run image:base` updates it.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ArchiveEntry } from './archive.ts'
import { entryOf, filesBelow } from './files.ts'
import { run } from './run.ts'
import type { SbomPackage } from './spdx.ts'

/** Architectures by their names in OCI and Debian. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]

/** The architecture of this machine. */
export const OWN_ARCHITECTURE: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

/** The names of Node.js for the architectures, which npm's packages have. */
const OF_NODE: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' }

export interface PinnedPackage {
  name: string
  version: string
  /** An SPDX expression. The image has the complete terms in `usr/share/doc`. */
  license: string
  /** Of the .deb, or of npm's archive, by architecture. */
  sha256: Record<Architecture, string>
}

export interface PinnedBase {
  /** The release of Debian, as `VERSION_ID` of os-release. */
  release: string
  debian: PinnedPackage[]
  node: PinnedPackage
}

export const BASE_FILE = join(import.meta.dirname, 'base.json')

interface Base {
  /** Libraries, users and name resolution. */
  libraries: ArchiveEntry[]
  node: ArchiveEntry[]
  /** The size of the Node binary in bytes. */
  nodeBytes: number
  packages: SbomPackage[]
}

/** Libraries and their terms. The converters of character sets (8 MB) are for `iconv`, which Node does not call. */
const LIBRARY = /^(usr\/)?lib(64)?\/.*\.so(\.\d+)*$/
const UNUSED_LIBRARY = /\/(gconv|audit)\//
const TERMS = /^usr\/share\/doc\/[^/]+\/copyright$/

/** Runs as this user and group, which Kubernetes' `runAsNonRoot` needs by number. */
export const USER = 65532

/** Downloads the pinned packages once, and returns their files. Throws if a package is not available, or has another hash. */
export async function baseOf(architecture: Architecture): Promise<Base> {
  const pinned = JSON.parse(readFileSync(BASE_FILE, 'utf8')) as PinnedBase
  const folder = await mkdtemp(join(tmpdir(), 'lodestone-base-'))
  try {
    const libraries = await debianFiles(pinned, architecture, folder)
    const { binary, terms } = await nodeFiles(pinned.node, architecture, folder)
    return {
      libraries: [...libraries, ...settings(pinned)],
      node: [
        { path: 'usr/bin/node', content: binary, isExecutable: true },
        { path: 'usr/share/doc/node/LICENSE', content: terms },
      ],
      nodeBytes: binary.length,
      packages: [
        ...pinned.debian.map((one) => debianPackage(one, architecture, pinned.release)),
        {
          ...{ name: 'node', version: pinned.node.version, license: pinned.node.license },
          purl: `pkg:generic/node@${pinned.node.version}`,
          sha256: createHash('sha256').update(binary).digest('hex'),
        },
      ],
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function debianPackage({ name, version, license, sha256 }: PinnedPackage, architecture: Architecture, release: string) {
  const place = `arch=${architecture}&distro=debian-${release}`
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${place}`
  return { name, version, license, purl, sha256: sha256[architecture] }
}

/** Downloads packages with the sources of this machine, and lists of their own: without root rights, for any architecture. */
export async function downloadDebian(words: string[], architecture: Architecture, into: string): Promise<string[]> {
  const state = join(into, `apt-${architecture}`)
  await mkdir(join(state, 'lists', 'partial'), { recursive: true })
  await mkdir(join(state, 'cache', 'archives', 'partial'), { recursive: true })
  await mkdir(join(state, 'debs'))
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': '',
    'Dir::State': state,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(state, 'cache'),
  }
  const options = ['-qq', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])]
  await run('apt-get', [...options, 'update'])
  await run('apt-get', [...options, 'download', ...words], { cwd: join(state, 'debs') })
  return globSync(join(state, 'debs', '*.deb')).sort()
}

/** Downloads the archive of npm's package with the Node binary of an architecture. */
export async function downloadNode(version: string, architecture: Architecture, into: string): Promise<string> {
  const name = `node-linux-${OF_NODE[architecture]}`
  await run('npm', ['pack', '--silent', '--pack-destination', into, `${name}@${version}`], { cwd: into })
  return join(into, `${name}-${version}.tgz`)
}

export async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
}

async function debianFiles(
  { debian }: PinnedBase,
  architecture: Architecture,
  folder: string,
): Promise<ArchiveEntry[]> {
  const files = await fromCache(
    debian.map(({ sha256 }) => sha256[architecture]),
    () =>
      downloadDebian(
        debian.map(({ name, version }) => `${name}=${version}`),
        architecture,
        folder,
      ),
  )
  const root = join(folder, 'libraries')
  const entries: ArchiveEntry[] = []
  for (const [i, file] of files.entries()) {
    await run('dpkg-deb', ['-x', file, root])
    // Scanners of images find the packages here, as in the images of distroless.
    const control = await run('dpkg-deb', ['--field', file])
    entries.push({ path: `var/lib/dpkg/status.d/${debian[i]?.name}`, content: Buffer.from(control) })
  }
  for (const path of await filesBelow(root)) {
    const isLibrary = LIBRARY.test(path) && !UNUSED_LIBRARY.test(path)
    if (isLibrary || TERMS.test(path)) entries.push(await entryOf(root, path))
  }
  return entries
}

async function nodeFiles({ version, sha256 }: PinnedPackage, architecture: Architecture, folder: string) {
  const [archive = ''] = await fromCache([sha256[architecture]], async () => [
    await downloadNode(version, architecture, folder),
  ])
  await run('tar', ['-xzf', archive, '-C', folder, 'package/bin/node', 'package/LICENSE'])
  const read = (path: string) => readFile(join(folder, 'package', path))
  return { binary: await read('bin/node'), terms: await read('LICENSE') }
}

function settings({ release }: PinnedBase): ArchiveEntry[] {
  const text = (path: string, ...lines: string[]) => ({ path, content: Buffer.from(`${lines.join('\n')}\n`) })
  return [
    text(
      'etc/passwd',
      'root:x:0:0:root:/:/usr/sbin/nologin',
      `lodestone:x:${USER}:${USER}:lodestone:/home/lodestone:/usr/sbin/nologin`,
    ),
    text('etc/group', 'root:x:0:', `lodestone:x:${USER}:`),
    // Without it, the C library would ask DNS before it reads /etc/hosts.
    text('etc/nsswitch.conf', 'passwd: files', 'group: files', 'hosts: files dns'),
    text('etc/os-release', 'PRETTY_NAME="Lodestone, on libraries of Debian"', 'ID=debian', `VERSION_ID="${release}"`),
  ]
}

/**
 * Returns the files with these hashes from the cache, in this order; `download` gets all of them if one is missing. Throws if none of the
 * downloaded files has one of the hashes.
 */
async function fromCache(hashes: readonly string[], download: () => Promise<string[]>): Promise<string[]> {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lodestone-image')
  const cached = hashes.map((hash) => join(cache, hash))
  if (await areCached(hashes, cached)) return cached
  await mkdir(cache, { recursive: true })
  const found = new Map<string, string>()
  for (const file of await download()) found.set(await sha256Of(file), file)
  for (const [i, hash] of hashes.entries()) {
    const file = found.get(hash)
    if (file === undefined)
      throw new Error(
        `no downloaded package has the SHA-256 ${hash} of base.json; run \`npm run image:base\`, and read the change`,
      )
    // Renamed when complete: another build may read it.
    const copy = `${cached[i]}.${process.pid}`
    await copyFile(file, copy)
    await rename(copy, cached[i] as string)
  }
  return cached
}

async function areCached(hashes: readonly string[], files: readonly string[]): Promise<boolean> {
  for (const [i, hash] of hashes.entries()) {
    const known = await sha256Of(files[i] as string).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (known !== hash) return false
  }
  return true
}
