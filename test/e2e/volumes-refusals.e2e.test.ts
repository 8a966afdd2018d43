// Movers that the real API server refuses in a namespace: quotas, limits, Pod Security and admission policies. kube-controller-manager
// counts what quotas limit, so a raised quota applies as in any cluster.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VolumeConfig, VolumeManager } from '../../src/api/volume-manager.ts'
import type { KubeObject } from './api-client.ts'
import { podOf } from './consumers.ts'
import {
  answered,
  credentialsSecret,
  firstVolume,
  type Member,
  namespaceOf,
  probeOf,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await cluster.putBucket('lake', { 'a.txt': 'first' }, 'train/')
})
afterAll(() => cluster?.plane.stopAll())

interface Refusal {
  name: string
  // The objects that refuse the movers of a namespace, or accept them.
  objects: (namespace: string, isOpen: boolean) => KubeObject[]
  says: string
}

const REFUSALS: Refusal[] = [
  {
    name: 'a ResourceQuota for pods',
    objects: (namespace, isOpen) => [quota('few', namespace, { pods: isOpen ? '9' : '0' })],
    says: 'exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
  },
  {
    name: 'a ResourceQuota for memory',
    objects: (namespace, isOpen) => [quota('small', namespace, { 'limits.memory': isOpen ? '9Gi' : '64Mi' })],
    says: 'exceeded quota: small, requested: limits.memory=512Mi, used: limits.memory=0, limited: limits.memory=64Mi',
  },
  {
    name: 'a LimitRange',
    objects: (namespace, isOpen) => [
      {
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: { name: 'small', namespace },
        spec: { limits: [{ type: 'Container', max: { memory: isOpen ? '1Gi' : '64Mi' } }] },
      },
    ],
    says: 'maximum memory usage per Container is 64Mi, but limit is 512Mi',
  },
  {
    name: 'Pod Security',
    objects: (namespace, isOpen) => [namespaceOf(namespace, isOpen ? 'privileged' : 'restricted')],
    says: 'violates PodSecurity "restricted:latest"',
  },
  {
    name: 'a ValidatingAdmissionPolicy',
    objects: (namespace, isOpen) => admissionPolicy(namespace, isOpen),
    says: 'denied request: movers are not allowed here',
  },
]

function quota(name: string, namespace: string, hard: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name, namespace }, spec: { hard } }
}

// Refuses what has the label of a mover, in one namespace. Of the reasons that a policy may give, HTTP 413 looks the least like a refusal.
function admissionPolicy(name: string, isOpen: boolean): KubeObject[] {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const isNoMover = "!('lodestone.dev/mover' in object.metadata.?labels.orValue({}))"
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
  return [
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
          resourceRules: [rule],
        },
        validations: [
          {
            expression: isOpen ? 'true' : isNoMover,
            reason: 'RequestEntityTooLarge',
            message: 'movers are not allowed here',
          },
        ],
      },
    },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
}

describe('movers refused by', () => {
  test.concurrent.each(REFUSALS)(
    '$name: the user sees why, and all continues once they are accepted',
    async ({ name, objects, says }) => {
      const { plane } = cluster
      const namespace = name.toLowerCase().replaceAll(' ', '-')
      await createTenant(namespace)
      await createIn(namespace, 'early')
      const early = firstVolume(await managerThat(namespace, 'early', isRunning))
      await plane.apply(objects(namespace, false))
      await answered(plane, probeOf(namespace), says)

      for (const manager of ['late', 'dropped']) {
        await createIn(namespace, manager)
        await failsWith(namespace, manager, says)
      }
      // Without data on any node, a deletion needs no mover.
      await cluster.deleteManager('dropped', namespace)
      await plane.kubectl(['delete', 'vmgr', 'early', '-n', namespace, '--wait=false'])
      await managerThat(
        namespace,
        'early',
        ({ status }) =>
          status?.message?.startsWith('the data is being deleted: vol1: deleting: ') === true &&
          saysRefused(status.message, says) &&
          status.conditions?.find(({ type }) => type === 'Ready')?.reason === 'CreateRefused',
      )
      await hasWarning(namespace, 'early', 'DeletionFailed', says)
      expect(cluster.nodesWith(early)).toHaveLength(1)

      await plane.apply(objects(namespace, true))

      await plane.eventually('the deletion ends', async () => {
        const found = await cluster.volumeManager('early', namespace)
        if (found) throw new Error(JSON.stringify(found.status))
        return true
      })
      expect(cluster.nodesWith(early)).toEqual([])
      const late = await managerThat(namespace, 'late', isRunning)
      expect(cluster.nodesWith(firstVolume(late))).toHaveLength(1)
    },
  )
})

