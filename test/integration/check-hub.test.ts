/** Runs `lodestone check --kubeconfig` against an API server: what would happen to the workloads of a hub. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import {
  type BindingSpec,
  clusterPropagationPolicies,
  clusters,
  propagationPolicies,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, LOCALITY_ANNOTATION } from '../../src/api/lodestone.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import { namespaces } from '../../src/api/namespace.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { defined } from '../../src/base/json.ts'
import type { Finding } from '../../src/cli/check/findings/findings.ts'
import { makeFolder, makeKubeconfig, runWords } from '../../src/cli/cli.fake.ts'
import { dependedByLabel } from '../../src/core/dependencies/names.ts'
import { effectiveAffinity } from '../../src/core/placement/affinity.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { type FakeApiServer, startFakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makeForeignClaim,
  makeNamespace,
  makeObject,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../builders.ts'

const deployments = SHIPPED_KINDS.find('apps/v1', 'Deployment')?.type as ResourceType

type Stored = [ResourceType, K8sObject]

async function startHub(stored: readonly Stored[]) {
  const server = await startFakeApiServer(cachedKinds.map(({ type }) => type))
  for (const name of ['member1', 'member2', 'member3']) server.put(clusters, makeCluster(name))
  for (const [type, object] of stored) server.put(type, object)
  return server
}

async function check(server: FakeApiServer, given: readonly K8sObject[], ...words: string[]) {
  const file = join(makeFolder({ 'given.yaml': given }), 'given.yaml')
  const answer = await runWords(['check', '-f', file, '--kubeconfig', makeKubeconfig(server.url), ...words])
  const lines = answer.stdout.trimEnd().split('\n')
  return { ...answer, summary: lines.at(-1), methods: [...new Set(server.requests.map(({ method }) => method))] }
}

/** Deployment default/app with its policy; its binding is scheduled to these clusters. */
function makeApp(scheduled: string[], spec: Partial<BindingSpec> = {}): Stored[] {
  const clusterList = scheduled.map((name) => ({ name }))
  return [
    [deployments, makeDeployment()],
    [propagationPolicies, makePolicy()],
    [
      resourceBindings,
      makeBinding({ ...defined({ clusters: scheduled.length > 0 ? clusterList : undefined }), ...spec }),
    ],
  ]
}

/** The same, with the data in member1 and member2; the binding runs in member2, its overflow tier. */
function makeOverflowing(spec: Partial<BindingSpec>): Stored[] {
  const tiers = [{ affinityName: 'more', clusterNames: ['member2', 'member3'] }]
  const placement = {
    clusterAffinities: [{ affinityName: 'first', clusterNames: ['member1'], overflowAffinities: tiers }],
  }
  const [deployment, , binding] = makeApp(['member2'], { replicas: 0, ...spec, placement })
  const source = makeSource({ locality: { clusterNames: ['member1', 'member2'] } })
  return [
    deployment as Stored,
    [propagationPolicies, makePolicy({ placement })],
    binding as Stored,
    [dataSources, source],
  ]
}

const inMember2: Stored = [dataSources, makeSource()]
const other = { dataSourceName: 'lake.shop.other' }
const inMember3: Stored = [
  dataSources,
  makeSource({ name: 'lake.shop.other', locality: { clusterNames: ['member3'] } }, { name: 'other' }),
]
const gold = { apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: { tier: 'gold' } } }
const scaledUp = makeObject('apps/v1', 'Deployment', 'app', { spec: { replicas: 2 } })
const lonely = makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gone' } })
/** The same, as Lodestone has narrowed it to these clusters. It runs in the first one. */
function makeNarrowed(required: [string, ...string[]], more: Partial<BindingSpec> = {}): Stored[] {
  const annotations = {
    [BASE_AFFINITY_ANNOTATION]: JSON.stringify(effectiveAffinity(makePolicy().spec.placement)),
    [LOCALITY_ANNOTATION]: JSON.stringify({
      state: 'Narrowed',
      message: `default/sales is in ${required.join(', ')}`,
      claims: ['default/sales'],
      required,
    }),
  }
  const spec = {
    placement: { clusterAffinity: { clusterNames: required } },
    clusters: [{ name: required[0] }],
    ...more,
  }
  return [...makeApp([]).slice(0, 2), [resourceBindings, makeBinding(spec, { annotations })]]
}
const narrowed = makeNarrowed(['member2'])
const stateful = { application: { statePreservation: { rules: [{ aliasLabelName: 'job', jsonPath: '{.jobId}' }] } } }
const inMember3Now = makeSource({ locality: { clusterNames: ['member3'] } })
const disk = { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } }
const withDisk = { ...makeDeployment(), spec: { template: { spec: { volumes: [disk] } } } }
const diskLabels = { [dependedByLabel({ namespace: 'default', name: 'app-deployment' })]: 'id' }
const diskBinding = makeBinding(
  { resource: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'disk' } },
  { name: 'disk-persistentvolumeclaim', labels: diskLabels },
)
const narrowPolicy = makePolicy({ placement: { clusterAffinity: { clusterNames: ['member2'] } } })

