import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makeForeignClaim,
  makeObject,
  makePolicy,
  makeSource,
} from '../../../test/builders.ts'
import { SHIPPED_ENTRIES } from '../../core/workload-kinds/kinds.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

const BEFORE_NOW = '2026-11-20T09:00:00Z'

const source = makeSource(
  { locality: { clusterNames: ['member2'], location: 's3://lake/sales', bytes: 5 * 1024 ** 3 } },
  { status: { phase: 'Available', lastResolvedTime: BEFORE_NOW } },
)

async function explain(target: string, objects: unknown[], ...more: string[]) {
  const folder = makeFolder({ 'hub.yaml': objects })
  const answer = await runWords(['explain', ...target.split(' '), '--folder', folder, ...more])
  return { ...answer, stderr: answer.stderr.replaceAll(folder, 'DIR'), stdout: answer.stdout.replaceAll(folder, 'DIR') }
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
    { target: 'Deployment.apps/app' },
    { target: 'dsc/sales' },
    { target: 'deployment app' },
    { target: 'deployments.v1.apps app' },
  ])('$target', async ({ target }) => {
    const answer = await explain(target, [makeDeployment(), makeClaim(), source, makePolicy()])

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
    const { stdout } = await explain('deployment/app', [makeDeployment(), makeClaim(), source, policy])

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
})

