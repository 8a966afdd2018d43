// Volumes come with their data: on a real API server with the real scheduler and controllers, with movers that really download.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VOLUME_LABEL } from '../../src/api/lodestone.ts'
import type { Pod } from '../../src/api/pod.ts'
import { ownerOfVolumeKey } from '../../src/core/volume-manager/rules/names.ts'
import type { KubeObject } from './api-client.ts'
import type { GatedRequest } from './api-gate.ts'
import { deploymentOf, jobOf, podOf } from './consumers.ts'
import {
  credentialsSecret,
  filesIn,
  firstVolume,
  type Member,
  nodeNames,
  onNodes,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'
import { nodeObject } from './nodes.ts'

const TRAIN = { 'a.txt': 'first', 'deep/b.txt': 'second', 'deep/er/c.bin': 'x'.repeat(300_000) }
const BYTES = Object.values(TRAIN).reduce((sum, text) => sum + text.length, 0)

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await putBucket('lake')
})
afterAll(() => cluster?.plane.stopAll())

describe('data of a bucket on two of five nodes', () => {
  beforeAll(async () => {
    await putBucket('two')
    await cluster.create(volumeManagerOf('train', s3Volume(cluster.proxy, 's3://two/train/', { replicas: 2 })))
    await cluster.reached('train', 'Running')
  })

  test('is there whole, downloaded once for each, and says so', async () => {
    const manager = await cluster.reached('train', 'Running')

    const volume = firstVolume(manager)
    expect(volume.message).toBe('success')
    const there = cluster.nodesWith(volume)
    expect(there).toHaveLength(2)
    for (const node of there) expect(await filesIn(cluster.dataOn(node, volume))).toEqual(TRAIN)
    expect(downloaded('two')).toBe(2 * BYTES)
    expect(volume.replicas.map(({ node }) => node).sort()).toEqual(there)
    expect(await cluster.labeledNodes(manager)).toEqual(there)
  })

  test('has the movers gone and their Events told about the VolumeManager', async () => {
    await cluster.plane.eventually('no mover is left', async () => (await cluster.moversOf('train')).length === 0)
    await cluster.plane.eventually('all Events are there', async () => {
      const { stdout } = await cluster.plane.kubectl(['describe', 'vmgr', 'train'])
      expect(stdout).toContain('Data-Path-Started')
      expect(stdout).toContain('Data-Path-Completed')
      expect(stdout).toContain('Data-Path-Stopped')
      expect(stdout).toMatch(/Normal\s+Running/)
      return true
    })
  })

  test('shows in one line of kubectl', async () => {
    const { stdout } = await cluster.plane.kubectl(['get', 'vmgr', 'train'])

    expect(stdout).toContain('Running')
    expect(stdout).toContain('1/1')
  })

  test('has Pods, Deployments and Jobs scheduled beside it and nowhere else', async () => {
    const there = cluster.nodesWith(firstVolume(await cluster.reached('train', 'Running')))
    await Promise.all([
      cluster.create(podOf('reader', 'train')),
      cluster.create(deploymentOf('readers', 'train', 6)),
      cluster.create(jobOf('batch', 'train', 4)),
    ])

    const nodes = await cluster.plane.eventually('all pods are placed and have run', async () => {
      const pods = (await Promise.all(['reader', 'readers', 'batch'].map((app) => cluster.podsOf(app)))).flat()
      const ran = pods.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Succeeded')
      return ran.length === 11 && ran.map(({ spec }) => spec?.nodeName)
    })

    expect(there).toEqual(expect.arrayContaining([...new Set(nodes)]))
    const [pod] = await cluster.podsOf('readers')
    const path = firstVolume(await cluster.reached('train', 'Running')).volumeSource?.hostPath?.path
    expect(pod?.spec?.volumes?.map(({ hostPath }) => hostPath?.path)).toEqual([path])
    expect(pod?.spec?.containers[0]?.volumeMounts).toEqual([expect.objectContaining({ mountPath: '/data' })])
  })

  test('keeps the terms that the user wrote', async () => {
    const volume = firstVolume(await cluster.reached('train', 'Running'))
    const [first = '', second = ''] = cluster.nodesWith(volume)
    const without = nodeNames.filter((name) => name !== first && name !== second)
    const affinity = { nodeAffinity: onNodes(second, ...without) }
    await cluster.create(podOf('picky', 'train', { affinity }))
    await cluster.create(podOf('impossible', 'train', { affinity: { nodeAffinity: onNodes(...without) } }))

    expect(await cluster.nodeOf('picky')).toBe(second)
    await cluster.plane.eventually('the scheduler says that there is no node', async () => {
      const [pod] = await cluster.podsOf('impossible')
      return pod?.status?.conditions?.some(({ reason }) => reason === 'Unschedulable')
    })
  })

  test('that is on one node with other data has its pods there', async () => {
    await cluster.create(placed('left', 'node-1', 'node-2'))
    await cluster.create(placed('right', 'node-2', 'node-3'))
    await cluster.reached('left', 'Running')
    await cluster.reached('right', 'Running')
    const both = JSON.stringify([
      { name: 'left', 'mount-path': '/left' },
      { name: 'right', 'mount-path': '/right' },
    ])
    await cluster.create({ ...podOf('both', both) })

    expect(await cluster.nodeOf('both')).toBe('node-2')
  })
})