describe('the summary counts the workloads of the hub', () => {
  test.each<{ name: string; stored: Stored[]; given: K8sObject[]; words?: string[]; summary: string; status?: number }>(
    [
      {
        name: 'a given claim moves a running workload',
        stored: [...makeApp(['member1']), inMember2],
        given: [makeClaim()],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given claim puts a workload that is not scheduled on hold',
        stored: makeApp([]),
        given: [makeClaim()],
        summary: '0 workloads would move, 1 would wait, 0 unchanged',
      },
      {
        name: 'a narrowed workload does not follow its data if its claim never moves it',
        stored: [...narrowed, inMember2, [dataSourceClaims, makeClaim({ policy: { rebalance: 'Never' } })]],
        given: [makeSource({ locality: { clusterNames: ['member3'] } })],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a narrowed workload follows its data if its policy no longer preserves its resources',
        stored: makeNarrowed(['member2'], { preserveResourcesOnDeletion: true }),
        given: [makePolicy(), makeClaim(), inMember3Now],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a narrowed workload stays if its policy begins to preserve its resources',
        stored: makeNarrowed(['member2']),
        given: [makePolicy({ preserveResourcesOnDeletion: true }), makeClaim(), inMember3Now],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a narrowed workload follows its data if its policy no longer preserves its state',
        stored: makeNarrowed(['member2'], { failover: stateful }),
        given: [makePolicy({ failover: { application: { purgeMode: 'Never' } } }), makeClaim(), inMember3Now],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a narrowed workload stays if its policy begins to preserve its state',
        stored: makeNarrowed(['member2']),
        given: [makePolicy({ failover: stateful }), makeClaim(), inMember3Now],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a narrowed workload follows its data if its policy resumes dispatching',
        stored: makeNarrowed(['member2'], { suspension: { dispatching: true } }),
        given: [makePolicy(), makeClaim(), inMember3Now],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a narrowed workload stays if its policy suspends dispatching',
        stored: makeNarrowed(['member2']),
        given: [makePolicy({ suspension: { dispatching: true } }), makeClaim(), inMember3Now],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a narrowed workload stays with the PersistentVolumeClaim that follows it',
        stored: [
          ...makeNarrowed(['member2'], { propagateDeps: true }).slice(1),
          [deployments, withDisk],
          [resourceBindings, diskBinding],
          [dataSourceClaims, makeClaim()],
        ],
        given: [inMember3Now],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a workload that runs where its data is stays',
        stored: [...makeApp(['member2']), inMember2],
        given: [makeClaim()],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a workload with components, which runs in an overflow tier that has its data, stays',
        stored: makeOverflowing({ components: [{ name: 'jobmanager', replicas: 1 }] }),
        given: [makeClaim()],
        words: ['--karmada-version', '1.18'],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a resource without replicas, to which no overflow tier applies, moves',
        stored: makeOverflowing({}),
        given: [makeClaim()],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a resource that gets replicas, to which the overflow tier then applies, stays',
        stored: makeOverflowing({}),
        given: [makeClaim(), scaledUp],
        words: ['--karmada-version', '1.18'],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a workload that gets replicas again is placed',
        stored: [...makeApp([], { replicas: 0, replicaRequirements: {} }), inMember2],
        given: [makeClaim(), scaledUp],
        summary: '0 workloads would move, 0 would wait, 1 would be placed, 0 unchanged',
      },
      {
        name: 'a workload that gets replicas again waits for its data',
        stored: makeApp([], { replicas: 0, replicaRequirements: {} }),
        given: [makeClaim(), scaledUp],
        summary: '0 workloads would move, 1 would wait, 0 unchanged',
      },
      {
        name: 'a given claim hides the stored one',
        stored: [...makeApp(['member2']), inMember2, inMember3, [dataSourceClaims, makeClaim()]],
        given: [makeClaim(other)],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a claim that is given without a change changes nothing',
        stored: [...makeApp(['member2']), inMember2, [dataSourceClaims, makeClaim()]],
        given: [makeClaim()],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a claim that names another workload than before releases the first one',
        stored: [...makeApp([]), [dataSourceClaims, makeClaim()]],
        given: [lonely],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
        status: 1,
      },
      {
        name: 'a given source moves the workload of a stored claim',
        stored: [...makeApp(['member2']), inMember2, [dataSourceClaims, makeClaim()]],
        given: [makeSource({ locality: { clusterNames: ['member3'] } })],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given claim without a status keeps the stored one, which names its source',
        stored: [
          ...makeApp(['member2']),
          inMember3,
          [dataSourceClaims, { ...makeClaim(), status: { boundDataSource: 'other' } } as K8sObject],
        ],
        given: [makeClaim()],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given source without a location keeps the one that its data system has given',
        stored: [...makeApp([]), inMember2],
        given: [makeClaim(), { ...makeSource(), spec: { ...makeSource().spec, locality: undefined } } as K8sObject],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'a given policy moves a workload that it names',
        stored: makeApp(['member1']),
        given: [narrowPolicy],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given workload keeps the label of another writer, by which its policy selects it',
        stored: [
          [deployments, makeDeployment({ labels: { tier: 'gold' } })],
          [propagationPolicies, makePolicy({ resourceSelectors: [gold] })],
          inMember2,
        ],
        given: [makeClaim(), makeDeployment()],
        summary: '0 workloads would move, 0 would wait, 1 would be placed, 0 unchanged',
      },
      {
        name: 'a given lazy policy moves no workload',
        stored: makeApp(['member1']),
        given: [makePolicy({ ...narrowPolicy.spec, activationPreference: 'Lazy' })],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'another policy that does not preempt the present one changes nothing',
        stored: makeApp(['member1']),
        given: [{ ...narrowPolicy, metadata: { ...narrowPolicy.metadata, name: 'a-new' } }],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'another policy that preempts, and has no higher priority, changes nothing',
        stored: makeApp(['member1']),
        given: [makePolicy({ ...narrowPolicy.spec, preemption: 'Always' }, { name: 'a-new', namespace: 'default' })],
        summary: '0 workloads would move, 0 would wait, 1 unchanged',
      },
      {
        name: 'another policy that preempts the present one moves the workload',
        stored: makeApp(['member1']),
        given: [
          makePolicy(
            { ...narrowPolicy.spec, priority: 5, preemption: 'Always' },
            { name: 'new', namespace: 'default' },
          ),
        ],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a claim of another namespace counts if the namespace of the workload allows it',
        stored: [
          ...makeApp(['member2']),
          inMember2,
          [dataSourceClaims, makeForeignClaim()],
          [namespaces, makeNamespace('default', 'other')],
        ],
        given: [makeSource({ locality: { clusterNames: ['member3'] } })],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given workload that runs already is counted once',
        stored: [...makeApp(['member1']), inMember2],
        given: [makeDeployment(), makeClaim()],
        summary: '1 workload would move, 0 would wait, 0 unchanged',
      },
      {
        name: 'a given workload without a binding would be placed',
        stored: [[propagationPolicies, makePolicy()], inMember2, [dataSourceClaims, makeClaim()]],
        given: [makeDeployment()],
        summary: '0 workloads would move, 0 would wait, 1 would be placed, 0 unchanged',
      },
      {
        name: 'a rejected claim has no effect',
        stored: [...makeApp(['member1']), inMember2],
        given: [makeClaim({ system: '' })],
        summary: '0 workloads would move, 0 would wait, 0 unchanged',
        status: 1,
      },
    ],
  )('$name', async ({ stored, given, words = [], summary, status = 0 }) => {
    const answer = await check(await startHub(stored), given, ...words)

    expect({ status: answer.status, summary: answer.summary, stderr: answer.stderr }).toEqual({
      status,
      summary,
      stderr: '',
    })
    expect(answer.methods).toEqual(['GET'])
  })

  test('in JSON, with the effect on each workload', async () => {
    const server = await startHub([...makeApp(['member1']), inMember2])

    const { stdout } = await check(server, [makeClaim()], '-o', 'json')

    const { hub, objects } = JSON.parse(stdout)
    expect(hub).toEqual({ moves: 1, waits: 0, placed: 0, unchanged: 0, notReviewed: 0 })
    expect(objects).toContainEqual(
      expect.objectContaining({
        object: 'ResourceBinding default/app-deployment',
        derivedFrom: 'Deployment default/app',
        decision: 'Narrowed',
        effect: 'moves',
      }),
    )
  })
})

