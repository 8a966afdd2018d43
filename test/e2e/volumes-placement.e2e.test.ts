// Volumes in a cluster with other operating systems and architectures, and under DaemonSets: with the real scheduler and controllers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PodTemplate } from '../../src/api/pod.ts'
import { daemonSetOf, podOf } from './consumers.ts'
import { firstVolume, type Member, nodeNames, onNodes, s3Volume, startMember, volumeManagerOf } from './member.ts'
import { nodeObject } from './nodes.ts'

const TRAIN = { 'a.txt': 'first' }

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await cluster.putBucket('lake', TRAIN, 'train/')
  await cluster.plane.apply([nodeObject('windows-1', 'windows'), nodeObject('mainframe-1', 'linux', 's390x')])
})
afterAll(() => cluster?.plane.stopAll())

const volume = (replicas: number, over = {}) => s3Volume(cluster.proxy, 's3://lake/train/', { replicas, ...over })

// The nodes with a running pod of an app, sorted.
async function nodesOf(app: string): Promise<string[]> {
  const running = (await cluster.podsOf(app)).filter(
    ({ metadata, status }) => !metadata.deletionTimestamp && status?.phase === 'Running',
  )
  return running.map(({ spec }) => spec.nodeName ?? '').sort()
}

function runsOn(app: string, nodes: readonly string[]): Promise<unknown> {
  return cluster.plane.eventually(
    `${app} runs on ${nodes}`,
    async () => {
      const found = await nodesOf(app)
      if (found.join() !== nodes.join()) throw new Error(`it runs on ${found}`)
      return true
    },
    60_000,
  )
}

describe('in a mixed cluster', () => {
  test('data goes only to Linux nodes with an architecture of the mover', async () => {
    const nodeAffinity = onNodes('windows-1', 'mainframe-1', 'node-5')
    await cluster.create(volumeManagerOf('mixed', volume(2, { nodeAffinity })))

    const found = await cluster.plane.eventually('it has one replica, and needs more nodes', async () => {
      const manager = await cluster.volumeManager('mixed')
      const { message, readyReplicas } = firstVolume(manager as NonNullable<typeof manager>)
      if (readyReplicas !== 1) throw new Error(JSON.stringify(manager?.status))
      return { manager, message }
    })
    expect(found.message).toBe('replicas [2] greater than number of nodes [1]')
    expect(await cluster.labeledNodes(found.manager as NonNullable<typeof found.manager>)).toEqual(['node-5'])
    await cluster.plane.kubectl(['delete', 'vmgr', 'mixed', '--timeout=60s'], { timeoutMs: 70_000 })
  })

  test.each([
    [
      'by its node selector',
      { nodeSelector: { 'kubernetes.io/os': 'windows' } },
      'spec.nodeSelector[kubernetes.io/os]',
    ],
    ['by its operating system', { os: { name: 'windows' } }, 'spec.os.name'],
  ])('a pod for Windows, %s, is rejected with the solution', async (_name, spec, path) => {
    const { code, stderr } = await cluster.tryCreate(podOf('on-windows', 'mixed', spec))

    expect(code).not.toBe(0)
    expect(stderr).toContain(`${path}: Unsupported value: "windows": volumes are on Linux nodes only; run the pod on`)
  })
})