describe('a pod that comes before its data', () => {
  test('waits with a gate and goes where the data is once it is there', async () => {
    await putBucket('late')
    cluster.proxy.holdAfter(0)
    await cluster.create(volumeManagerOf('late', s3Volume(cluster.proxy, 's3://late/train/')))
    await cluster.create(deploymentOf('early', 'late', 2))
    await cluster.plane.eventually('the download is under way', async () => cluster.proxy.isHolding)

    const waiting = await cluster.plane.eventually('the pods are there', async () => {
      const pods = await cluster.podsOf('early')
      return pods.length === 2 && pods
    })
    expect(waiting.map(({ spec }) => spec?.schedulingGates)).toEqual([
      [{ name: 'lodestone.dev/volumes' }],
      [{ name: 'lodestone.dev/volumes' }],
    ])
    expect(waiting.map(({ spec }) => spec?.nodeName)).toEqual([undefined, undefined])
    cluster.proxy.release()

    const there = cluster.nodesWith(firstVolume(await cluster.reached('late', 'Running')))
    const nodes = await cluster.plane.eventually('the pods run', async () => {
      const pods = await cluster.podsOf('early')
      return pods.every(({ status }) => status?.phase === 'Running') && pods.map(({ spec }) => spec?.nodeName)
    })
    expect(there).toHaveLength(1)
    expect(new Set(nodes)).toEqual(new Set(there))
  })
})

describe('a node that goes', () => {
  test('has its replica made anew on another one', async () => {
    const { plane, kubelet } = cluster
    await putBucket('heal')
    await cluster.create(volumeManagerOf('heal', s3Volume(cluster.proxy, 's3://heal/train/', { replicas: 2 })))
    const [gone = ''] = cluster.nodesWith(firstVolume(await cluster.reached('heal', 'Running')))

    await kubelet.loseNode(gone)
    await plane.kubectl(['delete', 'node', gone])

    const nodes = await plane.eventually('there are two replicas again', async () => {
      const found = await cluster.volumeManager('heal')
      const { replicas } = firstVolume(found as NonNullable<typeof found>)
      const ready = replicas.filter(({ state }) => state === 'Ready').map(({ node }) => node)
      return ready.length === 2 && !ready.includes(gone) && ready
    })
    expect(cluster.nodesWith(firstVolume(await cluster.reached('heal', 'Running')))).toEqual(nodes.sort())
    expect(downloaded('heal')).toBe(3 * BYTES)
    kubelet.returnNode(gone)
    await plane.apply(nodeObject(gone))
    await plane.eventually(`${gone} is ready again`, async () => {
      const node = (await plane.getJson('nodes', gone)) as { spec?: { taints?: object[] } } | undefined
      return node && !node.spec?.taints?.length
    })
  })
})

