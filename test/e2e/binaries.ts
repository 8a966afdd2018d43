// Finds or builds the programs of the test control plane: etcd, kube-apiserver and the parts of Karmada.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { runCommand } from './processes.ts'

const packages = {
  kubernetes: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  },
  // By itself, since the usual sets of programs (KUBEBUILDER_ASSETS) do not have it and few scenarios need it.
  controllers: {
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  },
  karmada: {
    'karmada-aggregated-apiserver': 'github.com/karmada-io/karmada/cmd/aggregated-apiserver',
    'karmada-controller-manager': 'github.com/karmada-io/karmada/cmd/controller-manager',
    'karmada-scheduler': 'github.com/karmada-io/karmada/cmd/scheduler',
    'karmada-webhook': 'github.com/karmada-io/karmada/cmd/webhook',
    karmadactl: 'github.com/karmada-io/karmada/cmd/karmadactl',
  },
} as const

const assets = {
  kubernetes: 'KUBEBUILDER_ASSETS',
  controllers: 'KUBE_CONTROLLERS_ASSETS',
  karmada: 'KARMADA_ASSETS',
} as const
const crdsInKarmadaModule = 'charts/karmada/_crds/bases'
// For one program, downloads and a cold compiler cache included.
const buildTimeoutMs = 30 * 60_000
const moduleFolder = join(import.meta.dirname, 'binaries')

type Group = keyof typeof packages
export type KubernetesProgram = keyof (typeof packages)['kubernetes']
export type ControllersProgram = keyof (typeof packages)['controllers']
export type KarmadaProgram = keyof (typeof packages)['karmada']

// Absolute paths by program name; `crds` is the folder with Karmada's CustomResourceDefinitions.
export type KubernetesBinaries = Readonly<Record<KubernetesProgram, string>>
export type ControllersBinaries = Readonly<Record<ControllersProgram, string>>
type KarmadaBinaries = Readonly<Record<KarmadaProgram | 'crds', string>>
export type Binaries = KubernetesBinaries & KarmadaBinaries

export type Log = (line: string) => void

export function logToStderr(line: string): void {
  process.stderr.write(`[e2e] ${line}\n`)
}

export async function ensureBinaries(log: Log = logToStderr): Promise<Binaries> {
  // One after the other: two Go builds at once only slow each other down.
  return { ...(await ensureKubernetesBinaries(log)), ...(await ensureKarmadaBinaries(log)) }
}

export async function ensureKubernetesBinaries(log: Log = logToStderr): Promise<KubernetesBinaries> {
  const folder = await ensureGroup('kubernetes', log)
  return pathsIn(folder, Object.keys(packages.kubernetes) as KubernetesProgram[])
}

export async function ensureControllersBinaries(log: Log = logToStderr): Promise<ControllersBinaries> {
  const folder = await ensureGroup('controllers', log)
  return pathsIn(folder, Object.keys(packages.controllers) as ControllersProgram[])
}

async function ensureKarmadaBinaries(log: Log): Promise<KarmadaBinaries> {
  const folder = await ensureGroup('karmada', log)
  return pathsIn(folder, [...(Object.keys(packages.karmada) as KarmadaProgram[]), 'crds'])
}

function pathsIn<Name extends string>(folder: string, names: Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, join(folder, name)])) as Record<Name, string>
}

async function ensureGroup(group: Group, log: Log): Promise<string> {
  const prebuilt = process.env[assets[group]]
  if (prebuilt) return checkPrebuilt(group, prebuilt)
  const home = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lodestone-e2e', await cacheKey())
  const folder = join(home, group)
  if (await exists(folder)) return folder
  await mkdir(home, { recursive: true })
  // Built beside its final place and renamed when complete, so a folder that is there is always whole.
  const building = await mkdtemp(join(home, `.${group}-`))
  try {
    await buildGroup(group, building, log)
    await renameUnlessThere(building, folder)
  } finally {
    await rm(building, { recursive: true, force: true })
  }
  return folder
}

