// The manifests of volcano-global's deploy guide on a real Karmada with its CRDs, and the migration of what it left behind.
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type AmoroServer, startAmoroServer } from './amoro-server.ts'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type BindingObject, bindings, type Hub, hubOn } from './hub.ts'
import { createRegistrations, type Lodestone, lodestoneUser, startLodestone } from './lodestone.ts'
import { deployment, policy, tableClaim } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

const repository = join(import.meta.dirname, '..', '..')
const guide = (file: string) => readFileSync(join(repository, 'test', 'data', 'deploy-guide', file), 'utf8')
const configMap = { namespace: 'data-hub', name: 'data-source-plugins' }
const claims = 'datasourceclaims.datadependency.volcano.sh'
const sources = 'datasources.datadependency.volcano.sh'

let plane: ControlPlane
let hub: Hub
let amoro: AmoroServer
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  hub = hubOn(plane)
  amoro = await startAmoroServer({ 'north.shop.orders': 's3://lake-north/shop/orders' })
  await hub.kubectl(['apply', '-f', '-'], guide('upstream-crds.yaml'))
  await plane.crdsEstablished()
  await hub.kubectl(['create', 'namespace', configMap.namespace])
  // Only the port differs: 1630 may be in use.
  await hub.kubectl(['apply', '-f', '-'], guide('config-map.yaml').replace('1630', String(amoro.port)))
  const config = { systems: { configMap } }
  const file = join(plane.dir, 'rights.yaml')
  await writeFile(file, stringify({ registration: { mode: 'service' }, ...config }))
  await hub.kubectl(['apply', '-f', '-'], await lodestoneOutput(['manifests', 'rbac', '--config', file]))
  await createRegistrations(plane)
  lodestone = await startLodestone(plane, { kubeconfig: await plane.kubeconfigFor(lodestoneUser), config })
})

afterAll(async () => {
  await amoro?.stop()
  await stopAndCheckRights({ plane, lodestones: [lodestone] })
})

const bindingOf = async (name: string) =>
  (await plane.getJson(bindings, `${name}-deployment`, 'default')) as BindingObject | undefined
const clustersOf = async (name: string) =>
  (await bindingOf(name))?.spec.clusters
    ?.map((cluster) => cluster.name)
    .sort()
    .join()

interface WithConditions extends KubeObject {
  status?: { conditions?: { type: string; status: string; reason: string; message: string }[] }
}

async function conditionOf(resource: string, name: string, type: string, namespace?: string) {
  const found = (await plane.getJson(resource, name, namespace)) as WithConditions | undefined
  return found?.status?.conditions?.find((one) => one.type === type)
}

test('the manifests of the guide place a workload, with the CRDs of volcano-global', async () => {
  for (const file of ['claim.yaml', 'deployment.yaml', 'propagation-policy.yaml']) {
    await hub.kubectl(['apply', '-f', '-'], guide(file))
  }
  await plane.eventually('it is where its data is', async () => {
    const clusters = await clustersOf('report')
    // Aggregated: one replica is in one of the two clusters.
    return clusters === 'member1' || clusters === 'member2'
  })
  const stored = (await plane.getJson('propagationpolicies.policy.karmada.io', 'report', 'default')) as {
    spec?: { placement?: object }
  }
  expect(stored.spec?.placement).toMatchObject({ clusterAffinity: {} })
  expect(stored.spec?.placement).not.toHaveProperty('clusterAffinity.clusterNames')
  const bound = await plane.eventually('the claim is bound', () =>
    conditionOf(claims, 'orders-of-report', 'Bound', 'default'),
  )
  const name = 'amoro-table-north.shop.orders'
  expect(bound).toMatchObject({
    status: 'True',
    reason: 'BindingSuccessful',
    message: `Successfully bound to DataSource: ${name}`,
  })
  await plane.eventually('the source is Available, although its CRD has no phase', async () => {
    return (await conditionOf(sources, name, 'Ready'))?.reason === 'Available'
  })
  await plane.eventually('the log says what the CRD lacks', async () => {
    return (await lodestone.readLog()).includes('the CRD of DataSources lacks location, size and phase')
  })

  // The next query has an effect too: the data has moved.
  amoro.tables.set('north.shop.orders', 's3://lake-south/shop/orders')
  await hub.kubectl(['delete', '--wait=false', sources, name])
  await plane.eventually('it moves with its data', async () => (await clustersOf('report')) === 'member3')
})

