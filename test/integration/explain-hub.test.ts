/** What `explain` reads from an API server: 100,000 objects must not be listed for one of them. */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { dataSources } from '../../src/api/data-source.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { secrets } from '../../src/api/dependencies.ts'
import {
  type BindingSpec,
  bindingTypes,
  clusterPropagationPolicies,
  clusters,
  propagationPolicies,
  type ResourceBinding,
  resourceBindings,
} from '../../src/api/karmada.ts'
import { type K8sObject, nameOfObject, type ObjectMeta, type ResourceType } from '../../src/api/meta.ts'
import { pods } from '../../src/api/pod.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { makeKubeconfig, runWords } from '../../src/cli/cli.fake.ts'
import { dependedByLabel } from '../../src/core/dependencies/names.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import type { Answer } from '../../src/store/cluster/api-responses.fake.ts'
import * as answers from '../../src/store/cluster/api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import {
  makeBinding,
  makeClaim,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
  OWNED,
} from '../builders.ts'

const rayJobs = SHIPPED_KINDS.find('ray.io/v1', 'RayJob')?.type as ResourceType
const workload = { apiVersion: 'ray.io/v1alpha1', kind: 'RayJob', name: 'app' }
const job = makeObject('ray.io/v1alpha1', 'RayJob', 'app', { spec: {} })
const binding = {
  ...makeBinding({ resource: { ...workload, namespace: 'default' } }, { name: 'app-rayjob' }),
}

interface Given {
  unserved: ResourceType[]
  /** Called before the command runs. */
  prepare: (server: FakeApiServer) => void
  signal: AbortSignal
}

async function explainFrom(
  target: string,
  objects: [ResourceType, K8sObject][],
  { unserved = [], prepare = () => {}, signal = new AbortController().signal }: Partial<Given> = {},
) {
  const alpha = { ...rayJobs, version: 'v1alpha1' }
  const server = await startFakeApiServer([...cachedKinds.map(({ type }) => type), alpha])
  for (const type of [rayJobs, ...unserved]) server.serve(type, false)
  for (const [type, object] of objects) server.put(type.kind === 'RayJob' ? alpha : type, object)
  prepare(server)
  const answer = await runWords(['explain', target, '--kubeconfig', makeKubeconfig(server.url)], { signal })
  const lists = server.requests.filter(({ query }) => query.has('limit')).map(({ path }) => path.split('/').at(-1))
  return {
    ...answer,
    lists: [...new Set(lists)].sort(),
    methods: [...new Set(server.requests.map(({ method }) => method))],
  }
}

const placed: [ResourceType, K8sObject][] = [
  [rayJobs, job],
  [dataSourceClaims, makeClaim({ workload })],
  [dataSources, makeSource({ locality: { clusterNames: ['member2'] } })],
  [propagationPolicies, makePolicy({ resourceSelectors: [workload] })],
]

const LISTED = [
  'clusterpropagationpolicies',
  'clusters',
  'datasourceclaims',
  'datasources',
  'namespaces',
  'propagationpolicies',
]

describe('a workload on a hub', () => {
  test('of another version of its kind is explained without lists of objects', async () => {
    const { status, stdout, lists, methods } = await explainFrom('rayjob/app', placed)

    expect(status).toBe(0)
    expect(stdout).toContain('└─ ResourceBinding default/app-rayjob (as Karmada would create it): Narrowed\n')
    expect(lists).toEqual([...LISTED, 'ingresses', 'serviceaccounts', 'services', 'volumemanagers'].sort())
    expect(methods).toEqual(['GET'])
  })

  test('that does not exist is explained from its binding', async () => {
    const { status, stdout } = await explainFrom('rayjobs.ray.io/app', [[resourceBindings, binding]])

    expect(status).toBe(0)
    expect(stdout).toContain('├─ there is no RayJob default/app on this API server: explained from its binding alone\n')
  })

  test('that is not known causes exit status 1', async () => {
    const { status, stdout, stderr } = await explainFrom('rayjob/apq', placed)

    const want = 'lodestone explain: RayJob default/apq not found on this API server (did you mean app?)\n'
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: want })
  })
})

