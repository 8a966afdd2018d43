/** A command line for everything that Lodestone prints: for tests of readers that are slow, or that end first. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { stringify } from 'yaml'
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { serviceAccounts } from '../../src/api/dependencies.ts'
import { propagationPolicies, resourceBindings } from '../../src/api/karmada.ts'
import { mutatingWebhookConfigurations } from '../../src/api/registration.ts'
import { LODESTONE } from '../../src/app/roles/rbac.ts'
import { loadCommands } from '../../src/cli/index.ts'
import { FakeApiServer } from '../../src/store/cluster/api-server.fake.ts'

/**
 * The line of each command in the table of src/cli/index.ts. HUB, MANY and NEW are files of `usePrintingCommands`. `serve` and `ui`
 * have no line: they run until they are stopped, so their tests are apart.
 */
const LINES: Readonly<Record<string, string | undefined>> = {
  serve: undefined,
  ui: undefined,
  check: 'check -f MANY',
  test: 'test webhooks/data-source-claim',
  explain: 'explain deployment/trainer -n demo --folder examples/hub',
  status: 'status --folder MANY',
  'what-if': 'what-if --each-cluster-lost --folder MANY',
  snapshot: 'snapshot --folder MANY',
  'kustomize-config': 'kustomize-config',
  manifests: 'manifests crds registration rbac volumes interpreter election uninstall',
  // The API server of the tests has no TLS.
  kubeconfig: 'kubeconfig --kubeconfig HUB --server https://10.0.0.7:5443',
  'check-install': 'check-install --kubeconfig HUB',
  migrate: 'migrate --kubeconfig HUB',
  uninstall: 'uninstall --kubeconfig HUB',
  certs: 'certs -d NEW',
  completion: 'completion',
  mover: 'mover prepare --root NEW --target NEW/data',
  version: 'version',
}
const OTHER_LINES = ['--help', 'help check', '__complete explain -n demo --folder examples/hub deployment/']

/** Lines of invalid arguments, which print to standard error only. */
export const MISTAKEN_LINES = ['chek', 'check --flie x', 'explain deployment/trainr -n demo --folder examples/hub']

/** The lines of all commands, in each of their formats and for each shell. Throws for a command without a line. */
export async function printingLines(): Promise<string[]> {
  const commands = await loadCommands()
  const lines = commands.flatMap(({ name, options, arguments: words }) => {
    if (!Object.hasOwn(LINES, name)) throw new Error(`${name}: no line in test/integration/printing-commands.ts`)
    const line = LINES[name]
    if (line === undefined) return []
    const formats = options['output']?.values?.map((format) => `${line} -o ${format}`)
    const shells = name === 'completion' && Array.isArray(words) ? words.map((shell) => `${line} ${shell}`) : undefined
    return formats ?? shells ?? [line]
  })
  return [...lines, ...OTHER_LINES]
}

/** So many workloads and claims that a pipe, which holds 64 KiB, cannot hold their results. */
export const MORE_THAN_A_PIPE = 300

/**
 * Creates the files of the lines for the tests of a file. Returns the function that splits a line into its words.
 *
 * @param workloads the number of workloads in MANY, each with a claim
 */
export function usePrintingCommands(workloads: number): (line: string) => string[] {
  const folder = mkdtempSync(join(tmpdir(), 'lodestone-printing-'))
  const files = { HUB: join(folder, 'hub.kubeconfig'), MANY: join(folder, 'many'), NEW: join(folder, 'new') }
  const hub = new FakeApiServer([
    ...[dataSourceClaims, dataSources, propagationPolicies, resourceBindings],
    ...[mutatingWebhookConfigurations, serviceAccounts],
  ])
  hub.put(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: LODESTONE })
  hub.put(mutatingWebhookConfigurations, REGISTRATION)
  beforeAll(async () => {
    for (const path of [files.MANY, files.NEW]) mkdirSync(path)
    writeFileSync(join(files.MANY, 'all.yaml'), manyManifests(workloads))
    await hub.listen()
    writeFileSync(files.HUB, kubeconfigOf(hub.url))
  })
  afterAll(async () => {
    await hub.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return (line) =>
    line.split(' ').map((word) => word.replace(/^(HUB|MANY|NEW)\b/, (name) => files[name as keyof typeof files]))
}

/** As much as `migrate` reads of it. */
const REGISTRATION = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'lodestone' },
  webhooks: [{ name: 'resource-binding.lodestone.dev', clientConfig: { url: 'https://127.0.0.1:1' } }],
}

function kubeconfigOf(server: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'hub',
    clusters: [{ name: 'hub', cluster: { server } }],
    users: [{ name: 'hub', user: {} }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
  })
}

function manyManifests(workloads: number): string {
  const manifests = (i: number) => `apiVersion: apps/v1
kind: Deployment
metadata: { name: web-${i}, namespace: demo }
spec: { selector: {}, template: {} }
---
apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSourceClaim
metadata: { name: web-${i}, namespace: demo }
spec:
  system: amoro
  dataSourceType: table
  dataSourceName: prod.web.${i}
  workload: { apiVersion: apps/v1, kind: Deployment, name: web-${i} }
`
  return Array.from({ length: workloads }, (_, i) => manifests(i)).join('---\n')
}
