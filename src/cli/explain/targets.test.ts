import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  makeBinding,
  makeClaim,
  makeCluster,
  makeDeployment,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolume,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { makeReplica } from '../../../test/volume-builders.ts'
import type { VolumeStatus } from '../../api/volume-status.ts'
import { volumeKey } from '../../core/volume-manager/rules/names.ts'
import { revisionOf } from '../../core/volume-manager/rules/source-types.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

/** The output for a target, in text. The schema of the documentation is checked for each. */
async function explain(target: string, objects: unknown[] | string, ...more: string[]): Promise<string> {
  const { stdout, stderr } = await explainAnyhow(target, objects, ...more)
  expect(stderr).toBe('')
  return stdout
}

async function explainAnyhow(target: string, objects: unknown[] | string, ...more: string[]) {
  const folder = typeof objects === 'string' ? objects : makeFolder({ 'all.yaml': objects })
  const words = ['explain', ...target.split(' '), '--folder', folder, ...more]
  const { stdout: data } = await runWords([...words, '-o', 'json'])
  expect(isExplanation(JSON.parse(data)) || isExplanation.errors).toBe(true)
  const { status, stdout, stderr } = await runWords(words)
  expect(status).toBe(0)
  return { stdout: stdout.replaceAll(folder, 'DIR'), stderr }
}

const isExplanation = new Ajv().compile(JSON.parse(readFileSync('docs/reference/explain.schema.json', 'utf8')))

const source = makeSource({ locality: { clusterNames: ['member2'] } })
const hub = [makeCluster('member1'), makeCluster('member2')]

/** The status of the volume of `makeVolumeManager`, with these replicas. */
function statusOf(...replicas: Parameters<typeof makeReplica>[0][]): { volumes: VolumeStatus[] } {
  const revision = revisionOf(makeVolume())
  const made = replicas.map((replica, index) => makeReplica({ index, revision, ...replica }))
  return { volumes: [{ id: 'vol1', nodeAffinity: {}, revision, readyReplicas: 1, replicas: made }] }
}

describe('a VolumeManager', () => {
  test('in a member is shown with its replicas', async () => {
    const downloading = { state: 'Downloading', node: 'n2', bytes: 2 ** 30, totalBytes: 5 * 2 ** 30 } as const
    const failed = {
      state: 'Failed',
      reason: 'NoSpace',
      message: 'the disk is full',
      retryTime: '2026-11-20T12:05:00Z',
    } as const
    const status = {
      state: 'Pending' as const,
      message: '1 of 3',
      ...statusOf({}, { ...downloading, since: '2026-11-20T11:00:00Z' }, failed),
    }

    expect(
      await explain('vmgr/sales', [makeVolumeManager([{ replicas: 3 }], { status })]),
    ).toBe(`VolumeManager default/sales: Pending
├─ 1 of 3
└─ volume vol1 (S3): Waiting, 1 of 3 replicas
   ├─ replica 0 on node n1: Ready, for 322 days
   ├─ replica 1 on node n2: Downloading, 1.0 GiB of 5.0 GiB, for 60 min
   └─ replica 2 on node n1: Failed, for 322 days
      ├─ the disk is full
      └─ next attempt at 2026-11-20T12:05:00Z
`)
  })

  test('on a hub is shown with its placement', async () => {
    const policy = makePolicy({
      resourceSelectors: [{ apiVersion: 'vck.intelai.org/v1alpha1', kind: 'VolumeManager' }],
    })
    const binding = {
      ...makeBinding({
        resource: {
          apiVersion: 'vck.intelai.org/v1alpha1',
          kind: 'VolumeManager',
          namespace: 'default',
          name: 'sales',
        },
        clusters: [{ name: 'member2' }],
      }),
      status: { aggregatedStatus: [{ clusterName: 'member2', status: { state: 'Running' } }] },
    }
    const named = { ...binding, metadata: { ...binding.metadata, name: 'sales-volumemanager' } }

    const stdout = await explain('volumemanager/sales', [...hub, policy, named, makeVolumeManager()])

    expect(stdout).toContain('├─ ResourceBinding default/sales-volumemanager: unchanged\n')
    expect(stdout).toMatch(/└─ in member2: Running\n$/)
  })
})