test('data that does not exist fails its claim, although the CRD requires a location', async () => {
  const claim = guide('claim.yaml').replace('orders-of-report', 'gone').replace('north.shop.orders', 'north.shop.gone')
  await hub.kubectl(['apply', '-f', '-'], claim.replace('name: "report"', 'name: "gone"'))
  await plane.eventually('the claim says so', async () => {
    return (await conditionOf(claims, 'gone', 'Resolved', 'default'))?.reason === 'NotFound'
  })
})

test('the API server rejects the DataSource in the words of the guide, as folders do', async () => {
  const { code, stderr } = await plane.kubectl(['apply', '-f', '-'], {
    input: guide('data-source-shorthand.yaml'),
    allowFailure: true,
  })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/unknown field|spec\.locality: Required value/)
})

test('data in a cluster that does not exist holds its workload with that reason', async () => {
  const claim = guide('claim.yaml')
    .replace('orders-of-report', 'ghost')
    .replace('north.shop.orders', 'north.shop.ghost')
  await hub.apply({
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name: 'ghost' },
    spec: { system: 'manual', type: 'table', name: 'north.shop.ghost', locality: { clusterNames: ['member9'] } },
  })
  await hub.kubectl(
    ['apply', '-f', '-'],
    claim.replace('"amoro"', '"manual"').replace('name: "report"', 'name: "ghost"'),
  )
  await hub.apply(policy('ghost'), deployment('ghost'))
  const held = await plane.eventually('it is on hold', async () => {
    return (await bindingOf('ghost'))?.metadata.annotations?.['lodestone.dev/hold']
  })
  expect(held).toContain('the data is in member9, for which no Cluster exists')
})

test('status lists the system in the folder of PLUGIN_CONFIG_PATH, as in the guide', async () => {
  const directory = join(plane.dir, 'plugins')
  await mkdir(directory)
  const { data } = parse(guide('config-map.yaml')) as { data: { amoro: string } }
  await writeFile(join(directory, 'amoro'), data.amoro)
  const { code, stdout } = await runLodestone(['status', '--kubeconfig', plane.kubeconfig], {
    PLUGIN_CONFIG_PATH: directory,
  })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^amoro +\d/m)
})

