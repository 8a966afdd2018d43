// One fleet, both levels: a hub with a real Karmada hands a VolumeManager on to a member that is a real cluster. The workload that names
// it goes to that member, and there its pods go to the node with the data; nothing is copied by hand.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { credentialsSecret, type Member, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { joinMember, memberControllers } from './real-member.ts'

const timeoutMs = 90_000
let member: Member
let hubPlane: ControlPlane
let hub: Hub
let lodestone: Lodestone

beforeAll(async () => {
  member = await startMember()
  await member.putBucket('lake', { 'one.csv': 'a,b\n1,2\n' }, 'sales/')
  hubPlane = await startControlPlane({
    garbageCollector: true,
    flags: { 'karmada-controller-manager': [memberControllers] },
  })
  await joinMember(hubPlane, 'datacenter', member.plane)
  hub = hubOn(hubPlane)
  const kubeconfig = await installLodestone(hubPlane)
  // They look for kinds when they start, and then only every thirty seconds.
  await Promise.all(
    (['karmada-controller-manager', 'kube-controller-manager'] as const).map((one) => hubPlane.restart(one)),
  )
  // The S3 server of this test is on this machine.
  const volumes = { allowedLocalNetworks: ['127.0.0.0/8'] }
  lodestone = await startLodestone(hubPlane, { kubeconfig, config: { volumes } })
}, 240_000)

afterAll(async () => {
  await hubPlane?.stopAll()
  await member?.plane.stopAll()
})

test('a workload waits for its VolumeManager and goes with it and its data to a member', async () => {
  await waitsForItsVolumeManager()
  await goesToTheNodeWithTheData()
  await isExplained()
  await aLaterOneGoesThereAtOnce()
  await theDataGoesWithTheVolumeManager()
  expect(await lodestone.readLog()).not.toContain('"level":"error"')
})

const sales = (): KubeObject => volumeManagerOf('sales', s3Volume(member.proxy, 's3://lake/sales/'))

const trainer: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'trainer',
    namespace: 'default',
    annotations: { 'lodestone.dev/volumes': '{"name": "sales", "mount-path": "/data"}' },
  },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'trainer' } },
    template: {
      metadata: { labels: { app: 'trainer' } },
      spec: { containers: [{ name: 'main', image: 'registry.example/trainer' }] },
    },
  },
}
const late = { ...trainer, metadata: { ...trainer.metadata, name: 'late' } }

function policyFor(name: string, objects: KubeObject[], placement: object): KubeObject {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { name, namespace: 'default' },
    spec: {
      resourceSelectors: objects.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, name: metadata.name })),
      placement,
    },
  }
}

async function waitsForItsVolumeManager(): Promise<void> {
  await hub.apply(trainer, policyFor('trainer', [trainer], {}))

  await hubPlane.eventually('the workload is held', async () => {
    const { stdout } = await hub.kubectl(['describe', bindings, 'trainer-deployment'])
    return stdout.includes('VolumeManager default/sales: it is not on this hub yet')
  })
  expect((await hub.bindingOf(trainer))?.spec.clusters).toBeUndefined()
}

/** Goes to the member in which the VolumeManager is Running, and its pods to the node with the data. */
async function goesToTheNodeWithTheData(): Promise<void> {
  const secret = credentialsSecret('aws-creds', member.s3.accessKey, member.s3.secretKey)
  const toDatacenter = { clusterAffinity: { clusterNames: ['datacenter'] } }
  await hub.apply(sales(), policyFor('sales', [sales(), secret], toDatacenter), secret)

  const { status } = await member.reached('sales', 'Running', timeoutMs)
  await hub.isOnlyIn(trainer, 'datacenter')
  const [volume] = status?.volumes ?? []
  const nodes = volume ? member.nodesWith(volume) : []
  expect(nodes).toHaveLength(1)
  const pods = await member.plane.eventually(
    'both pods run in the member',
    async () => {
      const found = await member.podsOf('trainer')
      return found.length === 2 && found.every(({ status }) => status?.phase === 'Running') ? found : undefined
    },
    timeoutMs,
  )
  expect(new Set(pods.map(({ spec }) => spec?.nodeName))).toEqual(new Set(nodes))
  for (const { spec } of pods) {
    expect(spec?.volumes).toContainEqual(
      expect.objectContaining({ hostPath: expect.objectContaining({ path: volume?.volumeSource?.hostPath?.path }) }),
    )
    expect(spec?.containers[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: '/data' }))
  }
}

/** The binding says where the data is, and `lodestone explain` tells the same. */
async function isExplained(): Promise<void> {
  const binding = await hub.bindingOf(trainer)
  expect(binding?.spec['placement']).toMatchObject({ clusterAffinity: { clusterNames: ['datacenter'] } })
  expect(binding?.spec.clusters).toEqual([{ name: 'datacenter', replicas: 2 }])

  const stdout = await lodestoneOutput(['explain', 'deployment/trainer', '--kubeconfig', hubPlane.kubeconfig])
  expect(stdout).toContain('├─ VolumeManager default/sales (Required): located in datacenter, 8 B\n')
}

/** A workload that comes when the data is there goes there and nowhere else, not for a moment. */
async function aLaterOneGoesThereAtOnce(): Promise<void> {
  await hub.apply(late, policyFor('late', [late], {}))

  await hub.isOnlyIn(late, 'datacenter')
  expect(await hub.membersThatEverHad(late)).toBe('datacenter')
  expect(await hub.membersThatEverHad(trainer)).toBe('datacenter')
}

/** The VolumeManager in the member is the hub’s: deleted there, its data goes from the nodes. */
async function theDataGoesWithTheVolumeManager(): Promise<void> {
  await hub.delete(trainer, late)
  await member.plane.eventually(
    'the pods are gone',
    async () => (await member.podsOf('trainer')).length === 0,
    timeoutMs,
  )
  const volume = (await member.volumeManager('sales'))?.status?.volumes?.[0]

  await hub.delete(sales())

  await member.plane.eventually(
    'VolumeManager and data are gone',
    async () => (await member.volumeManager('sales')) === undefined && volume && member.nodesWith(volume).length === 0,
    timeoutMs,
  )
}