describe('a pod', () => {
  const ready = {
    state: 'Running' as const,
    volumes: [{ id: 'vol1', message: 'success', nodeAffinity: {}, volumeSource: { hostPath: { path: '/d' } } }],
  }

  test('that waits is shown with the replicas of its volumes', async () => {
    const gates = [{ name: 'lodestone.dev/volumes' }, { name: 'example.com/quota' }]
    const pod = makePod({ name: 'sales', 'mount-path': '/data' }, { schedulingGates: gates })
    const status = statusOf({ state: 'Downloading', bytes: 1024 })

    expect(await explain('po/trainer', [pod, makeVolumeManager([{}], { status })])).toMatch(
      /^Pod default\/trainer: Gated\n├─ waits for VolumeManager sales\/vol1\n├─ decision id: [0-9a-f]{10}\n├─ VolumeManager default\/sales, volume vol1 \(Required\): Waiting\n│ {2}├─ mounted at \/data from \/var\/datasets\/vck-resource-.*\/data\n│ {2}├─ it has no status yet\n│ {2}└─ replica 0 on node n1: Downloading, 1.0 KiB, for 322 days\n├─ scheduling gate lodestone.dev\/volumes\n└─ scheduling gate example.com\/quota\n$/,
    )
  })

  test.each([
    {
      name: 'runs',
      pod: makePod({ name: 'sales' }, { nodeName: 'n1' }),
      want: 'Pod default/trainer: Pending\n├─ on node n1\n',
    },
    {
      name: 'is admitted',
      pod: makePod({ name: 'sales', 'mount-path': '/data' }),
      want: 'Pod default/trainer: Injected\n├─ has VolumeManager sales/vol1\n',
    },
    {
      name: 'is denied',
      pod: makePod({ name: 'none' }),
      want: 'Pod default/trainer: Denied\n├─ metadata.annotations[lodestone.dev/volumes].name: there is no VolumeManager none in this namespace; create it first\n',
    },
    {
      name: 'has an invalid annotation',
      pod: makePod('{'),
      want: 'Pod default/trainer: Denied\n├─ metadata.annotations[lodestone.dev/volumes]: is not JSON',
    },
    {
      name: 'has no label',
      pod: makePod({ name: 'sales' }, {}, { labels: {} }),
      want: '├─ admission ignores it: it lacks the label lodestone.dev/inject: "true"\n',
    },
    {
      name: 'asks for nothing',
      pod: makePod('', {}, { labels: {}, annotations: {} }),
      want: 'Pod default/trainer: NotSelected\n└─ it requests no volumes\n',
    },
    {
      name: 'has no spec',
      pod: { ...makePod({ name: 'sales' }), spec: {} },
      want: 'Pod default/trainer: Invalid\n└─ ',
    },
  ])('that $name', async ({ pod, want }) => {
    expect(await explain('pod/trainer', [pod, makeVolumeManager([{}], { status: ready })])).toContain(want)
  })

  test('that no node fits is shown with the message of the scheduler', async () => {
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' },
    ]
    const pod = { ...makePod({ name: 'sales', 'mount-path': '/data' }), status: { conditions } }

    const stdout = await explain('pod/trainer', [pod, makeVolumeManager([{}], { status: ready })])

    expect(stdout).toMatch(/└─ not scheduled: 0\/3 nodes are available\n$/)
  })

  test('of a hub is explained as a workload', async () => {
    const stdout = await explain('pod/trainer', [...hub, makePod({ name: 'sales' })])

    expect(stdout).toContain('no policy selects it: Karmada creates no binding for it')
  })

  test('of a hub without Clusters has the placement of its binding', async () => {
    const policy = makePolicy({ resourceSelectors: [{ apiVersion: 'v1', kind: 'Pod', name: 'trainer' }] })

    const stdout = await explain('pod/trainer', [policy, makePod({ name: 'sales' })])

    expect(stdout).toMatch(/^Pod default\/trainer\n/)
    expect(stdout).toContain('PropagationPolicy default/app: member1, member2, member3')
    expect(stdout).toContain('ResourceBinding default/trainer-pod (as Karmada would create it): OnHold')
  })
})