describe('a source is shown with the workloads that need its data', () => {
  const unbound = { ...makeClaim({ dataSourceName: 'another' }), status: { boundDataSource: source.metadata.name } }
  const located = `DataSource amoro-table-lake.shop.sales: located in member2
├─ s3://lake/sales, 5.0 GiB, confirmed 3 h ago
`

  test.each([
    {
      name: 'by its short name, which DaemonSets have too',
      target: 'ds/amoro-table-lake.shop.sales',
      claim: makeClaim(),
    },
    { name: 'by its plural', target: 'datasources/amoro-table-lake.shop.sales', claim: makeClaim() },
    { name: 'for a bound claim', target: 'ds/amoro-table-lake.shop.sales', claim: unbound },
  ])('$name', async ({ target, claim }) => {
    const answer = await explain(target, [makeDeployment(), claim, source, makePolicy()])

    const want = `${located}└─ DataSourceClaim default/sales
   └─ Deployment default/app: Narrowed: default/sales is in member2
`
    expect(answer).toEqual({ status: 0, stdout: want, stderr: '' })
  })

  test('none', async () => {
    const { status, stdout } = await explain('ds/amoro-table-lake.shop.sales', [source])

    expect({ status, stdout }).toEqual({ status: 0, stdout: `${located}└─ no DataSourceClaim asks for its data\n` })
  })

  test('of very many only the first', async () => {
    const claims = Array.from({ length: 1200 }, (_, i) => makeClaim({}, { name: `sales-${i}` }))

    const { stdout } = await explain('ds/amoro-table-lake.shop.sales', [source, ...claims])

    expect(stdout.match(/─ DataSourceClaim/g)).toHaveLength(50)
    expect(stdout).toMatch(/└─ and 1,150 more\n$/)
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

test('dependencies of a workload are shown with the clusters of their attachment', async () => {
  const template = {
    metadata: { labels: { app: 'app' } },
    spec: { containers: [{ envFrom: [{ configMapRef: { name: 'settings' } }] }] },
  }
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app' }, spec: { template } }
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec: { selector: { app: 'app' } } }
  const attached = {
    ...makeBinding({
      resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' },
      requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }],
    }),
    metadata: { name: 'settings-configmap', namespace: 'default' },
  }

  const { stdout } = await explain('deployment/app', [makeClaim(), source, makePolicy(), deployment, service, attached])

  expect(stdout).toContain(`└─ dependencies
   ├─ ConfigMap default/settings: attached to member2
   └─ Service default/web: not attached
`)
})

test('a workload without a claim and without a policy is shown as such', async () => {
  const job = makeObject('ray.io/v1', 'RayJob', 'train')

  const { status, stdout } = await explain('RayJob.ray.io/train', [job])

  expect(status).toBe(0)
  expect(stdout).toBe(`RayJob default/train
├─ no DataSourceClaim names it: it is placed by its policy alone
└─ no policy selects it: Karmada creates no binding for it
`)
})

test.each([
  {
    name: 'whose policy was deleted keeps its binding',
    labels: {},
    says: 'the scheduler looks at its binding only when a cluster changes',
  },
  {
    name: 'of a MultiClusterService is placed without its claims',
    labels: { 'binding.karmada.io/managed-by': 'MultiClusterService' },
    says: 'a MultiClusterService places it, and claims do not narrow it',
  },
])('a workload $name, and that is said', async ({ labels, says }) => {
  const { annotations: _annotations, ...metadata } = makeBinding().metadata
  const binding = { ...makeBinding({ clusters: [{ name: 'member2' }] }), metadata: { ...metadata, labels } }

  const { stdout } = await explain('deployment/app', [makeDeployment(), binding])

  expect(stdout).toContain(`├─ no policy selects it: ${says}
└─ ResourceBinding default/app-deployment: unchanged
`)
})

test('a lazy policy is shown as such, since it applies later', async () => {
  const policy = makePolicy({ activationPreference: 'Lazy' })

  const { stdout } = await explain('deployment/app', [makeDeployment(), policy])

  expect(stdout).toContain('└─ activationPreference is Lazy: it applies when the workload changes\n')
})

test.each([
  { name: 'a policy', metadata: makeBinding().metadata, says: 'a policy selects it' },
  {
    name: 'a MultiClusterService',
    metadata: { labels: { 'binding.karmada.io/managed-by': 'MultiClusterService' } },
    says: 'a MultiClusterService places it',
  },
  { name: 'a deleted policy', metadata: {}, says: 'no policy selects it any more' },
])('a dependency with a placement of $name is shown with that', async ({ metadata, says }) => {
  const resource = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' }
  const named = { ...metadata, namespace: 'default', name: 'web-service' }
  const binding = { ...makeBinding({ resource, clusters: [{ name: 'member2' }] }), metadata: named }

  const { stdout } = await explain('service/web', [makeObject('v1', 'Service', 'web'), binding])

  expect(stdout).toContain(`└─ ${says}: ResourceBinding default/web-service, scheduled to member2`)
})

test('of two policies for a workload, the one with the higher priority is shown', async () => {
  const selects = { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'app' }] }
  const named = (name: string, spec: object) => {
    const policy = makePolicy({ ...selects, ...spec })
    return { ...policy, metadata: { ...policy.metadata, name } }
  }

  const { stdout } = await explain('deployment/app', [
    makeObject('apps/v1', 'Deployment', 'app'),
    named('a-first-by-name', {}),
    named('urgent', { priority: 5 }),
  ])

  expect(stdout).toContain('PropagationPolicy default/urgent')
  expect(stdout).not.toContain('a-first-by-name')
})