test('the text shows the workload that would move, and its change', async () => {
  const { stdout } = await check(await startHub([...makeApp(['member1']), inMember2]), [makeClaim()])

  expect(stdout).toContain(
    '● Deployment default/app → ResourceBinding default/app-deployment: narrowed, and would move\n',
  )
  expect(stdout).toContain('    -         - member1\n')
})

test('the difference of a binding shows no field of its policy that stays', async () => {
  const ofPolicy = {
    failover: { application: { decisionConditions: { tolerationSeconds: 50 }, purgeMode: 'Gracefully' } },
    preserveResourcesOnDeletion: true,
    suspension: { dispatching: true },
  }
  const [deployment, , binding] = makeApp(['member2'], { ...ofPolicy, replicas: 1 })
  const stored: Stored[] = [
    ...[deployment, binding].filter((each) => each !== undefined),
    [propagationPolicies, makePolicy(ofPolicy)],
    inMember2,
  ]

  const { stdout } = await check(await startHub(stored), [makeClaim()])

  expect(stdout).toContain('    -         - member1\n')
  expect(stdout).not.toMatch(/^ +[-+] .*(failover|preserve|suspension|purgeMode)/m)
})

describe('the first narrowing of a running workload', () => {
  const idsOf = async (stored: Stored[], given: K8sObject[]) => {
    const { status, stdout } = await check(await startHub(stored), given, '-o', 'json', '--fail-on', 'warning')
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    return { status, findings: findings.map(({ id, object }) => `${id} ${object}`) }
  }
  const binding = 'ResourceBinding default/app-deployment'

  test('is a finding if rebalance is Never: it moves the workload nevertheless', async () => {
    const stored = [...makeApp(['member1']), inMember2]

    expect(await idsOf(stored, [makeClaim({ policy: { rebalance: 'Never' } })])).toEqual({
      status: 1,
      findings: [`first-narrowing ${binding}`],
    })
  })

  test.each<{ name: string; stored: Stored[]; given: K8sObject }>([
    { name: 'the workload may move', stored: [...makeApp(['member1']), inMember2], given: makeClaim() },
    {
      name: 'the workload runs where its data is',
      stored: [...makeApp(['member2']), inMember2],
      given: makeClaim({ policy: { rebalance: 'Never' } }),
    },
    {
      name: 'a policy moves a workload that is narrowed already',
      stored: [
        ...makeNarrowed(['member1', 'member2']),
        [dataSources, makeSource({ locality: { clusterNames: ['member1', 'member2'] } })],
        [dataSourceClaims, makeClaim({ policy: { rebalance: 'Never' } })],
      ],
      given: narrowPolicy,
    },
  ])('is no finding if $name', async ({ stored, given }) => {
    expect(await idsOf(stored, [given])).toEqual({ status: 0, findings: [] })
  })
})