describe('a PersistentVolume', () => {
  const manager = makeVolumeManager([{}], { uid: '4b1d', status: statusOf({ claimName: 'vck-resource-1' }) })
  const labels = { 'lodestone.dev/volume': volumeKey(manager, 'vol1') }
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'vck-resource-1', labels },
    spec: { claimRef: { namespace: 'default', name: 'vck-resource-1' }, local: { path: '/var/datasets/d/data' } },
    status: { phase: 'Bound' },
  }

  test('is shown with its volume and replica', async () => {
    expect(await explain('pv/vck-resource-1', [manager, volume])).toBe(`PersistentVolume vck-resource-1: Bound
├─ for PersistentVolumeClaim default/vck-resource-1
├─ directory /var/datasets/d/data
└─ VolumeManager default/sales, volume vol1 (S3)
   └─ replica 0 on node n1: Ready, for 322 days
`)
  })

  test('without its VolumeManager', async () => {
    expect(await explain('pv/vck-resource-1', [volume])).toMatch(/└─ its VolumeManager no longer exists\n$/)
  })

  test('of another owner is explained as any object', async () => {
    const other = { ...volume, metadata: { name: 'other' } }

    expect(await explain('persistentvolumes/other', [other])).toContain('no policy selects it')
  })

  test('claim of Lodestone has the same explanation', async () => {
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'vck-resource-1', namespace: 'default', labels },
    }

    expect(await explain('pvc/vck-resource-1', [manager, claim])).toBe(`PersistentVolumeClaim default/vck-resource-1
└─ VolumeManager default/sales, volume vol1 (S3)
   └─ replica 0 on node n1: Ready, for 322 days
`)
  })
})

describe('a dependency is shown with the workloads that need it', () => {
  const template = { spec: { containers: [{ envFrom: [{ secretRef: { name: 'keys' } }] }] } }
  const other = { ...makeObject('apps/v1', 'Deployment', 'other', { spec: { template } }) }
  const first = { ...other, metadata: { name: 'app', namespace: 'default' } }
  const secret = makeObject('v1', 'Secret', 'keys', { data: { password: 'aHVudGVyMg==' } })
  const attached = {
    ...makeBinding({
      resource: { apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: 'keys' },
      requiredBy: [{ namespace: 'default', name: 'app-deployment', clusters: [{ name: 'member2' }] }],
    }),
    metadata: { name: 'keys-secret', namespace: 'default' },
  }
  const { placement: _, ...spec } = attached.spec

  test('attached and not', async () => {
    const objects = [secret, first, other, makeBinding(), { ...attached, spec }]

    const stdout = await explain('secret/keys', objects)

    expect(stdout).toBe(`Secret default/keys
├─ Deployment default/app: attached to member2
└─ Deployment default/other: not attached: it has no binding
`)
  })

  test.each([
    { propagateDeps: true, want: 'Karmada or Lodestone has not attached it yet' },
    { propagateDeps: false, want: 'propagateDeps is not set' },
  ])('with the reason: $want', async ({ propagateDeps, want }) => {
    const stdout = await explain('secret/keys', [secret, first, makeBinding({ propagateDeps })])

    expect(stdout).toBe(`Secret default/keys\n└─ Deployment default/app: not attached: ${want}\n`)
  })

  test('an Ingress of the Service that selects its pods', async () => {
    const labeled = { template: { ...template, metadata: { labels: { app: 'app' } } } }
    const objects = [
      makeObject('apps/v1', 'Deployment', 'app', { spec: labeled }),
      makeObject('v1', 'Service', 'app', { spec: { selector: { app: 'app' } } }),
      makeObject('networking.k8s.io/v1', 'Ingress', 'app', { spec: { defaultBackend: { service: { name: 'app' } } } }),
    ]

    expect(await explain('ingress/app', objects)).toBe(
      'Ingress default/app\n└─ Deployment default/app: not attached: it has no binding\n',
    )
  })

  test('that does not exist, but is named', async () => {
    expect(await explain('secret/keys', [first])).toContain('├─ there is no Secret default/keys in folder DIR\n')
  })

  test('that each cluster creates for itself', async () => {
    const volumes = [{ name: 'ca', configMap: { name: 'kube-root-ca.crt' } }]
    const naming = makeObject('apps/v1', 'Deployment', 'app', { spec: { template: { spec: { volumes } } } })

    expect(await explain('cm/kube-root-ca.crt', [makeObject('v1', 'ConfigMap', 'kube-root-ca.crt'), naming])).toBe(
      'ConfigMap default/kube-root-ca.crt\n└─ it is never propagated: each cluster creates its own\n',
    )
  })

  test('that no workload needs', async () => {
    expect(await explain('cm/settings', [makeObject('v1', 'ConfigMap', 'settings')])).toBe(
      'ConfigMap default/settings\n└─ no binding of a workload requires it\n',
    )
  })
})

