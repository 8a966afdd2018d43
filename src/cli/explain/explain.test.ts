import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, makeForeignClaim, makePolicy, makeSource } from '../../../test/builders.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

const BEFORE_NOW = '2026-11-20T09:00:00Z'

const source = makeSource(
  { locality: { clusterNames: ['member2'], location: 's3://lake/sales', bytes: 5 * 1024 ** 3 } },
  { status: { phase: 'Available', lastResolvedTime: BEFORE_NOW } },
)

function explain(target: string, objects: unknown[], ...more: string[]) {
  return runWords(['explain', target, '--folder', makeFolder({ 'hub.yaml': objects }), ...more])
}

const narrowed = `Deployment default/app
├─ DataSourceClaim default/sales (Required): amoro table lake.shop.sales
│  └─ DataSource amoro-table-lake.shop.sales: located in member2
│     └─ s3://lake/sales, 5.0 GiB, confirmed 3 h ago
├─ PropagationPolicy default/app: member1, member2, member3
└─ ResourceBinding default/app-deployment (as Karmada would create it): Narrowed
   ├─ default/sales is in member2
   ├─ before: member1, member2, member3
   └─ after:  member2
`

describe('explain shows the whole workload for any of its objects', () => {
  test.each([
    { target: 'deployment/app' },
    { target: 'deploy/app' },
    { target: 'Deployments/app' },
    { target: 'deployment.apps/app' },
    { target: 'Deployment.apps/app' },
    { target: 'datasourceclaim/sales' },
    { target: 'dsc/sales' },
    { target: 'datasourceclaims.datadependency.volcano.sh/sales' },
    { target: 'ds/amoro-table-lake.shop.sales' },
    { target: 'datasource.datadependency.volcano.sh/amoro-table-lake.shop.sales' },
  ])('$target', async ({ target }) => {
    const answer = await explain(target, [makeClaim(), source, makePolicy()])

    expect(answer).toEqual({ status: 0, stdout: narrowed, stderr: '' })
  })

  test.each([
    {
      name: 'with dependencies that follow',
      policy: makePolicy({ propagateDeps: true }),
      want: 'dependencies follow: propagateDeps is set',
    },
    {
      name: 'with dependencies that do not follow because of an annotation',
      policy: makePolicy({}, { annotations: { 'lodestone.dev/propagate-deps': 'false' } }),
      want: 'dependencies do not follow: annotation lodestone.dev/propagate-deps: "false"',
    },
    {
      name: 'with dependencies that do not follow because of the manifest',
      policy: makePolicy({ propagateDeps: false }),
      want: 'dependencies do not follow: its manifest says propagateDeps: false',
    },
  ])('$name', async ({ policy, want }) => {
    const { stdout } = await explain('deployment/app', [makeClaim(), source, policy])

    expect(stdout).toContain(`├─ PropagationPolicy default/app: member1, member2, member3\n│  └─ ${want}\n`)
  })

  test('a binding', async () => {
    const binding = makeBinding({ clusters: [{ name: 'member1' }] })

    const { status, stdout } = await explain('rb/app-deployment', [makeClaim(), source, makePolicy(), binding])

    expect(status).toBe(0)
    expect(stdout).toMatch(/^Deployment default\/app\n/)
    expect(stdout).toContain('└─ ResourceBinding default/app-deployment: Narrowed\n')
    expect(stdout).toContain('   └─ scheduled to: member1\n')
  })

  test('a claim through its bound source', async () => {
    const claim = { ...makeClaim({ dataSourceName: 'another' }), status: { boundDataSource: source.metadata.name } }

    const { stdout } = await explain('ds/amoro-table-lake.shop.sales', [claim, source, makePolicy()])

    expect(stdout).toContain('DataSource amoro-table-lake.shop.sales: located in member2')
  })
})

test('a workload with an unknown location is shown on hold, with the reason', async () => {
  const { status, stdout } = await explain('deployment/app', [makeClaim(), makePolicy()])

  expect(status).toBe(0)
  expect(stdout).toContain('│  └─ unknown: ')
  expect(stdout).toContain('(as Karmada would create it): OnHold\n')
  expect(stdout).toContain('   └─ after:  no cluster, until the hold ends\n')
})

test('data that does not exist is shown as nowhere, not as unknown', async () => {
  const gone = makeSource({}, { status: { phase: 'Unavailable' } })

  const { stdout } = await explain('deployment/app', [makeClaim(), gone, makePolicy()])

  expect(stdout).toContain('DataSource amoro-table-lake.shop.sales: nowhere: ')
})