describe('the decision is that of the server with the same configuration', () => {
  const resource = { apiVersion: 'example.com/v1', kind: 'Render', namespace: 'default', name: 'app' }
  const placement = makePolicy().spec.placement ?? {}
  const base = { 'lodestone.dev/base-affinity': JSON.stringify(placement) }
  const locality = { state: 'Narrowed', message: 'm', claims: ['default/sales'], required: ['member1'] }
  const running = (changes: object) =>
    makeBinding(
      { resource, placement: { clusterAffinity: { clusterNames: ['member1'] } }, clusters: [{ name: 'member1' }] },
      {
        name: 'app-render',
        annotations: { ...base, 'lodestone.dev/locality': JSON.stringify({ ...locality, ...changes }) },
      },
    )
  const hub = [
    ...['member1', 'member2'].map((name) => makeCluster(name)),
    makeObject('example.com/v1', 'Render', 'app'),
    makePolicy({ resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Render' }] }),
    source,
  ]
  const kind = { group: 'example.com', versions: ['v1'], kind: 'Render', plural: 'renders' }

  test.each([
    { moveCost: 'Restart', want: 'Narrowed' },
    { moveCost: 'Work', want: 'Kept' },
  ])('a move costs $moveCost', async ({ moveCost, want }) => {
    const file = makeFolder({ 'config.yaml': { workloadKinds: [{ ...kind, moveCost }] } })
    const claim = makeClaim({ workload: resource })
    const { stdout } = await explain('render/app', [...hub, claim, running({})], '-c', `${file}/config.yaml`)
    expect(stdout).toContain(`ResourceBinding default/app-render: ${want}\n`)
  })

  test.each([
    { releaseDelaySeconds: 0, want: 'Restored' },
    { releaseDelaySeconds: 30, want: 'Kept' },
  ])('a deleted claim counts for $releaseDelaySeconds s', async ({ releaseDelaySeconds, want }) => {
    const file = makeFolder({ 'config.yaml': { placement: { releaseDelaySeconds } } })
    const { stdout } = await explain('render/app', [...hub, running({})], '-c', `${file}/config.yaml`)
    expect(stdout).toContain(`ResourceBinding default/app-render: ${want}\n`)
  })
})

describe('the policy of a workload is found by its API version', () => {
  const config = {
    'config.yaml': {
      workloadKinds: [{ group: 'example.com', versions: ['v3beta1'], kind: 'Render', plural: 'renders' }],
    },
  }
  const kinds = [...SHIPPED_ENTRIES, { group: 'example.com', versions: ['v3beta1'], kind: 'Render', plural: 'renders' }]

  test.each(
    kinds.map(({ group, versions: [version = ''], kind, plural, ...rest }) => {
      const isCluster = 'scope' in rest && rest.scope === 'Cluster'
      return {
        kind,
        apiVersion: group === '' ? version : `${group}/${version}`,
        word: [plural, group].filter(Boolean).join('.'),
        isCluster,
      }
    }),
  )('$word', async ({ kind, apiVersion, word, isCluster }) => {
    const reference = { apiVersion, kind, name: 'app' }
    const policy = makePolicy({ resourceSelectors: [reference] })
    const clusterPolicy = { ...policy, kind: 'ClusterPropagationPolicy', metadata: { name: 'app' } }
    const object = isCluster ? { apiVersion, kind, metadata: { name: 'app' } } : makeObject(apiVersion, kind, 'app')
    const file = makeFolder(config)

    const { stdout, stderr } = await explain(
      `${word}/app`,
      [makeCluster('member1'), object, isCluster ? clusterPolicy : policy],
      '-c',
      `${file}/config.yaml`,
    )

    expect(stderr).toBe('')
    expect(stdout).toContain(
      `${isCluster ? 'ClusterPropagationPolicy app' : 'PropagationPolicy default/app'}: member1, member2, member3\n`,
    )
  })

  test.each([{ target: 'Foo.v7.example.com/app' }, { target: 'foos.example.com/app' }, { target: 'foo/app' }])(
    'also if no table has the kind: $target',
    async ({ target }) => {
      const foo = makeObject('example.com/v7', 'Foo', 'app')

      const { status, stdout } = await explain(target, [
        foo,
        makePolicy({ resourceSelectors: [{ apiVersion: 'example.com/v7', kind: 'Foo' }] }),
      ])

      expect(status).toBe(0)
      expect(stdout).toContain('└─ ResourceBinding default/app-foo (as Karmada would create it): unchanged\n')
    },
  )

  test('and by its labels', async () => {
    const labeled = makePolicy({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: { team: 'a' } } }],
    })

    const { stdout } = await explain('deployment/app', [makeDeployment({ labels: { team: 'a' } }), labeled])
    const { stdout: other } = await explain('deployment/app', [makeDeployment({ labels: { team: 'b' } }), labeled])

    expect(stdout).toContain('─ PropagationPolicy default/app: member1, member2, member3\n')
    expect(other).toContain('no policy selects it')
  })
})

test('a cluster-scoped workload of a claim without a namespace is explained', async () => {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'app' } }
  const { metadata: _, ...reference } = { ...role, name: 'app' }

  const { status, stdout } = await explain('dsc/sales', [role, makeClaim({ workload: reference }), source])

  expect(status).toBe(0)
  expect(stdout).toMatch(/^ClusterRole app\n/)
})