describe('a policy', () => {
  test('is shown with its workloads, their claims, and why dependencies follow', async () => {
    const policy = makePolicy({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      propagateDeps: true,
    })
    const other = makeObject('apps/v1', 'Deployment', 'other')

    expect(
      await explain('pp/app', [policy, makeDeployment(), other, makeClaim(), source]),
    ).toBe(`PropagationPolicy default/app: member1, member2, member3
├─ dependencies follow: propagateDeps is set: DataSourceClaim default/sales names Deployment default/app
├─ selects Deployment of any name (apps/v1)
├─ Deployment default/app: Narrowed: default/sales is in member2
│  └─ DataSourceClaim default/sales
└─ Deployment default/other: unchanged
`)
  })

  test('of the cluster, with a workload that another policy places', async () => {
    const cluster = { ...makePolicy(), kind: 'ClusterPropagationPolicy', metadata: { name: 'all' } }

    expect(
      await explain('cpp/all', [cluster, makePolicy(), makeDeployment()]),
    ).toBe(`ClusterPropagationPolicy all: member1, member2, member3
├─ dependencies do not follow: it selects no workload with data
├─ selects Deployment app (apps/v1)
└─ no known workload is placed by it
`)
  })
})

describe('fields of a wrong type in a manifest are left out', () => {
  const pod = makePod({ name: 'sales', 'mount-path': '/data' })
  const labels = { 'lodestone.dev/volume': volumeKey(makeVolumeManager(), 'vol1') }
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv', labels }, spec: 5, status: 'x' }

  test.each([
    {
      target: 'vmgr/sales',
      wrong: { ...makeVolumeManager(), status: { state: 'Running', volumes: 'x' } },
      want: 'VolumeManager default/sales: Pending\n',
    },
    {
      target: 'vmgr/sales',
      wrong: { ...makeVolumeManager(), status: { conditions: [null] } },
      want: 'VolumeManager default/sales: Pending\n',
    },
    { target: 'pod/trainer', wrong: { ...pod, status: { conditions: 'x' } }, want: 'Pod default/trainer: Denied\n' },
    {
      target: 'pod/trainer',
      wrong: { ...pod, status: { conditions: [5, null] } },
      want: 'Pod default/trainer: Denied\n',
    },
    {
      target: 'pod/trainer',
      wrong: { ...pod, spec: { ...pod.spec, schedulingGates: 'x' } },
      want: 'spec.schedulingGates: ',
    },
    { target: 'pv/pv', wrong: volume, want: 'PersistentVolume pv\n└─ its VolumeManager no longer exists\n' },
    { target: 'pv/pv', wrong: { ...volume, spec: { claimRef: 'x', local: 7 } }, want: 'PersistentVolume pv\n└─ its' },
  ])('$target: $want', async ({ target, wrong, want }) => {
    const { stdout, stderr } = await explainAnyhow(target, [wrong])
    expect(stdout).toContain(want)
    expect(stderr).toMatch(/^(lodestone explain: [^\n]+ cannot be cached: [^\n]+\n)?$/)
  })
})

test('a binding with a wrong list of workloads is reported with its path', async () => {
  const resource = { apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: 'app' }
  const wrong = { ...makeBinding(), spec: { resource, requiredBy: 'x' } }
  const folder = makeFolder({ 'all.yaml': [wrong] })
  const { status, stderr } = await runWords(['explain', 'secret/app', '--folder', folder])
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringContaining('spec.requiredBy: must be of type array'),
  })
})

describe('-o', () => {
  const words = ['explain', 'deployment/trainer', '-n', 'demo', '--folder', 'examples/hub', '-o']

  test('yaml has the same data as json', async () => {
    const [yaml, json] = [await runWords([...words, 'yaml']), await runWords([...words, 'json'])]

    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout))
    expect(JSON.parse(json.stdout).object).toMatchObject({
      kind: 'Deployment',
      namespace: 'demo',
      name: 'trainer',
      state: 'Narrowed',
      children: [
        { kind: 'DataSourceClaim', name: 'orders', state: 'Located', clusters: ['member2'], bytes: 5368709120 },
        {},
        {},
        { text: 'candidate clusters' },
      ],
    })
  })

  test('wide has the API versions and the policy of claims', async () => {
    const { stdout } = await runWords([...words, 'wide'])

    expect(stdout).toMatch(/^Deployment demo\/trainer \[apps\/v1\]\n/)
    expect(stdout).toContain(
      '└─ policy: enforcement Required, onUnresolved Hold, onUnsatisfiable Hold, rebalance Auto, failback Auto\n',
    )
  })
})