async function checkPrebuilt(group: Group, folder: string): Promise<string> {
  for (const program of Object.keys(packages[group])) {
    await access(join(folder, program), constants.X_OK).catch(() => {
      throw new Error(`${assets[group]}=${folder} has no program ${program}`)
    })
  }
  if (group === 'karmada' && !(await exists(join(folder, 'crds')))) {
    throw new Error(
      `${assets[group]}=${folder} has no folder crds (a copy of ${crdsInKarmadaModule} of the Karmada sources)`,
    )
  }
  return folder
}

// The versions in go.mod decide what the programs are; everything else that goes into a build is in the key as well.
async function cacheKey(): Promise<string> {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(join(moduleFolder, file)))
  hash.update(JSON.stringify([packages, process.platform, process.arch]))
  return hash.digest('hex').slice(0, 16)
}

async function buildGroup(group: Group, into: string, log: Log): Promise<void> {
  await requireGo(group)
  const flags = await linkerFlags()
  for (const [program, path] of Object.entries(packages[group])) {
    const startedAt = Date.now()
    log(`building ${program} (${path})`)
    await go(['build', '-trimpath', '-ldflags', flags, '-o', join(into, program), path])
    log(`built ${program} in ${Math.round((Date.now() - startedAt) / 1000)} s`)
  }
  if (group === 'karmada') await copyCrds(join(into, 'crds'))
}

// Written anew instead of copied: files and folders of the Go module cache are read-only, and a copy would be as well.
async function copyCrds(into: string): Promise<void> {
  const from = join(await goModule('github.com/karmada-io/karmada', 'Dir'), crdsInKarmadaModule)
  await mkdir(into)
  for (const file of await readdir(from, { recursive: true })) {
    if (file.endsWith('.yaml')) await writeFile(join(into, basename(file)), await readFile(join(from, file)))
  }
}

// kube-apiserver derives API behaviour from its version and refuses to run without a sensible one.
async function linkerFlags(): Promise<string> {
  const kubernetes = await goModule('k8s.io/kubernetes', 'Version')
  const karmada = await goModule('github.com/karmada-io/karmada', 'Version')
  const [major, minor] = kubernetes.replace(/^v/, '').split('.')
  return [
    '-s -w',
    `-X k8s.io/component-base/version.gitVersion=${kubernetes}`,
    `-X k8s.io/component-base/version.gitMajor=${major}`,
    `-X k8s.io/component-base/version.gitMinor=${minor}`,
    `-X github.com/karmada-io/karmada/pkg/version.gitVersion=${karmada}`,
  ].join(' ')
}

async function goModule(path: string, field: 'Dir' | 'Version'): Promise<string> {
  return (await go(['list', '-m', '-f', `{{.${field}}}`, path])).trim()
}

async function requireGo(group: Group): Promise<void> {
  await go(['version']).catch((cause: unknown) => {
    throw new Error(
      `The control plane for the end-to-end tests is built with Go, and there is no usable "go" on the PATH. ` +
        `Install Go (its version is in test/e2e/binaries/go.mod), or set ${assets[group]} to a folder with ` +
        `${Object.keys(packages[group]).join(', ')}${group === 'karmada' ? ' and crds/' : ''}.`,
      { cause },
    )
  })
}

async function go(args: string[]): Promise<string> {
  const env = process.env as Record<string, string>
  const { stdout, stderr, code } = await runCommand('go', args, { cwd: moduleFolder, env, timeoutMs: buildTimeoutMs })
  if (code !== 0) throw new Error(`go ${args[0]} ended with ${code}: ${stderr.slice(-4000)}`)
  return stdout
}

async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    // Another run was faster: its folder is as good as ours.
    if (!(await exists(to))) throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

// `node test/e2e/binaries.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) {
  console.log(JSON.stringify({ ...(await ensureBinaries()), ...(await ensureControllersBinaries()) }, null, 2))
}
