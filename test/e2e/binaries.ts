// Finds or builds the programs of the test control plane: etcd, kube-apiserver and the parts of Karmada.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtFolder, cacheFolder, exists } from './built-folder.ts'
import { buildPrograms, buildTimeoutMs, copyCrds, crdsInKarmadaModule, dependency, go } from './go-build.ts'
import { type GoModule, modulePaths, prepareGoModule, versionKey } from './matrix/go-module.ts'
import { type Project, selectedPair } from './matrix/versions.ts'

interface Group {
  // Points to programs that are there already, so that nothing is built.
  variable: string
  // The folder beside this file whose go.mod pins the versions.
  module: string
  packages: Record<string, string>
}

// Built one group at a time, when a file first asks for it.
const groups = {
  kubernetes: {
    variable: 'KUBEBUILDER_ASSETS',
    module: 'binaries',
    packages: {
      etcd: 'go.etcd.io/etcd/server/v3',
      'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
      kubectl: 'k8s.io/kubernetes/cmd/kubectl',
    },
  },
  // By itself, since the usual sets of programs (KUBEBUILDER_ASSETS) do not have it and few scenarios need it.
  controllers: {
    variable: 'KUBE_CONTROLLERS_ASSETS',
    module: 'binaries',
    packages: { 'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  },
  scheduler: {
    variable: 'KUBE_SCHEDULER_ASSETS',
    module: 'binaries',
    packages: { 'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler' },
  },
  // Needs newer Kubernetes libraries than Karmada has, hence a go.mod of its own.
  kwok: {
    variable: 'KWOK_ASSETS',
    module: 'kwok',
    packages: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
  },
  // Its Kubernetes libraries are others than Karmada's, hence a go.mod of its own.
  helm: {
    variable: 'HELM_ASSETS',
    module: 'helm',
    packages: { helm: 'helm.sh/helm/v3/cmd/helm' },
  },
  // For the hub alone: helm 4 applies on the server side.
  helm4: {
    variable: 'HELM4_ASSETS',
    module: 'helm4',
    packages: { helm: 'helm.sh/helm/v4/cmd/helm' },
  },
  // Tests the alerts. It needs the clients of all clouds, hence a go.mod of its own. Without the build tag `builtinassets`, the server has
  // its API but no web interface, whose files are not in the module.
  prometheus: {
    variable: 'PROMETHEUS_ASSETS',
    module: 'prometheus',
    packages: {
      prometheus: 'github.com/prometheus/prometheus/cmd/prometheus',
      promtool: 'github.com/prometheus/prometheus/cmd/promtool',
    },
  },
  // Its Kubernetes libraries are others than Karmada's, hence a go.mod of its own.
  kueue: {
    variable: 'KUEUE_ASSETS',
    module: 'kueue',
    packages: { kueue: 'sigs.k8s.io/kueue/cmd/kueue' },
  },
  // The operator of KubeRay, with Kubernetes libraries of its own. Its CRDs are in workloadDefinitions.
  kuberay: {
    variable: 'KUBERAY_ASSETS',
    module: 'kuberay',
    packages: { 'ray-operator': 'github.com/ray-project/kuberay/ray-operator' },
  },
  // The controller of LeaderWorkerSet, with Kubernetes libraries of its own. Its CRDs are in workloadDefinitions.
  lws: {
    variable: 'LWS_ASSETS',
    module: 'lws',
    packages: { lws: 'sigs.k8s.io/lws/cmd' },
  },
  // The code of Argo CD and Flux that compares and syncs objects, and that tells their health. The sources are in the folder.
  gitops: {
    variable: 'GITOPS_ASSETS',
    module: 'gitops',
    packages: { gitops: '.' },
  },
  // No program: the CRDs of kinds that the chart creates for other projects.
  definitions: {
    variable: 'DEFINITIONS_ASSETS',
    module: 'definitions',
    packages: {},
  },
  // No program: the CRDs of the workloads of the tutorials. Their modules are large, and only long tests need them.
  workloadDefinitions: {
    variable: 'WORKLOAD_DEFINITIONS_ASSETS',
    module: 'workload-definitions',
    packages: {},
  },
  // The controllers of cert-manager. The source is in the folder.
  certManager: {
    variable: 'CERT_MANAGER_ASSETS',
    module: 'cert-manager',
    packages: { 'cert-manager': '.' },
  },
  // For the shell blocks of the pages.
  jq: {
    variable: 'JQ_ASSETS',
    module: 'jq',
    packages: { jq: 'github.com/itchyny/gojq/cmd/gojq' },
  },
  // The YAML reader of kubectl as a program. Its sources are in the folder.
  yaml: {
    variable: 'YAML_ASSETS',
    module: 'yaml',
    packages: { 'yaml-to-json': '.' },
  },
  karmada: {
    variable: 'KARMADA_ASSETS',
    module: 'binaries',
    packages: {
      'karmada-aggregated-apiserver': 'github.com/karmada-io/karmada/cmd/aggregated-apiserver',
      'karmada-controller-manager': 'github.com/karmada-io/karmada/cmd/controller-manager',
      'karmada-scheduler': 'github.com/karmada-io/karmada/cmd/scheduler',
      'karmada-webhook': 'github.com/karmada-io/karmada/cmd/webhook',
      karmadactl: 'github.com/karmada-io/karmada/cmd/karmadactl',
    },
  },
} as const satisfies Record<string, Group>

// Groups that are built in the version of the selected pair, if there is one.
const projects: Partial<Record<GroupName, Project>> = {
  kubernetes: 'kubernetes',
  controllers: 'kubernetes',
  scheduler: 'kubernetes',
  karmada: 'karmada',
}

type GroupName = keyof typeof groups
type ProgramOf<Name extends GroupName> = keyof (typeof groups)[Name]['packages']
export type KubernetesProgram = ProgramOf<'kubernetes'>
export type ControllersProgram = ProgramOf<'controllers'>
// The programs that a cluster with nodes needs beside the controllers.
export type NodesProgram = ProgramOf<'scheduler'> | ProgramOf<'kwok'>
export type KarmadaProgram = ProgramOf<'karmada'>

// Absolute paths by program name; `crds` is the folder with Karmada's CustomResourceDefinitions.
export type KubernetesBinaries = Readonly<Record<KubernetesProgram, string>>
export type ControllersBinaries = Readonly<Record<ControllersProgram, string>>
export type NodesBinaries = Readonly<Record<NodesProgram, string>>
type KarmadaBinaries = Readonly<Record<KarmadaProgram | 'crds', string>>
export type Binaries = KubernetesBinaries & KarmadaBinaries

export async function ensureBinaries(): Promise<Binaries> {
  // One after the other: two Go builds at once only slow each other down.
  return { ...(await ensureKubernetesBinaries()), ...(await ensureKarmadaBinaries()) }
}

export async function ensureKubernetesBinaries(): Promise<KubernetesBinaries> {
  return ensureGroup('kubernetes')
}

export async function ensureControllersBinaries(): Promise<ControllersBinaries> {
  return ensureGroup('controllers')
}

export async function ensureNodesBinaries(): Promise<NodesBinaries> {
  return { ...(await ensureGroup('scheduler')), ...(await ensureGroup('kwok')) }
}

/** The absolute path of helm. */
export async function ensureHelm(): Promise<string> {
  return (await ensureGroup('helm')).helm
}

/** The absolute path of helm 4. */
export async function ensureHelm4(): Promise<string> {
  return (await ensureGroup('helm4')).helm
}

/** The absolute path of Kueue's controller manager, and the folder with Kueue's CRDs. */
export async function ensureKueue(): Promise<{ kueue: string; crds: string }> {
  const folder = await folderOf('kueue')
  return { kueue: join(folder, 'kueue'), crds: join(folder, 'crds') }
}

/** The absolute paths of the Prometheus server and of promtool. */
export async function ensurePrometheus() {
  return ensureGroup('prometheus')
}

/** The absolute path of the program that reads YAML as kubectl does. */
export async function ensureYamlReader(): Promise<string> {
  return (await ensureGroup('yaml'))['yaml-to-json']
}

/** The absolute path of the program that syncs and compares objects as Argo CD and Flux do. */
export async function ensureGitops(): Promise<string> {
  return (await ensureGroup('gitops')).gitops
}

/** The folder with the CRDs of Prometheus Operator and cert-manager, in a folder for each. */
export async function ensureDefinitions(): Promise<string> {
  return folderOf('definitions')
}

/** The folder with the CRDs of KServe, LeaderWorkerSet and KubeRay, in a folder for each. */
export async function ensureWorkloadDefinitions(): Promise<string> {
  return folderOf('workloadDefinitions')
}

/** The absolute path of the controllers of cert-manager. */
export async function ensureCertManager(): Promise<string> {
  return (await ensureGroup('certManager'))['cert-manager']
}

/** The absolute path of the operator of KubeRay. */
export async function ensureRayOperator(): Promise<string> {
  return (await ensureGroup('kuberay'))['ray-operator']
}

/** The absolute path of the controller of LeaderWorkerSet. */
export async function ensureLeaderWorkerSet(): Promise<string> {
  return (await ensureGroup('lws')).lws
}

/** The absolute path of jq. */
export async function ensureJq(): Promise<string> {
  return (await ensureGroup('jq')).jq
}

async function ensureKarmadaBinaries(): Promise<KarmadaBinaries> {
  const programs = await ensureGroup('karmada')
  return { ...programs, crds: join(programs['karmada-webhook'], '..', 'crds') }
}

async function ensureGroup<Name extends GroupName>(name: Name): Promise<Readonly<Record<ProgramOf<Name>, string>>> {
  const folder = await folderOf(name)
  const programs = Object.keys(groups[name].packages).map((program) => [program, join(folder, program)])
  return Object.fromEntries(programs) as Record<ProgramOf<Name>, string>
}

async function folderOf(name: GroupName): Promise<string> {
  const prebuilt = process.env[groups[name].variable]
  if (prebuilt && !selectedVersion(name)) return checkPrebuilt(name, prebuilt)
  return builtFolder(join(cacheFolder, await cacheKey(name), name), {
    lock: cacheFolder,
    timeoutMs: buildTimeoutMs,
    build: (into) => buildGroup(name, into),
  })
}

async function checkPrebuilt(name: GroupName, folder: string): Promise<string> {
  const { variable, packages } = groups[name]
  for (const program of Object.keys(packages)) {
    await access(join(folder, program), constants.X_OK).catch(() => {
      throw new Error(`${variable}=${folder} has no program ${program}`)
    })
  }
  const crds = CRDS_IN_SOURCES[name]
  if (crds && !(await exists(join(folder, 'crds')))) {
    throw new Error(`${variable}=${folder} has no folder crds (a copy of ${crds} of the sources)`)
  }
  return folder
}

// The versions decide what the programs are; everything else that goes into a build is in the key as well.
async function cacheKey(name: GroupName): Promise<string> {
  const hash = createHash('sha256')
  const selected = selectedVersion(name)
  if (selected) hash.update(versionKey(selected.project, selected.version))
  else for (const file of await sourcesOf(name)) hash.update(await readFile(join(moduleFolder(name), file)))
  const built = Object.values(groups).filter(({ module }) => module === groups[name].module)
  hash.update(JSON.stringify([built, process.platform, process.arch]))
  return hash.digest('hex').slice(0, 16)
}

// Most modules have no sources of their own: their go.mod names the programs.
async function sourcesOf(name: GroupName): Promise<string[]> {
  const sources = (await readdir(moduleFolder(name))).filter((file) => file.endsWith('.go'))
  return ['go.mod', 'go.sum', ...sources.sort()]
}

// The version of the selected pair; undefined where the go.mod of the group has the versions.
function selectedVersion(name: GroupName): { project: Project; version: string } | undefined {
  const [project, pair] = [projects[name], selectedPair()]
  return project && pair && { project, version: pair[project] }
}

function moduleFolder(name: GroupName): string {
  return join(import.meta.dirname, groups[name].module)
}

async function buildGroup(name: GroupName, into: string): Promise<void> {
  await requireGo(name)
  const selected = selectedVersion(name)
  const module = selected
    ? await prepareGoModule(selected.project, selected.version, { into: join(into, 'module'), go })
    : await pinnedModule(name)
  await buildPrograms(groups[name].packages, { module, into })
  await copyDefinitions(DEFINITIONS[name] ?? {}, module.folder, into)
  if (name === 'kueue') {
    await copyCrds(join(await dependency(module.folder, KUEUE, 'Dir'), crdsInKueueModule), join(into, 'crds'))
  }
  if (name !== 'karmada') return
  const sources = selected ? module.folder : await dependency(module.folder, modulePaths.karmada, 'Dir')
  await copyCrds(join(sources, crdsInKarmadaModule), join(into, 'crds'))
}

const KUEUE = 'sigs.k8s.io/kueue'
const crdsInKueueModule = 'config/components/crd/bases'
// The groups of programs with CRDs beside them.
const CRDS_IN_SOURCES: Partial<Record<GroupName, string>> = { karmada: crdsInKarmadaModule, kueue: crdsInKueueModule }

/** The Go modules with CRDs, and the folder of the CRDs in each. */
type Definitions = Record<string, { path: string; folder: string }>

const DEFINITIONS: Partial<Record<GroupName, Definitions>> = {
  definitions: {
    'prometheus-operator': {
      path: 'github.com/prometheus-operator/prometheus-operator',
      folder: 'example/prometheus-operator-crd',
    },
    'cert-manager': { path: 'github.com/cert-manager/cert-manager', folder: 'deploy/crds' },
  },
  workloadDefinitions: {
    kserve: { path: 'github.com/kserve/kserve', folder: 'config/crd/full' },
    kuberay: { path: 'github.com/ray-project/kuberay/ray-operator', folder: 'config/crd/bases' },
    lws: { path: 'sigs.k8s.io/lws', folder: 'config/crd/bases' },
  },
}

async function copyDefinitions(definitions: Definitions, module: string, into: string): Promise<void> {
  for (const [name, { path, folder }] of Object.entries(definitions)) {
    // No package of these modules is built, so nothing else downloads them. `go` compares them with go.sum.
    const { Dir } = JSON.parse(await go(module, ['mod', 'download', '-json', path])) as { Dir: string }
    await copyCrds(join(Dir, folder), join(into, name))
  }
}

async function pinnedModule(name: GroupName): Promise<GoModule> {
  const folder = moduleFolder(name)
  if (!projects[name]) return { folder, flags: [], versions: {} }
  const versionOf = async (path: string) => (await dependency(folder, path, 'Version')).replace(/^v/, '')
  const versions = {
    kubernetes: await versionOf(modulePaths.kubernetes),
    karmada: await versionOf(modulePaths.karmada),
  }
  return { folder, flags: [], versions }
}

async function requireGo(name: GroupName): Promise<void> {
  const { module, variable, packages } = groups[name]
  await go(moduleFolder(name), ['version']).catch((cause: unknown) => {
    throw new Error(
      `The control plane for the end-to-end tests is built with Go, and there is no usable "go" on the PATH. ` +
        `Install Go (its version is in test/e2e/${module}/go.mod), or set ${variable} to a folder with ` +
        `${Object.keys(packages).join(', ')}${CRDS_IN_SOURCES[name] ? ' and crds/' : ''}.`,
      { cause },
    )
  })
}

// `node test/e2e/binaries.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) {
  const programs = {
    ...(await ensureBinaries()),
    ...(await ensureControllersBinaries()),
    ...(await ensureNodesBinaries()),
    helm: await ensureHelm(),
    yaml: await ensureYamlReader(),
    definitions: await ensureDefinitions(),
  }
  console.log(JSON.stringify(programs, null, 2))
}