/** The binding of a workload that runs in member1, where its data was. */
function runsWithData(spec: Partial<BindingSpec>, metadata: ObjectMeta): ResourceBinding {
  const locality = { state: 'Narrowed', message: '', claims: ['default/sales'], required: ['member1'] }
  const annotations = {
    'lodestone.dev/base-affinity': JSON.stringify(makePolicy().spec.placement),
    'lodestone.dev/locality': JSON.stringify(locality),
  }
  const placement = { clusterAffinity: { clusterNames: ['member1'] } }
  return makeBinding(
    { placement, clusters: [{ name: 'member1', replicas: 2 }], ...spec },
    { uid: 'a', ...metadata, annotations },
  )
}

test.each([
  {
    name: 'whose object was deleted without its binding stays',
    owners: {},
    want: 'Kept',
    why: 'was deleted without its binding',
  },
  { name: 'with an object follows its data', owners: OWNED, want: 'Narrowed', why: 'default/sales is in member2' },
])('a workload $name, as the loop decides', async ({ owners, want, why }) => {
  const resource = { ...workload, namespace: 'default' }
  const stored = runsWithData({ resource }, { name: 'app-rayjob', ...owners })
  const claim = makeClaim({ workload, policy: { rebalance: 'Always' } })
  const { stdout } = await explainFrom('rayjob/app', [...placed, [dataSourceClaims, claim], [resourceBindings, stored]])

  expect(stdout).toContain(`ResourceBinding default/app-rayjob: ${want}`)
  expect(stdout).toContain(why)
})

test.each([
  { name: 'stays with its PersistentVolumeClaim', volumes: [{ persistentVolumeClaim: { claimName: 'disk' } }] },
  { name: 'follows its data without a PersistentVolumeClaim', volumes: [] },
])('a Deployment $name, as the loop decides', async ({ volumes }) => {
  const stored = runsWithData({ propagateDeps: true }, OWNED)
  const referrer = nameOfObject(stored)
  const disk = makeBinding(
    {
      resource: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name: 'disk' },
      requiredBy: [{ ...referrer, clusters: stored.spec.clusters ?? [] }],
    },
    { name: 'disk-persistentvolumeclaim', labels: { [dependedByLabel(referrer)]: 'id' } },
  )
  const deployment = makeObject('apps/v1', 'Deployment', 'app', { spec: { template: { spec: { volumes } } } })
  const { stdout, stderr } = await explainFrom('deployment/app', [
    [SHIPPED_KINDS.find('apps/v1', 'Deployment')?.type as ResourceType, deployment],
    [dataSourceClaims, makeClaim()],
    [dataSources, makeSource({ locality: { clusterNames: ['member2'] } })],
    [propagationPolicies, makePolicy({ propagateDeps: true })],
    [resourceBindings, stored],
    [resourceBindings, disk],
  ])

  expect(stderr).toBe('')
  const want = volumes.length > 0 ? 'Kept' : 'Narrowed'
  expect(stdout).toContain(`ResourceBinding default/app-deployment: ${want}`)
  expect(stdout.includes('Karmada would delete PersistentVolumeClaim disk')).toBe(want === 'Kept')
})