describe('a DaemonSet', () => {
  test('that is older than its VolumeManager runs on nodes with the data and follows it', async () => {
    await cluster.create(daemonSetOf('cache', 'followed'))
    await cluster.create(volumeManagerOf('followed', volume(2)))
    const two = await cluster.labeledNodes(await cluster.reached('followed', 'Running'))
    expect(two).toHaveLength(2)
    await runsOn('cache', two)

    await cluster.plane.kubectl(
      ['patch', 'vmgr', 'followed', '--type=merge', '-p', JSON.stringify({ spec: { volumeConfigs: [volume(3)] } })],
      {},
    )
    const three = await cluster.plane.eventually('three nodes have it', async () => {
      const manager = await cluster.volumeManager('followed')
      const nodes = manager ? await cluster.labeledNodes(manager) : []
      return nodes.length === 3 && nodes
    })
    await runsOn('cache', three as string[])
    const [pod] = await cluster.podsOf('cache')
    expect(pod?.spec.volumes?.map(({ name }) => name)).toContain('followed--vol1')
    // Its pods end with the node labels, so that the data can be deleted.
    await cluster.plane.kubectl(['delete', 'vmgr', 'followed', '--timeout=60s'], { timeoutMs: 70_000 })
    expect(await nodesOf('cache')).toEqual([])
  })

  test('that is newer is narrowed by admission, also after a change of the source', async () => {
    await cluster.create(volumeManagerOf('changed', volume(1, { nodeAffinity: onNodes('node-1') })))
    await cluster.reached('changed', 'Running')
    await cluster.create(daemonSetOf('agent', 'changed'))
    expect(await requiredLabels('agent')).toHaveLength(1)
    await runsOn('agent', ['node-1'])
    const before = await requiredLabels('agent')

    await cluster.putBucket('other', TRAIN, 'train/')
    const changed = s3Volume(cluster.proxy, 's3://other/train/', { nodeAffinity: onNodes('node-2') })
    const patch = JSON.stringify({ spec: { volumeConfigs: [changed] } })
    await cluster.plane.kubectl(['patch', 'vmgr', 'changed', '--type=merge', '-p', patch])

    await runsOn('agent', ['node-2'])
    const after = await requiredLabels('agent')
    expect(after).toHaveLength(1)
    expect(after).not.toEqual(before)

    await cluster.plane.kubectl(['rollout', 'undo', 'daemonset', 'agent', '--to-revision=1'], {})
    expect(await requiredLabels('agent')).toEqual(after)
    await runsOn('agent', ['node-2'])
  })

  test('with its own affinity follows its data, also after a server-side apply', async () => {
    const own = daemonSetOf('applied', 'applied') as { spec: { template: PodTemplate } }
    own.spec.template.spec = { ...own.spec.template.spec, affinity: { nodeAffinity: onNodes('node-1', 'node-2') } }
    const apply = (...more: string[]) =>
      cluster.plane.kubectl(['apply', '--server-side', ...more, '-f', '-'], { input: JSON.stringify(own) })
    await cluster.create(volumeManagerOf('applied', volume(1, { nodeAffinity: onNodes('node-1') })))
    await cluster.reached('applied', 'Running')
    await apply()
    await apply()
    await runsOn('applied', ['node-1'])

    await cluster.putBucket('applied', TRAIN, 'train/')
    const changed = s3Volume(cluster.proxy, 's3://applied/train/', { nodeAffinity: onNodes('node-2') })
    const patch = JSON.stringify({ spec: { volumeConfigs: [changed] } })
    await cluster.plane.kubectl(['patch', 'vmgr', 'applied', '--type=merge', '-p', patch])
    await runsOn('applied', ['node-2'])
    await apply('--force-conflicts')

    await runsOn('applied', ['node-2'])
    expect(await requiredLabels('applied')).toEqual(['kubernetes.io/hostname', expect.stringMatching(/^vck\./)])
  })

  test('that only prefers a volume runs on every node, and has the data where it is', async () => {
    await cluster.create(volumeManagerOf('optional', volume(2)))
    const withData = await cluster.labeledNodes(await cluster.reached('optional', 'Running'))
    await cluster.create(
      daemonSetOf('everywhere', JSON.stringify({ name: 'optional', 'mount-path': '/data', enforcement: 'Preferred' })),
    )

    await runsOn('everywhere', nodeNames)

    const mounting = (await cluster.podsOf('everywhere')).filter(({ spec }) =>
      spec.volumes?.some(({ hostPath }) => hostPath),
    )
    expect(mounting.map(({ spec }) => spec.nodeName).sort()).toEqual(withData)
  })
})

async function requiredLabels(name: string): Promise<string[]> {
  const found = (await cluster.plane.getJson('daemonsets', name, 'default')) as unknown as {
    spec: { template: PodTemplate }
  }
  const required = found.spec.template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key }) => key),
  )
}