describe('a controller that is killed leads to one download for each replica', () => {
  // The requests about one VolumeManager: there may be work left on those of other tests.
  type Matcher = (name: string) => (request: GatedRequest) => boolean
  const createsMover: Matcher =
    (name) =>
    ({ method, path, body }) =>
      method === 'POST' && /\/pods(\?|$)/.test(path) && body.includes(`"vckname":"${name}"`)
  const moversMade = (name: string) =>
    cluster.gate.requests.filter(createsMover(name)).map(({ body }) => JSON.parse(body) as Pod)
  const writesState =
    (state: string): Matcher =>
    (name) =>
    ({ method, path, body }) =>
      method === 'PATCH' && path.includes(`/volumemanagers/${name}/status`) && body.includes(`"state":"${state}"`)
  const labelsNode: Matcher =
    (name) =>
    ({ method, path, body }) =>
      method === 'PATCH' && path.includes('/nodes/') && moversMade(name).some((mover) => body.includes(ownerOf(mover)))
  const deletesMover: Matcher =
    (name) =>
    ({ method, path }) =>
      method === 'DELETE' && moversMade(name).some(({ metadata }) => path.includes(`/pods/${metadata.name}`))

  test.each([
    ['before it notes that it will make movers', 'there', writesState('Starting')],
    ['before it makes a mover', 'there', createsMover],
    ['after it made a mover', 'back', createsMover],
    ['after the data came, before it labels the node', 'there', labelsNode],
    ['after it labeled the node', 'back', labelsNode],
    ['before its status speaks of the data', 'there', writesState('Ready')],
    ['after its status spoke of the data', 'back', writesState('Ready')],
    ['before it deletes a mover', 'there', deletesMover],
  ] as const)('%s', async (name, when, matches) => {
    const bucket = `kill-${name.replaceAll(/\W+/g, '-')}`.slice(0, 50).replace(/-$/, '')
    await putBucket(bucket)
    const { lodestone, gate } = cluster
    const stopped = gate.stopAt(matches(bucket), when)
    await cluster.create(volumeManagerOf(bucket, s3Volume(cluster.proxy, `s3://${bucket}/train/`, { replicas: 2 })))
    await stopped
    await lodestone.kill()
    await lodestone.restart()

    await isWholeAfterAll(bucket)
  })

  test('while the data comes', async () => {
    const bucket = 'kill-while-the-data-comes'
    await putBucket(bucket)
    const { lodestone, proxy, plane } = cluster
    proxy.holdAfter(0)
    await cluster.create(volumeManagerOf(bucket, s3Volume(proxy, `s3://${bucket}/train/`, { replicas: 2 })))
    await plane.eventually('the download is under way', async () => proxy.isHolding)
    await lodestone.kill()
    await lodestone.restart()
    proxy.release()

    await isWholeAfterAll(bucket)
  })

  async function isWholeAfterAll(name: string): Promise<void> {
    const manager = await cluster.reached(name, 'Running')
    await cluster.plane.eventually('no mover is left', async () => (await cluster.moversOf(name)).length === 0)
    const volume = firstVolume(manager)
    const there = cluster.nodesWith(volume)
    expect(there).toHaveLength(2)
    for (const node of there) expect(await filesIn(cluster.dataOn(node, volume))).toEqual(TRAIN)
    expect(downloaded(name)).toBe(2 * BYTES)
    expect(await cluster.labeledNodes(manager)).toEqual(there)
  }
})