describe('a workload that does not exist is explained from what names it', () => {
  test.each([
    { name: 'a claim', target: 'deployment/app', objects: [makeClaim()], want: 'its claims' },
    { name: 'a binding', target: 'deployment/app', objects: [makeBinding()], want: 'its binding' },
    { name: 'both', target: 'dsc/sales', objects: [makeBinding(), makeClaim()], want: 'its binding and its claims' },
    { name: 'the binding itself', target: 'rb/app-deployment', objects: [makeBinding()], want: 'its binding' },
  ])('$name', async ({ target, objects, want }) => {
    const { status, stdout } = await explain(target, [...objects, source, makePolicy()])

    expect(status).toBe(0)
    expect(stdout).toContain(
      `Deployment default/app\n├─ there is no Deployment default/app in folder DIR: explained from ${want} alone\n`,
    )
  })
})

describe('an object that does not exist causes exit status 1', () => {
  const objects = [makeDeployment(), makeClaim(), source, makePolicy()]
  test.each([
    { target: 'deployment/nosuch', want: 'Deployment default/nosuch not found in folder DIR' },
    { target: 'deployment/ap', want: 'Deployment default/ap not found in folder DIR (did you mean app?)' },
    { target: 'dsc/sale', want: 'DataSourceClaim default/sale not found in folder DIR (did you mean sales?)' },
    { target: 'ds/none', want: 'DaemonSet default/none and DataSource none not found in folder DIR' },
    { target: 'rb/none', want: 'ResourceBinding default/none not found in folder DIR' },
    { target: 'crb/none', want: 'ClusterResourceBinding none not found in folder DIR' },
    {
      target: 'deploy app -n demo',
      want: 'Deployment demo/app not found in folder DIR; it is in namespace default: add -n default',
    },
    { target: 'flinkdep/app', want: 'FlinkDeployment default/app not found in folder DIR' },
    { target: 'Foo.v1.example.com/app', want: 'Foo default/app not found in folder DIR' },
  ])('$target', async ({ target, want }) => {
    expect(await explain(target, objects)).toEqual({ status: 1, stdout: '', stderr: `lodestone explain: ${want}\n` })
  })
})

test('a claim that is not permitted is shown as ignored, with the reason', async () => {
  const { stdout } = await explain('deployment/app', [makeDeployment(), makeForeignClaim(), source, makePolicy()])

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

test('an invalid manifest is reported with file and line; other objects are explained', async () => {
  const folder = makeFolder({
    'hub.yaml': [makeDeployment(), makeClaim(), source, makePolicy()],
    'broken.yaml': 'a: [',
  })

  const { status, stdout, stderr } = await runWords(['explain', 'dsc/sales', '--folder', folder])

  expect({ status, stdout }).toEqual({ status: 0, stdout: narrowed })
  expect(stderr).toMatch(/^lodestone explain: .*broken\.yaml:1: is not valid YAML/)
})

test('the first line is bold at a terminal, unless NO_COLOR is set', async () => {
  const words = ['explain', 'deployment/app', '--folder', makeFolder({ 'hub.yaml': makeDeployment() })]

  const coloured = await runWords(words, { isTTY: true })
  const plain = await runWords(words, { isTTY: true, env: { NO_COLOR: '1' } })

  expect(coloured.stdout.startsWith('\u001b[1mDeployment default/app')).toBe(true)
  expect(plain.stdout).toMatch(/^Deployment default\/app\n/)
})

test('a claim for an attached dependency has no effect, and its workloads are named', async () => {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'settings' } }
  const { placement: _absent, ...spec } = makeBinding({
    resource: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'settings' },
    requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }],
  }).spec
  const attached = { ...makeBinding({}, { name: 'settings-configmap' }), spec }
  const claim = makeClaim({ workload: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' } })
  const { stdout } = await explain('dsc/sales -n default', [configMap, attached, claim, source])
  expect(stdout).toBe(`ConfigMap default/settings
├─ DataSourceClaim default/sales (Required): amoro table lake.shop.sales
│  └─ DataSource amoro-table-lake.shop.sales: located in member2
│     └─ s3://lake/sales, 5.0 GiB, confirmed 3 h ago
├─ the claim has no effect: ConfigMap settings is a dependency, and follows the workloads of default/app-deployment; name such a workload instead
├─ no policy selects it: it is a dependency alone
└─ ResourceBinding default/settings-configmap: unchanged
   ├─ has no placement: it follows the bindings that require it
   └─ scheduled to: none yet
`)
})

