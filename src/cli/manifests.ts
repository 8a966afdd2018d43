/** `lodestone manifests`: prints CRDs, registration and RBAC as YAML. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { customResourceDefinitions } from '../api/crds.ts'
import type { K8sObject } from '../api/meta.ts'
import { chartValuesSchema } from '../app/config/chart-values.ts'
import { type Config, completeConfig, loadConfig, URL_PATTERN } from '../app/config/config.ts'
import { configuredWorkloadKinds } from '../app/config/workload-kinds-config.ts'
import { wantedAbsencePolicies, wantedInterpreterRegistration, wantedRegistration } from '../app/registration.ts'
import { podRolesFor, rolesFor } from '../app/roles/granted.ts'
import { pageRoles } from '../app/roles/page-roles.ts'
import { electionRoles } from '../app/roles/rbac.ts'
import { uninstallRoles } from '../app/roles/uninstall-roles.ts'
import { credentialRoles, storageClass } from '../app/roles/volume-roles.ts'
import { describeFileError } from '../base/file-error.ts'
import { makeFolder } from '../base/make-folder.ts'
import { suggest } from '../base/suggest.ts'
import { SHIPPED_KINDS, type WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { absencePolicyBindings } from '../webhooks/absence.ts'
import { interpreterTypes } from '../webhooks/interpreter.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from './command.ts'
import { configOption } from './options/read-config.ts'
import { readCaFile } from './options/read-values.ts'
import { renderYaml } from './output.ts'
import { apiPage } from './pages/api-page.ts'
import { dashboard } from './pages/dashboard.ts'
import { eventsPage } from './pages/events-page.ts'
import { findingsPage } from './pages/findings-page.ts'
import { metricsPage } from './pages/metrics-page.ts'

/** Parts for every cluster. */
const COMMON_PARTS = ['crds', 'registration', 'rbac'] as const
/** All parts: also the roles for pods, for the Lease, for `lodestone uninstall` and for the page, and what only a Karmada hub needs. */
const PARTS = [...COMMON_PARTS, 'volumes', 'interpreter', 'election', 'absence', 'uninstall', 'page'] as const
type Part = (typeof PARTS)[number]

export const manifests: Command = {
  usage:
    '[crds] [registration] [rbac] [volumes] [interpreter] [election] [absence] [uninstall] [page] [--url URL] [--ca FILE]',
  options: {
    ...configOption('Configuration file, for the registration and its roles'),
    url: {
      type: 'string',
      value: 'URL',
      description: 'URL of Lodestone for the API server (a Karmada hub); default: by Service',
    },
    ca: {
      type: 'string',
      value: 'FILE',
      description: 'PEM file of the trusted CA; default: set by Lodestone',
    },
    write: {
      type: 'string',
      value: 'DIR',
      description: 'Write the generated files of the repository under DIR instead of printing',
    },
  },
  positionals: true,
  arguments: PARTS,
  examples: [
    { command: 'lodestone manifests crds | kubectl apply -f -', does: 'Install the resources' },
    { command: 'lodestone manifests rbac | kubectl apply -f -', does: 'Grant the rights of Lodestone' },
    {
      command: 'lodestone manifests rbac volumes | kubectl apply -f -',
      does: 'In a cluster with pods: also the rights to remove gates and to move data',
    },
    {
      command: 'lodestone manifests election | kubectl apply -f -',
      does: 'Grant the right to elect a leader, in the cluster with the Lease',
    },
    {
      command: 'lodestone manifests registration --url https://10.0.0.7:9443 --ca certs/dev/ca.crt',
      does: 'Register Lodestone by hand',
    },
    {
      command: 'lodestone manifests interpreter --url https://10.0.0.7:9443 --ca certs/dev/ca.crt',
      does: 'On a Karmada hub: register the resource interpreter',
    },
    {
      command: 'lodestone manifests absence | kubectl apply -f -',
      does: 'On a Karmada hub: keep workloads to their data while Lodestone is not available',
    },
    {
      command: 'lodestone manifests page | kubectl apply -f -',
      does: 'Grant the rights of a page in a cluster (lodestone ui --login token)',
    },
  ],
  run: runManifests,
}

async function runManifests(args: Arguments, io: CommandIo): Promise<number> {
  const parts = parseParts(args.positionals)
  checkWriteAlone(args)
  const objects: Record<Part, () => K8sObject[]> = {
    crds: customResourceDefinitions,
    registration: () => wantedRegistration(...registrationInput(args)),
    rbac: () => rolesFor(givenConfig(args)),
    volumes: () => podRolesFor(givenConfig(args)),
    interpreter: () => interpreterRegistration(...registrationInput(args)),
    election: () => electionRoles(loadConfig(args.text('config')).leaderElection),
    absence: () => absenceManifests(loadConfig(args.text('config'))),
    uninstall: () => uninstallRoles(givenConfig(args)),
    page: () => pageRoles(workloadKindsOf(givenConfig(args))),
  }
  const directory = args.text('write')
  if (directory === undefined) {
    io.stdout.write(toYaml(parts.flatMap((part) => objects[part]())))
    return 0
  }
  for (const [name, content] of Object.entries(generatedFiles())) {
    const file = join(directory, name)
    await writeGenerated(file, content)
    io.stdout.write(`wrote ${file}\n`)
  }
  return 0
}