test('bindings and workloads are read one by one, and never listed', async () => {
  const server = await startHub([...makeApp(['member1']), inMember2])

  await check(server, [makeClaim()])

  const listed = server.requests.filter(({ query }) => query.has('limit')).map(({ path }) => path.split('/').at(-1))
  expect([...new Set(listed)].sort()).toEqual([
    'clusterpropagationpolicies',
    'clusters',
    'datasourceclaims',
    'datasources',
    'namespaces',
    'propagationpolicies',
  ])
})

test('fields of policies that no decision reads reach the binding of a new workload', async () => {
  const policy = makePolicy({ schedulerName: 'batch' })
  const server = await startHub([[propagationPolicies, policy]])

  const { stdout } = await check(server, [makeDeployment()], '-o', 'yaml')

  expect(stdout).toContain('schedulerName: batch')
})

test('-o yaml has no resourceVersion, which would make the API server reject it', async () => {
  const server = await startHub([...makeApp(['member1']), inMember2])

  const { stdout } = await check(server, [makeClaim()], '-o', 'yaml')

  expect(stdout).toContain('kind: ResourceBinding')
  expect(stdout).not.toContain('resourceVersion')
})

test('the VolumeManagers that a given workload requests are read', async () => {
  const server = await startHub([[volumeManagers, makeVolumeManager()]])

  const { stdout } = await check(server, [makeDeployment({}, ['sales', 'absent'])], '-o', 'json')

  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  const missing = findings.filter(({ id }) => id === 'missing-volume-manager').map(({ message }) => message)
  expect(missing).toEqual([expect.stringContaining('absent')])
})

