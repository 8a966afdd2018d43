/**
 * Prepares the Go module that builds the programs of a version. It is the module of the project itself, with its own go.mod and go.sum.
 * `versions.sum` has the checksums that those lack: of the project, and of the staging modules of Kubernetes.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Pair, type Project, replacedLibraries } from './versions.ts'

const sumsFile = join(import.meta.dirname, 'versions.sum')

export const modulePaths = {
  kubernetes: 'k8s.io/kubernetes',
  karmada: 'github.com/karmada-io/karmada',
} as const satisfies Record<Project, string>

export interface GoModule {
  /** The sources, read-only, in the Go module cache. */
  folder: string
  /** For `go build`. */
  flags: string[]
  /** That the programs report; absent where they report none. */
  versions: Partial<Pair>
}

/** Runs `go` in a folder and returns what it prints. Throws if it fails. */
export type RunGo = (folder: string, args: string[]) => Promise<string>

/** Returns what decides on the programs of a version, for the key of a cache. The checksums only verify it. */
export function versionKey(project: Project, version: string): string {
  return JSON.stringify([modulePaths[project], version, project === 'kubernetes' && replacedLibraries[version]])
}

/**
 * Downloads the sources of a version and writes go.mod and go.sum into the folder `into`.
 *
 * Throws if a checksum differs from `versions.sum`, or is not in it.
 */
export async function prepareGoModule(
  project: Project,
  version: string,
  { into, go }: { into: string; go: RunGo },
): Promise<GoModule> {
  const module = `${modulePaths[project]}@v${version}`
  await mkdir(into, { recursive: true })
  const { Dir: folder, Sum } = JSON.parse(await go(into, ['mod', 'download', '-json', module]))
  const sums = await readFile(sumsFile, 'utf8')
  const line = `${modulePaths[project]} v${version} ${Sum}`
  if (!sums.split('\n').includes(line)) throw new Error(`${module} has another checksum than ${sumsFile}: ${Sum}`)
  const goMod = join(into, 'go.mod')
  await writeFile(goMod, withStagingModules(await readFile(join(folder, 'go.mod'), 'utf8'), version))
  await writeFile(join(into, 'go.sum'), (await readFile(join(folder, 'go.sum'), 'utf8')) + sums)
  // The module has a go.work and a folder `vendor` without packages.
  return { folder, flags: ['-mod=readonly', `-modfile=${goMod}`], versions: { [project]: version } }
}

/** Kubernetes takes its libraries from its own tree; the Go module proxy has each as a module, with 0 for 1 as the major version. */
function withStagingModules(goMod: string, version: string): string {
  const replaced = replacedLibraries[version]
  const versionOf = (path: string) =>
    replaced?.libraries.includes(path.replace('k8s.io/', '')) ? replaced.version : version.replace(/^1/, '0')
  return goMod
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, (_, path: string) => `=> ${path} v${versionOf(path)}`)
    .replaceAll(/(k8s\.io\/\S+) v0\.0\.0(?=\s)/g, (_, path: string) => `${path} v${versionOf(path)}`)
}