test.concurrent('a volume names the ResourceQuota for claims, and can be used when it is raised', async () => {
  const { plane } = cluster
  const namespace = 'claims'
  await createTenant(namespace)
  await plane.apply(quota('none', namespace, { persistentvolumeclaims: '0', pods: '9' }))
  await plane.eventually('the quota is counted', async () => {
    const { stdout } = await plane.kubectl(['get', 'resourcequota', 'none', '-n', namespace, '-o', 'yaml'])
    return stdout.includes('used:')
  })

  await createIn(namespace, 'claimed', { volumeType: 'persistentVolumeClaim' })

  const says = 'exceeded quota: none'
  await managerThat(namespace, 'claimed', ({ status }) => {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    return status?.state === 'Failed' && ready?.message?.includes(says) === true
  })
  await hasWarning(namespace, 'claimed', 'Failed', says)

  await plane.apply(quota('none', namespace, { persistentvolumeclaims: '9', pods: '9' }))
  await managerThat(namespace, 'claimed', isRunning)
})

test.concurrent('a ResourceQuota that blocks changes is reported, and raising it writes them back', async () => {
  const { plane, s3 } = cluster
  const namespace = 'results'
  await createTenant(namespace)
  await cluster.putBucket('results', { 'in.txt': 'in' }, 'run/')
  await createIn(namespace, 'output', { options: { resync: 'true', sourceURL: 's3://results/run/' } })
  const volume = firstVolume(await managerThat(namespace, 'output', isRunning))
  const [node = ''] = cluster.nodesWith(volume)
  await cluster.create(podOf('trainer', 'output', {}, namespace))
  await managerThat(namespace, 'output', ({ status }) => status?.volumes?.[0]?.replicas?.[0]?.inUse === true)
  await writeFile(join(cluster.dataOn(node, volume), 'model.txt'), 'trained')
  await plane.apply(quota('few', namespace, { pods: '0' }))
  await answered(plane, probeOf(namespace), 'exceeded quota: few')

  await plane.kubectl(['delete', 'pod', 'trainer', '-n', namespace])

  await managerThat(
    namespace,
    'output',
    ({ status }) => status?.state === 'Failed' && saysRefused(status.message, 'exceeded quota: few'),
  )
  await hasWarning(namespace, 'output', 'WriteBackFailed', 'exceeded quota: few')
  expect(cluster.nodesWith(volume)).toEqual([node])

  await plane.apply(quota('few', namespace, { pods: '9' }))
  await answered(plane, probeOf(namespace), '"name":"probe"')
  const completed = JSON.stringify({ spec: { state: 'Completed' } })
  await plane.kubectl(['patch', 'vmgr', 'output', '-n', namespace, '--type=merge', '-p', completed])

  await managerThat(namespace, 'output', ({ status }) => status?.state === 'Completed')
  expect((await s3.request('GET', '/results/run/model.txt')).text).toBe('trained')
  expect(cluster.nodesWith(volume)).toEqual([])
})

function isRunning({ status }: VolumeManager): boolean {
  return status?.state === 'Running'
}

function saysRefused(message: string | undefined, says: string): boolean {
  return message?.includes('CreateRefused: ') === true && message.includes(says)
}

async function createTenant(namespace: string): Promise<void> {
  const { plane, s3 } = cluster
  await plane.apply(namespaceOf(namespace, 'privileged'))
  await plane.apply(credentialsSecret('aws-creds', s3.accessKey, s3.secretKey, namespace))
}

async function failsWith(namespace: string, name: string, says: string): Promise<void> {
  await managerThat(
    namespace,
    name,
    ({ status }) =>
      status?.state === 'Failed' &&
      saysRefused(status.volumes?.[0]?.message, says) &&
      saysRefused(status.conditions?.find(({ type }) => type === 'Ready')?.message, says),
  )
  await hasWarning(namespace, name, 'MoverFailed', says)
}

async function createIn(namespace: string, name: string, config: Partial<VolumeConfig> = {}): Promise<void> {
  const manager = volumeManagerOf(name, s3Volume(cluster.proxy, 's3://lake/train/', config))
  await cluster.create({ ...manager, metadata: { name, namespace } })
}

function managerThat(
  namespace: string,
  name: string,
  test: (manager: VolumeManager) => boolean,
): Promise<VolumeManager> {
  return cluster.plane.eventually(`${name} in ${namespace} is as expected`, async () => {
    const found = await cluster.volumeManager(name, namespace)
    if (!found || !test(found)) throw new Error(JSON.stringify(found?.status ?? 'no status'))
    return found
  })
}

async function hasWarning(namespace: string, name: string, reason: string, says: string): Promise<void> {
  type Event = KubeObject & { involvedObject: { name: string }; type: string; reason: string; message: string }
  await cluster.plane.eventually(`${name} in ${namespace} has the Event ${reason}`, async () => {
    const events = (await cluster.plane.listJson('events', namespace)) as unknown as Event[]
    const about = events.filter(({ involvedObject }) => involvedObject.name === name)
    const found = about.some(
      (event) => event.type === 'Warning' && event.reason === reason && event.message.includes(says),
    )
    if (!found) throw new Error(JSON.stringify(about.map(({ type, reason, message }) => ({ type, reason, message }))))
    return true
  })
}
