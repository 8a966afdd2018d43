// What happens to workloads while no replica of Lodestone answers: with the policies of the API server, and without them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { clusterNames, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, only, policy, source } from './manifests.ts'
import { stopAndCheckRights } from './rights.ts'

let plane: ControlPlane
let lodestone: Lodestone
let hub: Hub

beforeAll(async () => {
  plane = await startControlPlane()
  const kubeconfig = await installLodestone(plane)
  lodestone = await startLodestone(plane, { kubeconfig })
  hub = hubOn(plane)
})

afterAll(() => stopAndCheckRights({ plane, lodestones: [lodestone] }))

/** What happens to one workload before, during and after an absence of Lodestone. */
interface Scenario {
  name: string
  workload: string
  before?: (name: string) => Promise<unknown>
  during: (name: string) => Promise<unknown>
  /** The Event that tells why a write waits; absent if none waits. */
  rejection?: string
  /** The clusters of the workload during the absence. */
  clusters: string
  /** Its clusters and replicas after it. */
  later: Record<string, number>
}

const OUTSIDE = 'the placement allows clusters without the data of the workload, which is in member2'
const scale = (name: string) => hub.kubectl(['scale', 'deployment', name, '--replicas=5'])

const SCENARIOS: Scenario[] = [
  {
    name: 'a narrowed workload that is scaled keeps its clusters, and gets its replicas later',
    workload: 'scaled',
    before: narrow,
    during: scale,
    rejection: OUTSIDE,
    clusters: 'member2',
    later: { member2: 5 },
  },
  {
    name: 'a narrowed workload whose policy changes keeps its clusters, and follows the policy later',
    workload: 'edited',
    before: narrow,
    during: (name) => hub.apply(policy(name, { placement: { clusterAffinity: { exclude: ['member1'] } } })),
    rejection: OUTSIDE,
    clusters: 'member2',
    later: { member2: 2 },
  },
  {
    name: 'a policy that only allows the data of its workload applies at once',
    workload: 'restricted',
    before: narrow,
    during: async (name) => {
      await hub.apply(policy(name, { placement: only('member2') }))
      await scale(name)
      await hasReplicas(name, { member2: 5 })
    },
    clusters: 'member2',
    later: { member2: 5 },
  },
  {
    name: 'a workload that is created is not scheduled before Lodestone has decided on it',
    workload: 'created',
    before: (name) => hub.apply(source(`${name}-data`, ['member2']), claim(name, { data: `${name}-data` })),
    during: (name) => hub.apply(policy(name), deployment(name)),
    rejection: 'DataSourceClaim created names the workload, and Lodestone has not decided on it',
    clusters: '',
    later: { member2: 2 },
  },
  {
    name: 'a workload that is created together with its claim waits too',
    workload: 'claimed',
    before: (name) => hub.apply(source(`${name}-data`, ['member3'])),
    during: (name) => hub.apply(claim(name, { data: `${name}-data` }), policy(name), deployment(name)),
    rejection: 'DataSourceClaim claimed names the workload, and Lodestone has not decided on it',
    clusters: '',
    later: { member3: 2 },
  },
  {
    name: 'a workload on hold that is scaled stays on hold',
    workload: 'held',
    before: async (name) => {
      await hub.apply(claim(name, { data: `${name}-data` }), policy(name), deployment(name))
      await plane.eventually(`${name} is on hold`, async () => {
        const { spec } = (await hub.bindingOf(deployment(name))) ?? {}
        expect(spec?.['suspension']).toEqual({ scheduling: true })
        return true
      })
    },
    during: async (name) => {
      await scale(name)
      await plane.eventually('it will have more replicas', async () => (await replicasOf(name)) === 5)
      await hub.apply(source(`${name}-data`, ['member1']))
    },
    clusters: '',
    later: { member1: 5 },
  },
  {
    name: 'a workload without a claim is created, scaled and moved as ever',
    workload: 'free',
    during: async (name) => {
      await hub.apply(policy(name, { placement: only('member1') }), deployment(name))
      await hasReplicas(name, { member1: 2 })
      await hub.apply(policy(name))
      await scale(name)
      await hasReplicas(name, { member1: 5, member2: 5, member3: 5 })
    },
    clusters: 'member1,member2,member3',
    later: { member1: 5, member2: 5, member3: 5 },
  },
  {
    name: 'a workload whose claim never holds it is scheduled',
    workload: 'preferring',
    before: (name) => hub.apply(claim(name, { data: `${name}-data`, policy: { enforcement: 'Preferred' } })),
    during: async (name) => {
      await hub.apply(policy(name), deployment(name))
      await hasReplicas(name, { member1: 2, member2: 2, member3: 2 })
    },
    clusters: 'member1,member2,member3',
    later: { member1: 2, member2: 2, member3: 2 },
  },
  ...['claims', 'Claims'].map((value) => ({
    name: `a new workload waits in a namespace with the label ${value}`,
    workload: `labeled-${value === 'claims' ? value : 'wrong'}`,
    during: (name: string) => createLabeled(name, value),
    rejection: 'names the workload, and Lodestone has not decided on it',
    clusters: '',
    later: { member2: 2 },
  })),
  {
    name: 'a new workload does not wait in a namespace with the label false, and is moved to its data later',
    workload: 'labeled-false',
    during: async (name) => {
      await createLabeled(name, 'false')
      await hasReplicas(name, { member1: 2, member2: 2, member3: 2 })
    },
    clusters: 'member1,member2,member3',
    later: { member2: 2 },
  },
]

