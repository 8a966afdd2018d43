/** What `explain` reads from an API server: 100,000 objects must not be listed for one of them. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeObject,
  makePod,
  makePolicy,
  makeSource,
  makeVolumeManager,
} from '../../../test/builders.ts'
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { secrets } from '../../api/dependencies.ts'
import { propagationPolicies, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { pods } from '../../api/pod.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { FakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { makeFolder, runWords } from '../cli.fake.ts'

const rayJobs = SHIPPED_KINDS.find('ray.io/v1', 'RayJob')?.type as ResourceType
const workload = { apiVersion: 'ray.io/v1alpha1', kind: 'RayJob', name: 'app' }
const job = makeObject('ray.io/v1alpha1', 'RayJob', 'app', { spec: {} })
const binding = {
  ...makeBinding({ resource: { ...workload, namespace: 'default' } }, { name: 'app-rayjob' }),
}

async function explainFrom(target: string, objects: [ResourceType, K8sObject][], unserved: ResourceType[] = []) {
  const alpha = { ...rayJobs, version: 'v1alpha1' }
  const server = await new FakeApiServer([...cachedKinds.map(({ type }) => type), alpha]).listen()
  onTestFinished(() => server.close())
  for (const type of [rayJobs, ...unserved]) server.serve(type, false)
  for (const [type, object] of objects) server.put(type.kind === 'RayJob' ? alpha : type, object)
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'hub' },
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'hub' } }],
    clusters: [{ name: 'hub', cluster: { server: server.url } }],
    users: [{ name: 'hub', user: {} }],
  }
  const file = join(makeFolder({ hub: config }), 'hub')
  const answer = await runWords(['explain', target, '--kubeconfig', file])
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
  test('of another version of its kind is explained, without a list of bindings, pods, Secrets or workloads', async () => {
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

test('a Secret on a hub is explained from its binding alone', async () => {
  const attached = makeBinding(
    { requiredBy: [{ namespace: 'default', name: 'app-rayjob', clusters: [{ name: 'member2' }] }] },
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

describe('in a member, which lacks the kinds of a hub', () => {
  const hubKinds = [dataSourceClaims, dataSources]

  test.each([
    { target: 'pod/trainer', want: 'Pod default/trainer: Gated\n├─ waits for VolumeManager sales/vol1\n' },
    { target: 'vmgr/sales', want: 'VolumeManager default/sales: Pending\n' },
  ])('$target is explained', async ({ target, want }) => {
    const objects: [ResourceType, K8sObject][] = [
      [pods as ResourceType, makePod({ name: 'sales', 'mount-path': '/data' })],
      [volumeManagers as ResourceType, makeVolumeManager()],
    ]

    const { status, stdout, lists } = await explainFrom(target, objects, hubKinds)

    expect(status).toBe(0)
    expect(stdout).toContain(want)
    expect(lists).not.toContain('pods')
  })
})