test('a StatefulSet stays with its PersistentVolumeClaims, as the loop decides', async () => {
  const set = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'app' }
  const volumeClaimTemplates = [{ metadata: { name: 'data' } }]
  const { stdout } = await explainFrom('statefulset/app', [
    [
      SHIPPED_KINDS.find('apps/v1', 'StatefulSet')?.type as ResourceType,
      makeObject('apps/v1', 'StatefulSet', 'app', { spec: { template: {}, volumeClaimTemplates } }),
    ],
    [dataSourceClaims, makeClaim({ workload: set })],
    [dataSources, makeSource({ locality: { clusterNames: ['member2'] } })],
    [propagationPolicies, makePolicy({ resourceSelectors: [set] })],
    [
      resourceBindings,
      runsWithData({ resource: { ...set, namespace: 'default' } }, { name: 'app-statefulset', ...OWNED }),
    ],
  ])

  expect(stdout).toContain('ResourceBinding default/app-statefulset: Kept')
  expect(stdout).toContain('its PersistentVolumeClaims of the template data would not follow it')
})

test('a Secret on a hub is explained from its binding alone', async () => {
  const attached = makeBinding(
    {
      resource: { apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: 'keys' },
      requiredBy: [{ namespace: 'default', name: 'app-rayjob', clusters: [{ name: 'member2' }] }],
    },
    { name: 'keys-secret' },
  )
  const { placement: _, ...spec } = attached.spec

  const { stdout, lists } = await explainFrom('secret/keys', [
    [secrets, makeObject('v1', 'Secret', 'keys')],
    [resourceBindings, binding],
    [resourceBindings, { ...attached, spec } as K8sObject],
  ])

  expect(stdout).toBe('Secret default/keys\n└─ RayJob default/app: attached to member2\n')
  expect(lists).toEqual([])
})

test('a source on a hub needs no dependencies', async () => {
  const { stdout, lists } = await explainFrom('datasource/amoro-table-lake.shop.sales', placed)

  expect(stdout).toContain('RayJob default/app: Narrowed: default/sales is in member2\n')
  expect(lists).toEqual(LISTED)
})

describe('a VolumeManager with content that the CRD of VCK allows', () => {
  test.each([
    [
      'a text as its volumes',
      { spec: { volumeConfigs: 'x' }, status: { volumes: { a: 1 }, conditions: null, state: 5 } },
    ],
    ['numbers as its volumes', { spec: { volumeConfigs: [null, 5, { id: 7 }] }, status: { volumes: [null, 3] } }],
    ['no spec', { spec: null, status: 'x' }],
    ['an unknown source', { spec: { volumeConfigs: [{ id: 'vol1', sourceType: 'Floppy', options: 4 }] } }],
    [
      'numbers as its replicas',
      { spec: { volumeConfigs: [] }, status: { volumes: [{ id: 'vol1', replicas: [4, null] }] } },
    ],
  ])('such as %s is explained, and the pod that requests it', async (_name, content) => {
    const manager = { ...makeObject('vck.intelai.org/v1alpha1', 'VolumeManager', 'sales'), ...content }
    const objects: [ResourceType, K8sObject][] = [
      [volumeManagers as ResourceType, manager],
      [
        pods as ResourceType,
        makePod({ name: 'sales', 'mount-path': '/data' }, { schedulingGates: [{ name: 'lodestone.dev/volumes' }] }),
      ],
    ]

    const answers = [await explainFrom('vmgr/sales', objects), await explainFrom('pod/trainer', objects)]

    expect(answers.map(({ status }) => status)).toEqual([0, 0])
    for (const { stderr } of answers)
      expect(stderr).toMatch(/^(lodestone explain: VolumeManager: default\/sales cannot be cached\n)?$/)
    expect(answers[0]?.stdout).toMatch(/^VolumeManager default\/sales: (Invalid|Pending)\n/)
    expect(answers[1]?.stdout).toMatch(/^Pod default\/trainer: Gated\n/)
  })
})