/** Creates a workload with a claim in a namespace of the same name, with this value of the label. */
async function createLabeled(name: string, value: string): Promise<void> {
  const labels = { 'lodestone.dev/enforce': value }
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  const { metadata, ...rest } = policy(name)
  const data = `${name}-data`
  await hub.apply(source(data, ['member2']), claim(name, { data, namespace: name }))
  await hub.apply({ ...rest, metadata: { ...metadata, namespace: name } }, workloadOf(name))
}

/** The workload of a scenario. */
const workloadOf = (name: string) => deployment(name, { namespace: name.startsWith('labeled-') ? name : 'default' })

describe('with the policies of the API server', () => {
  const seen = new Map<string, string>()

  beforeAll(async () => {
    await installPolicies()
    await Promise.all(SCENARIOS.map(({ before, workload }) => before?.(workload)))
    await lodestone.stop()
    await Promise.all(SCENARIOS.map(({ during, workload }) => during(workload)))
    for (const { workload, rejection } of SCENARIOS) if (rejection) await isRejected(workload, rejection)
    for (const { workload } of SCENARIOS) seen.set(workload, await clustersOf(workload))
    await lodestone.restart()
  })

  test.each(SCENARIOS)('$name', async ({ workload, clusters, later }) => {
    expect(seen.get(workload)).toBe(clusters)
    await hasReplicas(workload, later)
    const ever = new Set([...clusters.split(',').filter(Boolean), ...Object.keys(later)])
    await plane.eventually(`${workload} was only ever there`, async () => {
      expect(await hub.membersThatEverHad(workloadOf(workload))).toBe([...ever].sort().join())
      return true
    })
  })
})

describe('without the policies, after its start', () => {
  const names = ['created-late', 'scaled-late']

  beforeAll(async () => {
    await installPolicies()
    await narrow('scaled-late')
    await hub.apply(source('created-late-data', ['member2']), claim('created-late', { data: 'created-late-data' }))
    await plane.kubectl(['delete', 'validatingadmissionpolicybindings', '-l', 'app.kubernetes.io/name=lodestone'])
    await lodestone.stop()
    await hub.apply(policy('created-late'), deployment('created-late'))
    await scale('scaled-late')
    for (const name of names) {
      await plane.eventually(`${name} is everywhere`, async () => {
        expect(await clustersOf(name)).toBe('member1,member2,member3')
        return true
      })
    }
    await lodestone.restart()
  })

  test.each([
    { name: 'created-late', reason: 'LocalityNarrowed', message: 'default/created-late is in member2' },
    { name: 'scaled-late', reason: 'LocalityNarrowedAgain', message: CHANGED },
  ])('$name is moved to its data, with an Event', async ({ name, reason, message }) => {
    await hasReplicas(name, { member2: name === 'scaled-late' ? 5 : 2 })
    await plane.eventually(`${name} has the Event`, async () => {
      const found = (await eventsOf(name)).filter((one) => one.involvedObject.kind === 'ResourceBinding')
      expect(found).toContainEqual(expect.objectContaining({ reason, message: expect.stringContaining(message) }))
      return true
    })
  })
})

const CHANGED =
  'the placement was changed while Lodestone was not available, and its workload was scheduled to member1, member2, member3; now default/scaled-late is in member2'

/** Another test of this file deletes them. */
const installPolicies = () => installLodestone(plane)

async function narrow(name: string): Promise<void> {
  await hub.apply(source(`${name}-data`, ['member2']), claim(name, { data: `${name}-data` }))
  await hub.apply(policy(name), deployment(name))
  await hasReplicas(name, { member2: 2 })
}

const hasReplicas = (name: string, wanted: Record<string, number>) =>
  plane.eventually(`${name} has its replicas`, async () => {
    const { clusters = [] } = (await hub.bindingOf(workloadOf(name)))?.spec ?? {}
    expect(Object.fromEntries(clusters.map((one) => [one.name, one.replicas]))).toEqual(wanted)
    return true
  })

async function replicasOf(name: string): Promise<unknown> {
  return (await hub.bindingOf(workloadOf(name)))?.spec['replicas']
}

async function clustersOf(name: string): Promise<string> {
  return clusterNames(await hub.bindingOf(workloadOf(name)))
}

/** Waits for the Event with which Karmada tells why a write of a binding failed. */
const isRejected = (name: string, message: string) =>
  plane.eventually(`an Event tells why ${name} waits`, async () => {
    const messages = (await eventsOf(name)).map((one) => one.message)
    expect(messages).toContainEqual(expect.stringContaining(message))
    return true
  })

async function eventsOf(name: string): Promise<EventObject[]> {
  const items = (await plane.listJson('events')) as unknown as EventObject[]
  return items.filter(({ involvedObject }) => [name, `${name}-deployment`].includes(involvedObject.name))
}

interface EventObject {
  reason: string
  message: string
  involvedObject: { kind: string; name: string }
}