test('of two policies of a hub, the one with the higher priority places a new workload', async () => {
  const cluster = {
    ...narrowPolicy,
    kind: 'ClusterPropagationPolicy',
    metadata: { name: 'b' },
    spec: { ...narrowPolicy.spec, priority: 9 },
  }
  const low = { ...cluster, metadata: { name: 'a' }, spec: makePolicy().spec }
  const server = await startHub([
    [clusterPropagationPolicies, cluster],
    [clusterPropagationPolicies, low],
  ])

  const { stdout } = await check(server, [makeDeployment()], '-o', 'yaml')

  expect(stdout).toContain('clusterpropagationpolicy.karmada.io/name: b')
})

test('workloads beyond the limit are counted', async () => {
  const claims = Array.from({ length: 1002 }, (_, i): Stored => {
    const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: `app-${i}` }
    return [dataSourceClaims, makeClaim({ workload }, { name: `claim-${i}` })]
  })

  const { summary } = await check(await startHub(claims), [makeSource()])

  expect(summary).toBe('0 workloads would move, 0 would wait, 0 unchanged, 2 more not checked')
})

describe('a hub that cannot be read', () => {
  test('does not respond: one line, and exit status 1', async () => {
    const server = await startHub([])
    await server.close()
    const { status, stdout, stderr } = await check(server, [makeClaim()])

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^lodestone check: API server http:[^\n]+\n$/)
  })

  test('rejects a read: one line with the remedy, and exit status 1', async () => {
    const server = await startHub(makeApp(['member1']))
    const path = '/apis/apps/v1/namespaces/default/deployments/app'
    server.misbehave(
      (request) => request.path === path,
      (response) => void response.writeHead(403).end('no access'),
    )

    const { status, stdout, stderr } = await check(server, [makeClaim()])

    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: `lodestone check: GET ${path}: HTTP 403: no access; grant the user the verb get\n`,
    })
  })
})

describe('the choice of a hub', () => {
  const file = () => join(makeFolder({ 'given.yaml': makeClaim() }), 'given.yaml')

  test('$KUBECONFIG alone contacts no cluster', async () => {
    const server = await startHub(makeApp(['member1']))

    const { stdout } = await runWords(['check', '-f', file()], { env: { KUBECONFIG: makeKubeconfig(server.url) } })

    expect(server.requests).toEqual([])
    expect(stdout).not.toContain('would move')
  })

  test('--context selects a cluster of $KUBECONFIG', async () => {
    const server = await startHub([...makeApp(['member1']), inMember2])
    const env = { KUBECONFIG: makeKubeconfig(server.url) }

    const { stdout } = await runWords(['check', '-f', file(), '--context', 'hub'], { env })

    expect(stdout).toContain('1 workload would move')
  })
})

test('a workload gets no binding if another API group has one of the same name', async () => {
  const [, , binding] = makeApp(['member1'], {
    resource: { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' },
  }) as [Stored, Stored, Stored]
  const named: Stored = [resourceBindings, { ...binding[1], metadata: { ...binding[1].metadata, name: 'app-job' } }]
  const server = await startHub([named])
  const reference = { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', name: 'app' }
  const job = makeObject(reference.apiVersion, 'Job', 'app')
  const policy = makePolicy({ resourceSelectors: [{ apiVersion: reference.apiVersion, kind: 'Job' }] })

  const { stdout } = await check(server, [job, policy, makeClaim({ workload: reference })])

  expect(stdout).toContain(
    'warning: Karmada creates no binding for it: Job app in batch/v1 has the binding of that name; rename one of the two',
  )
  expect(stdout).toContain('0 workloads would move, 0 would wait, 0 unchanged')
})