describe('a VolumeManager that changes', () => {
  test('has more replicas when it asks for more, and fewer when for fewer', async () => {
    const { plane } = cluster
    await putBucket('scale')
    await cluster.create(volumeManagerOf('scale', s3Volume(cluster.proxy, 's3://scale/train/')))
    const before = cluster.nodesWith(firstVolume(await cluster.reached('scale', 'Running')))
    const scale = (replicas: number) =>
      plane.kubectl([
        ...['patch', 'vmgr', 'scale', '--type=json', '-p'],
        JSON.stringify([{ op: 'replace', path: '/spec/volumeConfigs/0/replicas', value: replicas }]),
      ])
    const disksWith = (count: number) =>
      plane.eventually(`the data is on ${count} nodes`, async () => {
        const found = await cluster.reached('scale', 'Running')
        const there = cluster.nodesWith(firstVolume(found))
        return there.length === count && (await cluster.labeledNodes(found)).length === count && there
      })

    await scale(3)
    expect(await disksWith(3)).toEqual(expect.arrayContaining(before))
    expect(downloaded('scale')).toBe(3 * BYTES)

    await scale(2)
    await disksWith(2)
    expect(downloaded('scale')).toBe(3 * BYTES)
  })

  test('lets its data go when Completed is wanted, and has it again when Running is', async () => {
    const { plane } = cluster
    await putBucket('rest')
    await cluster.create(volumeManagerOf('rest', s3Volume(cluster.proxy, 's3://rest/train/')))
    const volume = firstVolume(await cluster.reached('rest', 'Running'))
    const want = (state: string) =>
      plane.kubectl(['patch', 'vmgr', 'rest', '--type=merge', '-p', JSON.stringify({ spec: { state } })])

    await want('Completed')
    await cluster.reached('rest', 'Completed')
    expect(cluster.nodesWith(volume)).toEqual([])

    await want('Running')
    expect(cluster.nodesWith(firstVolume(await cluster.reached('rest', 'Running')))).toHaveLength(1)
  })

  test('that resyncs has what its pods wrote in the bucket when they are done', async () => {
    const { plane, s3 } = cluster
    await putBucket('back')
    await cluster.create(
      volumeManagerOf('back', s3Volume(cluster.proxy, 's3://back/train/', { options: { resync: 'true' } })),
    )
    const volume = firstVolume(await cluster.reached('back', 'Running'))
    await cluster.create(podOf('writer', 'back'))
    const node = await cluster.nodeOf('writer')
    await writeFile(join(cluster.dataOn(node, volume), 'model.bin'), 'weights')
    await plane.kubectl(['delete', 'pod', 'writer'])

    await plane.eventually(
      'the bucket has it',
      async () => (await s3.request('GET', '/back/train/model.bin')).text === 'weights',
      60_000,
    )
  })
})

describe('a VolumeManager that is deleted', () => {
  test('takes its data and its labels from every node, also from tainted ones', async () => {
    const { plane } = cluster
    await putBucket('gone')
    await cluster.create(volumeManagerOf('gone', s3Volume(cluster.proxy, 's3://gone/train/', { replicas: 2 })))
    const manager = await cluster.reached('gone', 'Running')
    const volume = firstVolume(manager)
    const [tainted = ''] = cluster.nodesWith(volume)
    await plane.kubectl(['taint', 'node', tainted, 'maintenance=yes:NoExecute'])

    await plane.kubectl(['delete', 'vmgr', 'gone', '--timeout=60s'], { timeoutMs: 70_000 })

    expect(cluster.nodesWith(volume)).toEqual([])
    expect(await cluster.labeledNodes(manager)).toEqual([])
    await plane.kubectl(['taint', 'node', tainted, 'maintenance-'])
  })

  test('waits for the pods that use it', async () => {
    const { plane } = cluster
    await putBucket('used')
    await cluster.create(volumeManagerOf('used', s3Volume(cluster.proxy, 's3://used/train/')))
    const volume = firstVolume(await cluster.reached('used', 'Running'))
    await cluster.create(podOf('user', 'used'))
    await cluster.nodeOf('user')

    await plane.kubectl(['delete', 'vmgr', 'used', '--wait=false'])

    await plane.eventually('it names the pod that uses it', async () => {
      const { status } = (await cluster.volumeManager('used')) ?? {}
      return status?.message?.includes('user') && status.message.includes('in use')
    })
    expect(cluster.nodesWith(volume)).toHaveLength(1)
    await plane.kubectl(['delete', 'pod', 'user'])
    await plane.eventually('it is gone', async () => !(await cluster.volumeManager('used')))
    expect(cluster.nodesWith(volume)).toEqual([])
  })
})