describe('the candidate clusters of a workload', () => {
  const places = [
    makeCluster('member1', { provider: 'aws', region: 'us-east-1' }),
    makeCluster('member2', { provider: 'aws', region: 'eu-central-1' }),
    makeCluster('member3', { provider: 'gcp', region: 'europe-west1' }, { taken: 'true' }),
    makeCluster('member4', { provider: 'aws', region: 'us-east-1' }),
  ]
  const claim = makeClaim({ policy: { enforcement: 'Preferred' } })
  const taint = { key: 'maintenance', effect: 'NoSchedule' } as const
  const fleet = [makeDeployment(), claim, source, makePolicy(), ...places]
  const transferCosts = {
    currency: 'USD',
    links: [{ from: { provider: 'aws' }, to: { provider: 'aws' }, pricePerGiB: 0.02, bytesPerSecond: '128Mi' }],
  }

  async function candidates(objects: unknown[], ...more: string[]): Promise<string> {
    const config = makeFolder({ 'lodestone.yaml': [{ transferCosts }] })
    const { stdout } = await explain('deployment/app', objects, '--config', `${config}/lodestone.yaml`, ...more)
    return stdout
  }

  test('have their bytes, money and time, and what excludes them, the best first', async () => {
    const tainted = makeCluster('member1', { ...places[0]?.spec, taints: [taint] })
    const stdout = await candidates([...fleet.filter((object) => object !== places[0]), tainted])
    expect(stdout.slice(stdout.indexOf('└─ candidate clusters'))).toBe(`└─ candidate clusters
   ├─ member2: 5.0 GiB local, 0 B to transfer, 0.00 USD, 0 s
   ├─ member3: 0 B local, 5.0 GiB to transfer, unknown price, unknown time, not known: the price from aws eu-central-1 to gcp europe-west1, the bandwidth from aws eu-central-1 to gcp europe-west1
   ├─ member1: 0 B local, 5.0 GiB to transfer, 0.10 USD, 40 s; excluded: has the taint maintenance:NoSchedule, which the policy does not tolerate
   └─ member4: 0 B local, 5.0 GiB to transfer, 0.10 USD, 40 s; excluded: is not allowed by the policy
`)
  })

  test('are in the order of the time from the fastest source if the claim prefers Time', async () => {
    const fast = makeClaim({ policy: { enforcement: 'Preferred', preference: 'Time' } })
    const spread = makeSource({ locality: { clusterNames: ['member2', 'member3'], bytes: 5 * 1024 ** 3 } })
    const links = [
      { from: { provider: 'aws' }, to: { region: 'us-east-1' }, pricePerGiB: 0.02, bytesPerSecond: '128Mi' },
      { from: { provider: 'gcp' }, to: { region: 'us-east-1' }, pricePerGiB: 1, bytesPerSecond: '1Gi' },
      { from: {}, to: { region: 'ap-south-1' }, pricePerGiB: 0, bytesPerSecond: '64Mi' },
    ]
    const folder = makeFolder({ 'lodestone.yaml': [{ transferCosts: { currency: 'USD', links } }] })
    const objects = [
      makeDeployment(),
      fast,
      spread,
      makePolicy(),
      ...places,
      makeCluster('cheap', { region: 'ap-south-1' }),
    ]
    const { stdout } = await explain('deployment/app', objects, '--config', `${folder}/lodestone.yaml`)
    const shown = [...stdout.matchAll(/(\w+): .* local, .* to transfer, ([\d.]+ USD, \d+ s)/g)]
    expect(shown.map(([, name, figures]) => `${name} ${figures}`)).toEqual([
      'member2 0.00 USD, 0 s',
      'member3 0.00 USD, 0 s',
      'member1 5.00 USD, 5 s',
      'member4 5.00 USD, 5 s',
      'cheap 0.00 USD, 80 s',
    ])
  })

  test.each([
    { version: '1.18', replicas: 1, isExcluded: false },
    { version: '1.17', replicas: 1, isExcluded: true },
    { version: '1.18', replicas: 0, isExcluded: true },
  ])('in an overflow tier count for workloads since 1.18: $version, $replicas replicas', async (given) => {
    const { version, replicas, isExcluded } = given
    const overflowAffinities = [{ affinityName: 'more', clusterNames: ['member3'] }]
    const tiered = { clusterAffinities: [{ affinityName: 'own', clusterNames: ['member2'], overflowAffinities }] }
    const objects = [...places, makePolicy({ placement: tiered }), makeClaim(), source]
    const deployment = { ...makeDeployment(), spec: { replicas } }
    const words = ['-o', 'wide', '--karmada-version', version]
    const { stdout } = await explain('deployment/app', [...objects, deployment], ...words)
    expect(/member3: .*is not allowed by the policy/.test(stdout)).toBe(isExcluded)
  })

  test('are data for programs', async () => {
    const { object } = JSON.parse(await candidates(fleet, '-o', 'json'))
    const { children } = object.children.at(-1)
    expect(children.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`)).toEqual([
      'member2 Possible',
      'member1 Possible',
      'member3 Possible',
      'member4 Excluded',
    ])
    const figures = { localBytes: 0, transferBytes: 5 * 1024 ** 3, money: 0.1, currency: 'USD', seconds: 40 }
    expect(children[1].transfer).toEqual({ ...figures, isMinimum: false, unknown: [] })
  })

  test('have no money and no time without a price matrix, and are a detail', async () => {
    const { stdout } = await explain('deployment/app', fleet)
    expect(stdout).not.toContain('candidate clusters')
    const { stdout: wide } = await explain('deployment/app', fleet, '-o', 'wide')
    expect(wide).toContain('member1: 0 B local, 5.0 GiB to transfer [cluster.karmada.io/v1alpha1]\n')
  })

  test('are counted after the best 20', async () => {
    const many = Array.from({ length: 25 }, (_, i) => makeCluster(`other${i}`))
    const stdout = await candidates([...fleet, ...many])
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('   └─ and 9 more')
  })

  test('are not shown for data whose location is not known', async () => {
    const stdout = await candidates([makeDeployment(), claim, makePolicy(), ...places])
    expect(stdout).not.toContain('candidate clusters')
  })
})

describe('a workload whose binding would have the name of that of another API group', () => {
  const batch = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'train' }
  const volcano = { ...batch, apiVersion: 'batch.volcano.sh/v1alpha1' }
  const binding = makeBinding({ resource: batch, clusters: [{ name: 'member1' }] }, { name: 'train-job' })
  const object = makeObject(volcano.apiVersion, 'Job', 'train')
  const claim = makeClaim({ workload: { apiVersion: volcano.apiVersion, kind: 'Job', name: 'train' } })
  const policy = makePolicy({ resourceSelectors: [{ apiVersion: volcano.apiVersion, kind: 'Job' }] })

  test('gets none, and the clusters of the other one are not its own', async () => {
    const { status, stdout } = await explain('jobs.batch.volcano.sh/train', [object, claim, source, policy, binding])

    expect(status).toBe(0)
    expect(stdout).toBe(`Job default/train
├─ DataSourceClaim default/sales (Required): amoro table lake.shop.sales
│  └─ DataSource amoro-table-lake.shop.sales: located in member2
│     └─ s3://lake/sales, 5.0 GiB, confirmed 3 h ago
├─ PropagationPolicy default/app: member1, member2, member3
└─ Karmada creates no binding for it: Job train in batch/v1 has the binding of that name
`)
  })

  test('has this as its state beside its data', async () => {
    const { stdout } = await explain('dataSource/amoro-table-lake.shop.sales', [object, claim, source, policy, binding])

    expect(stdout).toContain('Job default/train: no binding: Job train in batch/v1 has the binding of that name\n')
  })
})
