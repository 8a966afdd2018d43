// The CRDs of Lodestone are deleted or replaced on a real hub while workloads run, and applied again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, source } from './manifests.ts'
import { collect } from './poll.ts'
import { stopAndCheckRights } from './rights.ts'

const bindings = 'resourcebindings.work.karmada.io'
const CLAIMS = 'datasourceclaims.datadependency.volcano.sh'
const CRDS = [CLAIMS, 'datasources.datadependency.volcano.sh']
const objects = [claim('web', { data: 'web-data' }), source('web-data', ['member2'])]

let plane: ControlPlane
let lodestone: Lodestone

beforeAll(async () => {
  plane = await startControlPlane()
  lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane) })
})

// Until the CRDs are back, the loops cannot write the status of claims.
afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone], expected: 'does not serve' }))

test('a running workload stays while the CRDs of claims and DataSources are deleted', async () => {
  await plane.create(...objects, policy('web'), deployment('web'))
  await plane.eventually('the workload is scheduled to its data', async () => (await scheduled()).join() === 'member2')
  const seen = collect(async () => (await scheduled()).join())

  await plane.kubectl(['delete', 'crd', ...CRDS, '--wait=false'])
  await plane.eventually('the kinds are not available', async () => {
    const reasons = await readiness()
    for (const kind of ['DataSourceClaim', 'DataSource'])
      expect(reasons).toContain(`${kind} objects are not available: `)
    expect(await lodestone.metric('lodestone_kind_unavailable')).toBe(2)
    expect(await eventReasons()).toEqual(expect.arrayContaining(CRDS.map((crd) => `${crd} KindUnavailable`)))
    return true
  })
  // Karmada's detector writes the placement of the policy again.
  await plane.kubectl(['annotate', 'deployment', 'web', 'changed=yes'])
  await plane.kubectl(['set', 'image', 'deployment/web', 'main=main:2'])
  await plane.eventually(
    'the detector has written',
    async () => (await binding()).spec.resource.resourceVersion !== undefined,
  )
  expect(await (await fetch(`${lodestone.healthUrl}/readyz?exclude=kinds`)).text()).toBe('ok\n')

  await plane.eventually(
    'the CRDs are gone',
    async () => (await plane.kubectl(['get', 'crd', ...CRDS, '--ignore-not-found', '-o', 'name'])).stdout === '',
    240_000,
  )
  expect(await affinity()).toEqual(['member2'])
  await plane.kubectl(['apply', '-f', '-'], { input: await lodestoneOutput(['manifests', 'crds']) })
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', ...CRDS, '--timeout=60s'])
  expect(await seen.stop()).toEqual(['member2'])

  await plane.create(...objects)
  await plane.eventually('Lodestone is ready, and the workload is with its data', async () => {
    expect(await readiness()).toBe('ok\n')
    expect(await affinity()).toEqual(['member2'])
    expect(await scheduled()).toEqual(['member2'])
    return true
  })
}, 400_000)

test('a workload stays where it is while another CRD of claims has no policy', async () => {
  const policies = { anchored: { rebalance: 'Never' }, copied: { enforcement: 'Preferred' } }
  const names = ['anchored', 'copied'] as const
  await plane.create(
    source('anchored', ['member1']),
    source('copied', ['member2']),
    ...names.flatMap((name) => [claim(name, { data: name, policy: policies[name] }), policy(name), deployment(name)]),
  )
  const isIn = async () => Promise.all(names.map(async (name) => (await scheduled(name)).join()))
  const present = ['member1', 'member1,member2,member3']
  await plane.eventually('both are scheduled', async () => (await isIn()).join(' ') === present.join(' '))
  await plane.apply([source('anchored', ['member3'])])
  await plane.eventually('it does not follow its data', async () => (await stateOf('anchored')).includes('"Kept"'))
  const seen = collect(async () => (await isIn()).join(' '))

  const { status: _status, metadata, ...crd } = (await plane.getJson('crd', CLAIMS)) as Definition
  const replaceBy = (spec: Definition['spec']) => {
    const { name, annotations = {}, labels = {} } = metadata as Definition['metadata']
    const object = { ...crd, metadata: { name, annotations, labels }, spec }
    return plane.kubectl(['replace', '-f', '-'], { input: JSON.stringify(object) })
  }
  await replaceBy(withoutPolicy(crd.spec))
  await plane.eventually('the API server drops the policy', async () => (await policyOf('anchored')) === undefined)
  await lodestone.restart()
  await plane.eventually('Lodestone warns', async () => {
    const reasons = await eventReasons()
    expect(reasons).toEqual(expect.arrayContaining(names.map((name) => `${name} FieldsDropped`)))
    return true
  })
  expect(await lodestone.metric('lodestone_moves_total')).toBe(0)

  await replaceBy(crd.spec)
  await plane.eventually('the policies are there again', async () => {
    for (const name of names) expect(await policyOf(name)).toEqual(policies[name])
    return true
  })
  await plane.eventually('Lodestone reads them again', async () => (await stateOf('anchored')).includes('is Never'))
  expect(await seen.stop()).toEqual([present.join(' ')])
})

interface Definition extends KubeObject {
  metadata: KubeObject['metadata'] & { labels?: object; annotations?: object }
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[] }
}

function withoutPolicy(spec: Definition['spec']): Definition['spec'] {
  const changed = structuredClone(spec)
  for (const { schema } of changed.versions) {
    const ofSpec = schema.openAPIV3Schema.properties.spec
    ofSpec.properties = { ...ofSpec.properties, policy: undefined }
  }
  return changed
}

async function policyOf(name: string): Promise<unknown> {
  const found = (await plane.getJson('datasourceclaims', name, 'default')) as { spec: { policy?: unknown } } | undefined
  return found?.spec.policy
}

async function stateOf(name: string): Promise<string> {
  return (await binding(name)).metadata.annotations?.['lodestone.dev/locality'] ?? ''
}

interface Binding extends KubeObject {
  spec: {
    resource: { resourceVersion?: string }
    clusters?: { name: string }[]
    placement?: { clusterAffinity?: { clusterNames?: string[] } }
  }
}

async function binding(name = 'web'): Promise<Binding> {
  return (await plane.getJson(bindings, `${name}-deployment`, 'default')) as Binding
}

async function scheduled(name?: string): Promise<string[]> {
  return ((await binding(name))?.spec.clusters ?? []).map(({ name }) => name).sort()
}

async function affinity(): Promise<string[] | undefined> {
  return (await binding()).spec.placement?.clusterAffinity?.clusterNames
}

async function readiness(): Promise<string> {
  return (await fetch(`${lodestone.healthUrl}/readyz`)).text()
}

async function eventReasons(): Promise<string[]> {
  const events = (await plane.listJson('events', 'default')) as (KubeObject & {
    reason: string
    involvedObject: { name: string }
  })[]
  return events.map(({ involvedObject, reason }) => `${involvedObject.name} ${reason}`)
}