describe('in a member, which lacks the kinds of a hub', () => {
  const hubKinds = [
    ...[dataSourceClaims, dataSources, propagationPolicies, clusterPropagationPolicies, clusters],
    ...bindingTypes,
  ]
  const other = '├─ no object of a hub is here; for its placement, explain it on the hub\n'

  test.each([
    { target: 'pod/trainer', want: 'Pod default/trainer: Gated\n├─ waits for VolumeManager sales/vol1\n' },
    { target: 'vmgr/sales', want: 'VolumeManager default/sales: Pending\n' },
    {
      target: 'rayjob/app',
      want: `RayJob default/app: its pods wait for their volumes\n${other}└─ VolumeManager default/sales, volume vol1`,
    },
    { target: 'secret/keys', want: `Secret default/keys\n${other.replace('├', '└')}` },
  ])('$target is explained', async ({ target, want }) => {
    const template = { metadata: makePod({ name: 'sales' }).metadata, spec: makePod('').spec }
    const objects: [ResourceType, K8sObject][] = [
      [pods as ResourceType, makePod({ name: 'sales', 'mount-path': '/data' })],
      [volumeManagers as ResourceType, makeVolumeManager()],
      [
        rayJobs,
        makeObject('ray.io/v1alpha1', 'RayJob', 'app', { spec: { rayClusterSpec: { headGroupSpec: { template } } } }),
      ],
      [secrets, makeObject('v1', 'Secret', 'keys')],
    ]

    const { status, stdout, lists } = await explainFrom(target, objects, { unserved: hubKinds })

    expect(status).toBe(0)
    expect(stdout).toContain(want)
    expect(lists).not.toContain('pods')
  })
})

describe('a request for a single object that fails', () => {
  const isBinding = ({ path }: { path: string }) => path.endsWith('/resourcebindings/app-rayjob')
  const request = 'GET /apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/app-rayjob'
  const html = (response: ServerResponse) =>
    response.writeHead(502).end('<html>\n<h1>\u001b[2JBad gateway</h1>\n</html>\n')
  const cutOff = (response: ServerResponse) =>
    response.writeHead(200, { 'content-length': 100 }).write('{"kind":', () => response.destroy())

  test.each([
    [
      'a permission is missing',
      answers.status(403, 'Forbidden'),
      'HTTP 403: the server says Forbidden; grant the user this permission',
    ],
    [
      'the token expires',
      answers.status(401, 'Unauthorized'),
      'HTTP 401: the server says Unauthorized; renew the token or certificate of the user',
    ],
    ['the server fails', answers.status(500, 'InternalError'), 'HTTP 500: the server says InternalError; try again'],
    [
      'the server is overloaded',
      answers.status(429, 'TooManyRequests'),
      'HTTP 429: the server says TooManyRequests; try again',
    ],
    ['a proxy answers', html, 'HTTP 502: <html> <h1> [2JBad gateway</h1> </html>; try again'],
    ['the connection ends', answers.reset, 'other side closed; try again'],
    ['the connection ends in the body', cutOff, 'other side closed; try again'],
    [
      'the response is not JSON',
      (response) => response.end('<html>\n</html>'),
      expect.stringMatching(/^Unexpected token .* is not valid JSON; try again$/),
    ],
  ] satisfies [string, Answer, unknown][])(
    'because %s causes one line and exit status 1',
    async (_name, answer, reason) => {
      const { status, stdout, stderr } = await explainFrom('rayjob/app', placed, {
        prepare: (server) => server.misbehave(isBinding, answer),
      })

      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      const prefix = `lodestone explain: ${request}: `
      expect(stderr.slice(0, prefix.length)).toBe(prefix)
      expect(stderr.slice(prefix.length, -1)).toEqual(reason)
      expect(stderr.slice(-1)).toBe('\n')
    },
  )

  test('because the user presses Ctrl-C ends at once, without a message', async () => {
    const user = new AbortController()
    const hang = () => user.abort()

    const { status, stdout, stderr } = await explainFrom('rayjob/app', placed, {
      prepare: (server) => server.misbehave(isBinding, hang),
      signal: user.signal,
    })

    expect({ status, stdout, stderr }).toEqual({ status: 130, stdout: '', stderr: '' })
  })
})