describe('data that is not available makes the VolumeManager Failed and says why', () => {
  test.each([
    ['a bucket that is not there', 's3://nobody/train/', {}, /NotFound: .*nobody/],
    ['an object that is not there', 's3://lake/nothing/', {}, /(NotFound|NothingSelected): /],
    ['credentials that are wrong', 's3://lake/train/', { awsCredentialsSecretName: 'wrong' }, /AccessDenied: /],
  ])('%s', async (name, url, options, message) => {
    await cluster.plane.apply(credentialsSecret('wrong', cluster.s3.accessKey, 'nothing'))
    const label = `failed-${name.replaceAll(/\W+/g, '-')}`
    await cluster.create(volumeManagerOf(label, s3Volume(cluster.proxy, url, { options })))

    const { status } = await cluster.reached(label, 'Failed')

    expect(status?.message).toBe('failed to deploy all the sub-resources')
    expect(status?.volumes?.[0]?.message).toContain('error during data download using pod [name: vck-resource-')
    expect(status?.volumes?.[0]?.message).toMatch(message)
    const stderr = await refusalOfPodFor(label)
    expect(stderr).toContain('cannot be used: failed to deploy all the sub-resources')
    expect(stderr).toMatch(message)
  })

  test('and recovers when the Secret is fixed', async () => {
    await cluster.plane.apply(credentialsSecret('mended', 'NOBODY', 'nothing'))
    const options = { awsCredentialsSecretName: 'mended' }
    await cluster.create(volumeManagerOf('mended', s3Volume(cluster.proxy, 's3://lake/train/', { options })))
    await cluster.reached('mended', 'Failed')

    await cluster.plane.apply(credentialsSecret('mended', cluster.s3.accessKey, cluster.s3.secretKey))

    await cluster.reached('mended', 'Running', 90_000)
  })

  test('of a Secret that is not there, the mover waits and the status says for what', async () => {
    const options = { awsCredentialsSecretName: 'nowhere' }
    await cluster.create(volumeManagerOf('unsecret', s3Volume(cluster.proxy, 's3://lake/train/', { options })))

    await cluster.plane.eventually('the replica says so', async () => {
      const found = await cluster.volumeManager('unsecret')
      return JSON.stringify(found?.status).includes('secret \\"nowhere\\" not found')
    })
    await cluster.plane.kubectl(['delete', 'vmgr', 'unsecret', '--wait=false'])
  })
})

/** Admission answers from what it has heard: what a status says may be on its way to it. */
function refusalOfPodFor(manager: string): Promise<string> {
  return cluster.plane.eventually(`a pod for ${manager} is refused`, async () => {
    const { code, stderr } = await cluster.tryCreate(podOf('refused', manager))
    if (code !== 0) return stderr
    await cluster.plane.kubectl(['delete', 'pod', 'refused'])
    return undefined
  })
}

/** The part of the names of its volumes that they share, as in the labels of their nodes. */
function ownerOf({ metadata }: Pod): string {
  return ownerOfVolumeKey(metadata.labels?.[VOLUME_LABEL] ?? '') ?? 'no owner'
}

const putBucket = (name: string) => cluster.putBucket(name, TRAIN, 'train/')

function downloaded(bucket: string): number {
  return Object.keys(TRAIN).reduce((sum, key) => sum + cluster.proxy.bytesOf(`${bucket}/train/${key}`), 0)
}

function placed(name: string, ...nodes: string[]): KubeObject {
  const over = { replicas: nodes.length, nodeAffinity: onNodes(...nodes) }
  return volumeManagerOf(name, s3Volume(cluster.proxy, 's3://lake/train/', over))
}