/** Throws `UsageError` for words beside `--write`: the generated files do not depend on them. */
function checkWriteAlone(args: Arguments): void {
  if (args.text('write') === undefined) return
  const option = ['config', 'url', 'ca'].find((name) => args.text(name) !== undefined)
  const word = option === undefined ? args.positionals[0] : `--${option}`
  if (word !== undefined)
    throw new UsageError(`--write writes all generated files and ignores ${word}; redirect the output without --write`)
}

async function writeGenerated(file: string, content: string): Promise<void> {
  try {
    await makeFolder(dirname(file))
    writeFileSync(file, content)
  } catch (cause) {
    throw new UsageError(`--write: ${file} cannot be written: ${describeFileError(cause)}`, { cause })
  }
}

/** The generated files of the repository: manifests, parts of the chart, and reference pages. */
export function generatedFiles(): Record<string, string> {
  const crds = customResourceDefinitions()
  const config = completeConfig({}, 'defaults')
  return {
    'webhooks/manifests.yaml': generated([...crds, ...wantedRegistration(config), ...rolesFor(undefined)]),
    'webhooks/volumes.yaml': generated(podRolesFor(undefined)),
    'webhooks/interpreter.yaml': generated(interpreterRegistration(config)),
    'webhooks/absence.yaml': generated(absenceManifests(config)),
    ...Object.fromEntries(
      crds.map((crd) => [`charts/lodestone/files/crds/${crd.metadata.name}.yaml`, generated([crd])]),
    ),
    ...Object.fromEntries(
      chartRoles().map((role) => [`charts/lodestone/files/roles/${role.metadata.name}.yaml`, generated([role])]),
    ),
    ...Object.fromEntries(
      absenceManifests(config).map((object) => [
        `charts/lodestone/files/absence/${object.metadata.name}.${object.kind}.yaml`,
        generated([object]),
      ]),
    ),
    'charts/lodestone/files/storage-class.yaml': generated([storageClass()]),
    'charts/lodestone/dashboards/lodestone.json': `${JSON.stringify(dashboard(), null, 2)}\n`,
    'docs/reference/api.md': apiPage(),
    'docs/reference/events.md': eventsPage(),
    'docs/reference/findings.md': findingsPage(),
    'docs/reference/metrics.md': metricsPage(),
    'charts/lodestone/values.schema.json': `${JSON.stringify(chartValuesSchema(), null, 2)}\n`,
  }
}

/** The ClusterRoles of all features. The chart has their bindings itself. */
function chartRoles(): K8sObject[] {
  const objects = [
    ...rolesFor(undefined),
    ...podRolesFor(undefined),
    ...credentialRoles(''),
    ...uninstallRoles(),
    ...pageRoles(SHIPPED_KINDS),
  ]
  return objects.filter(({ kind }) => kind === 'ClusterRole')
}

function generated(objects: readonly K8sObject[]): string {
  return `# Generated by 'npm run manifests' from src/api and src/webhooks. Do not edit: a test compares them.\n${toYaml(objects)}`
}

function registrationInput(args: Arguments): [Config, { caBundlePem: string | undefined }] {
  const url = args.text('url')
  const config = loadConfig(args.text('config'))
  if (url !== undefined && !(URL_PATTERN.test(url) && URL.canParse(url))) {
    throw new UsageError(`--url takes an https URL without user or query, e.g. https://10.0.0.7:9443, not ${url}`)
  }
  const target = url ? { ...config, registration: { ...config.registration, mode: 'url' as const, url } } : config
  return [target, { caBundlePem: readCa(args.text('ca')) }]
}

function interpreterRegistration(config: Config, ca?: { caBundlePem: string | undefined }): K8sObject[] {
  const wanted = wantedInterpreterRegistration(config, interpreterTypes(configuredWorkloadKinds(config)), ca)
  return wanted ? [wanted] : []
}

function absenceManifests(config: Config): K8sObject[] {
  return [...wantedAbsencePolicies(config), ...absencePolicyBindings()]
}

function readCa(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readCaFile('ca', file, 'name the ca.crt of the certificates')
}

/** The configuration of the arguments; undefined for the rights of all configurations. */
function givenConfig(args: Arguments): Config | undefined {
  const file = args.text('config')
  return file === undefined ? undefined : loadConfig(file)
}

function workloadKindsOf(config: Config | undefined): WorkloadKinds {
  return config ? configuredWorkloadKinds(config) : SHIPPED_KINDS
}

function parseParts(words: string[]): readonly Part[] {
  const unknown = words.find((word) => !PARTS.some((part) => part === word))
  if (unknown) throw new UsageError(`unknown part ${unknown}; expected ${PARTS.join(', ')}${suggest(unknown, PARTS)}`)
  return words.length === 0 ? COMMON_PARTS : PARTS.filter((part) => words.includes(part))
}

function toYaml(objects: readonly K8sObject[]): string {
  return objects.map(renderYaml).join('---\n')
}