test('dependencies of a workload are shown, with the clusters to which they are attached', async () => {
  const template = {
    metadata: { labels: { app: 'app' } },
    spec: { containers: [{ envFrom: [{ configMapRef: { name: 'settings' } }] }] },
  }
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app' }, spec: { template } }
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { selector: { app: 'app' } } }
  const attached = {
    ...makeBinding({ requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }] }),
    metadata: { name: 'settings-configmap', namespace: 'default' },
  }

  const { stdout } = await explain('deployment/app', [makeClaim(), source, makePolicy(), deployment, service, attached])

  expect(stdout).toContain(`└─ dependencies
   ├─ ConfigMap default/settings: attached to member2
   └─ Service default/web: not attached
`)
})

test('a workload without a claim and without a policy is shown as such', async () => {
  const { status, stdout } = await explain('RayJob.ray.io/train', [], '-n', 'demo')

  expect(status).toBe(0)
  expect(stdout).toBe(`RayJob demo/train
├─ no DataSourceClaim names it: it is placed by its policy alone
└─ no policy selects it: Karmada creates no binding for it
`)
})

test('a custom kind is written with kind and group', async () => {
  const workload = { apiVersion: 'ray.io/v1', kind: 'RayJob', name: 'train' }
  const policy = makePolicy({ resourceSelectors: [workload] })

  const { stdout } = await explain('RayJob.ray.io/train', [makeClaim({ workload }), source, policy])

  expect(stdout).toContain('└─ ResourceBinding default/train-rayjob (as Karmada would create it): Narrowed\n')
})

describe('a missing object causes exit status 1', () => {
  test.each([
    { target: 'dsc/none', want: 'DataSourceClaim default/none does not exist or is not used\n' },
    { target: 'ds/none', want: 'DataSource none does not exist or is not used\n' },
    { target: 'rb/none', want: 'ResourceBinding default/none does not exist or is not used\n' },
    { target: 'crb/none', want: 'ClusterResourceBinding none does not exist or is not used\n' },
  ])('$target', async ({ target, want }) => {
    const answer = await explain(target, [makeClaim()])

    expect(answer).toEqual({ status: 1, stdout: '', stderr: `lodestone explain: ${want}` })
  })
})

test('a claim that is not permitted is shown as ignored, with the reason', async () => {
  const { stdout } = await explain('deployment/app', [makeForeignClaim(), source, makePolicy()])

  expect(stdout).toBe(`Deployment default/app
├─ DataSourceClaim other/sales (Required): amoro table lake.shop.sales
│  ├─ not permitted, and ignored: namespace default does not allow claims of namespace other; allow them with: kubectl annotate namespace default lodestone.dev/allow-claims-from=other
│  └─ DataSource amoro-table-lake.shop.sales: located in member2
│     └─ s3://lake/sales, 5.0 GiB, confirmed 3 h ago
├─ PropagationPolicy default/app: member1, member2, member3
└─ ResourceBinding default/app-deployment (as Karmada would create it): unchanged
   ├─ before: member1, member2, member3
   └─ after:  member1, member2, member3
`)
})

test('a source without claims is shown as unused', async () => {
  const { status, stderr } = await explain('ds/amoro-table-lake.shop.sales', [source])

  expect(status).toBe(1)
  expect(stderr).toContain('does not exist or is not used')
})

test('an invalid manifest is reported with file and line, and the other objects are explained', async () => {
  const folder = makeFolder({ 'hub.yaml': [makeClaim(), source, makePolicy()], 'broken.yaml': 'a: [' })

  const { status, stdout, stderr } = await runWords(['explain', 'dsc/sales', '--folder', folder])

  expect({ status, stdout }).toEqual({ status: 0, stdout: narrowed })
  expect(stderr).toMatch(/^lodestone explain: .*broken\.yaml:1: is not valid YAML/)
})

test('the first line is bold at a terminal, unless NO_COLOR is set', async () => {
  const words = ['explain', 'deployment/app', '--folder', makeFolder()]

  const coloured = await runWords(words, { isTTY: true })
  const plain = await runWords(words, { isTTY: true, env: { NO_COLOR: '1' } })

  expect(coloured.stdout.startsWith('\u001b[1mDeployment default/app')).toBe(true)
  expect(plain.stdout).toMatch(/^Deployment default\/app\n/)
})