describe('migrate', () => {
  const webhook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'volcano-admission-service-resourcebindings-mutate' },
    webhooks: [
      {
        name: 'mutateresourcebindings.volcano.sh',
        clientConfig: { url: 'https://127.0.0.1:1/resourcebindings/mutate' },
        rules: [{ operations: ['CREATE'], apiGroups: ['test.example'], apiVersions: ['v1'], resources: ['nothing'] }],
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  }

  /** The role of the page, for a user of its own. */
  async function migrationUser(): Promise<string> {
    const page = readFileSync(join(repository, 'docs', 'guides', 'migration.md'), 'utf8')
    const role = /```yaml\n(apiVersion: rbac[\s\S]*?)```/.exec(page)?.[1] ?? ''
    await hub.kubectl(['apply', '-f', '-'], role)
    await hub.kubectl([
      'create',
      'clusterrolebinding',
      'migration',
      '--clusterrole=lodestone-migration',
      '--user=migration',
    ])
    return plane.kubeconfigFor('migration')
  }

  /** What volcano-global leaves: a claim and a source with finalizers and references, and a suspended workload with exclusions. */
  async function leaveBehind(): Promise<void> {
    const claim = tableClaim('old', { data: 'old' })
    claim.metadata['finalizers'] = ['datadependency.volcano.sh/finalizer']
    claim.spec['system'] = 'manual'
    await hub.apply(claim)
    const source = {
      apiVersion: 'datadependency.volcano.sh/v1alpha1',
      kind: 'DataSource',
      metadata: { name: 'old', finalizers: ['datadependency.volcano.sh/datasource-finalizer'] },
      spec: { system: 'manual', type: 'table', name: 'old', locality: { clusterNames: ['member2'] } },
    }
    await hub.apply(source as KubeObject)
    const reference = { apiVersion: source.apiVersion, kind: 'DataSourceClaim', namespace: 'default', name: 'old' }
    // As client-go's GetReference writes it.
    const status = { claimRefs: [{ ...reference, uid: 'u', resourceVersion: '4711' }], boundClaims: 1 }
    await hub.kubectl([
      'patch',
      sources,
      'old',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ])
    await plane.stop('karmada-scheduler')
    await hub.apply(policy('old'), deployment('old'), policy('legacy'), deployment('legacy'))
    for (const name of ['old', 'legacy']) await leaveBinding(name)
    await plane.start('karmada-scheduler')
  }

  async function leaveBinding(name: string): Promise<void> {
    await plane.eventually(`the binding of ${name} exists`, () => bindingOf(name))
    const annotations = {
      'datadependency.volcano.sh/placement-injected': 'true',
      'datadependency.volcano.sh/excluded-clusters': 'member1',
    }
    const patch = {
      metadata: { annotations },
      spec: { suspension: { scheduling: true }, placement: { clusterAffinity: { exclude: ['member1'] } } },
    }
    await hub.kubectl([
      'patch',
      bindings,
      `${name}-deployment`,
      '-n',
      'default',
      '--type=merge',
      '-p',
      JSON.stringify(patch),
    ])
  }

  test('frees the objects of volcano-global once, and keeps claims and sources', async () => {
    await leaveBehind()
    const kubeconfig = await migrationUser()
    const migrate = (...more: string[]) => runLodestone(['migrate', '--kubeconfig', kubeconfig, ...more])
    await hub.apply(webhook as KubeObject)
    expect(await migrate('--apply')).toMatchObject({ code: 1, stdout: '' })
    await hub.delete(webhook as KubeObject)

    const plan = await migrate()
    expect(plan).toMatchObject({ code: 0, stderr: '' })
    expect(plan.stdout).toContain('DataSourceClaim default/old: remove finalizer datadependency.volcano.sh/finalizer\n')
    expect(plan.stdout).toContain('4 objects to change; nothing was changed')
    expect((await bindingOf('legacy'))?.spec['suspension']).toEqual({ scheduling: true })

    const applied = await migrate('--apply')

    expect(applied).toMatchObject({ code: 0, stderr: '' })
    expect(applied.stdout).toContain('4 objects changed, 0 failed\n')
    await plane.eventually(
      'the claimed workload is where its data is',
      async () => (await clustersOf('old')) === 'member2',
    )
    await plane.eventually('the other one is in every cluster of its policy', async () => {
      return (await clustersOf('legacy')) === 'member1,member2,member3'
    })
    for (const name of ['old', 'legacy']) {
      expect(Object.keys((await bindingOf(name))?.metadata.annotations ?? {}).join()).not.toContain('volcano')
    }
    const [kept, keptSource] = [await plane.getJson(claims, 'old', 'default'), await plane.getJson(sources, 'old')]
    expect([kept, keptSource].map((object) => JSON.stringify(object?.metadata['finalizers']))).toEqual([
      '["lodestone.dev/claim"]',
      '["lodestone.dev/source"]',
    ])
    expect(await migrate('--apply')).toMatchObject({ code: 0, stdout: 'nothing of volcano-global is left\n' })
  })
})
